"""Run the compiled filter of system calls, instruction by instruction."""

from __future__ import annotations

import struct

import pytest

from service.adapters.building.sandbox.syscalls import filter_for

X86_64, I386, AARCH64, ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
NOTHING_DONE, NOT_ALLOWED = 0x00050000, 0x00050000 | 1
CORE, ADDRESS = 4, 0x7FFE00000000  # an address with a lower half of zero
ALLOWED, NO_FAMILY, NO_CALL, KILLED = 0x7FFF0000, 0x00050000 | 97, 0x00050000 | 38, 0x80000000


def _decide(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """Run the filter on a call as the kernel's interpreter does, and return its result."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    call = dict(
        enumerate(
            struct.unpack(
                "=16I",
                struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments))),
            )
        )
    )
    at, value = 0, 0
    while True:
        operation, jump_true, jump_false, constant = instructions[at]
        at += 1
        if operation == 0x06:
            return int(constant)
        if operation == 0x20:
            value = call[constant // 4]
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
        ("x86_64", I386, 102, 1, NO_CALL),  # socketcall: no filter sees its arguments
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


@pytest.mark.parametrize(
    ("machine", "architecture", "numbers"),
    [
        ("x86_64", X86_64, (248, 249, 250, 103)),
        ("x86_64", I386, (286, 287, 288, 103)),
        ("aarch64", AARCH64, (217, 218, 219, 116)),
        ("aarch64", ARM, (309, 310, 311, 103)),
    ],
)
def test_calls_for_the_kernels_keys_and_messages_are_refused_in_both_interfaces(
    machine: str, architecture: int, numbers: tuple[int, ...]
) -> None:
    program = filter_for(machine)

    assert program is not None
    assert {_decide(program, architecture, number) for number in numbers} == {NO_CALL}


@pytest.mark.parametrize(
    ("number", "arguments", "decision"),
    [
        (101, (16, 1), NOT_ALLOWED),  # ptrace: attach to process 1
        (101, (0x4206, 1 | 1 << 32), NOT_ALLOWED),  # the kernel ignores the upper half
        (101, (16, 2), ALLOWED),
        (101, (0, 0), ALLOWED),  # a debugger's child asks to be traced
        (310, (1,), NOT_ALLOWED),  # process_vm_readv
        (311, (1,), NOT_ALLOWED),  # process_vm_writev
        (311, (7,), ALLOWED),
        (438, (3, 0), NO_CALL),  # pidfd_getfd
        (53, (40, 1), NO_FAMILY),  # socketpair
        (53, (1, 1), ALLOWED),
    ],
)
def test_the_first_process_cannot_be_traced(number: int, arguments: tuple[int, ...], decision: int) -> None:
    program = filter_for("x86_64")

    assert program is not None
    assert _decide(program, X86_64, number, *arguments) == decision


@pytest.mark.parametrize(
    ("number", "arguments", "decision"),
    [
        (160, (CORE, ADDRESS), NOTHING_DONE),  # setrlimit
        (160, (7, ADDRESS), ALLOWED),
        (302, (0, CORE, ADDRESS, 0), NOTHING_DONE),  # prlimit64
        (302, (0, CORE, 1 << 5, 0), NOTHING_DONE),
        (302, (0, CORE, 0, ADDRESS), ALLOWED),  # reads the limit
        (302, (0, 7, ADDRESS, 0), ALLOWED),
        (302, (1, 0, ADDRESS, 0), NOT_ALLOWED),  # of the first process
    ],
)
def test_the_limit_on_core_dumps_stays_as_it_is(
    number: int, arguments: tuple[int, ...], decision: int
) -> None:
    program = filter_for("x86_64")

    assert program is not None
    assert _decide(program, X86_64, number, *arguments) == decision


def test_an_unknown_architecture_has_no_filter() -> None:
    assert filter_for("riscv64") is None
