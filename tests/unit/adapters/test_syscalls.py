"""The compiled filter of system calls, run instruction by instruction."""

from __future__ import annotations

import struct

import pytest

from service.adapters.sandbox.syscalls import filter_for

X86_64, I386, AARCH64 = 0xC000003E, 0x40000003, 0xC00000B7
ALLOWED, NO_FAMILY, NO_CALL, KILLED = 0x7FFF0000, 0x00050000 | 97, 0x00050000 | 38, 0x80000000


def _decide(program: bytes, architecture: int, number: int, first: int = 0) -> int:
    """Run the filter on a call as the kernel's interpreter does, and return its result."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    call = {0: number, 4: architecture, 16: first}
    at, value = 0, 0
    while True:
        operation, jump_true, jump_false, constant = instructions[at]
        at += 1
        if operation == 0x06:
            return int(constant)
        if operation == 0x20:
            value = call[constant]
        else:
            holds = value == constant if operation == 0x15 else value >= constant
            at += jump_true if holds else jump_false


@pytest.mark.parametrize(
    ("machine", "architecture", "number", "first", "decision"),
    [
        ("x86_64", X86_64, 0, 0, ALLOWED),  # read
        ("x86_64", X86_64, 41, 1, ALLOWED),  # socket: unix
        ("x86_64", X86_64, 41, 10, ALLOWED),  # socket: inet6
        ("x86_64", X86_64, 41, 40, NO_FAMILY),  # socket: to the host of a virtual machine
        ("x86_64", X86_64, 425, 0, NO_CALL),  # io_uring_setup
        ("x86_64", X86_64, 0x40000029, 40, NO_CALL),  # socket by the x32 numbers
        ("x86_64", I386, 359, 40, NO_FAMILY),  # socket by the 32-bit numbers
        ("x86_64", I386, 102, 1, NO_CALL),  # socketcall, whose arguments no filter sees
        ("x86_64", I386, 4, 0, ALLOWED),  # write
        ("x86_64", AARCH64, 0, 0, KILLED),
        ("aarch64", AARCH64, 198, 2, ALLOWED),
        ("aarch64", AARCH64, 198, 40, NO_FAMILY),
        ("aarch64", X86_64, 0, 0, KILLED),
    ],
)
def test_sockets_outside_every_namespace_are_refused(
    machine: str, architecture: int, number: int, first: int, decision: int
) -> None:
    program = filter_for(machine)

    assert program is not None
    assert _decide(program, architecture, number, first) == decision


def test_an_unknown_architecture_has_no_filter() -> None:
    assert filter_for("riscv64") is None
