"""The filter of system calls that blocks sockets which no namespace isolates."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

# A network namespace hides interfaces. It does not hide a virtual machine's socket to its host (AF_VSOCK),
# nor the bus and crypto families, and io_uring opens sockets without the call `socket`.
ALLOWED_FAMILIES: Final = (1, 2, 10, 16)  # unix, inet, inet6, netlink
NOT_A_FAMILY: Final = 97  # EAFNOSUPPORT
NOT_A_CALL: Final = 38  # ENOSYS: programs fall back to older calls
IO_URING_SETUP: Final = 425  # the same on every architecture

# Instructions of the kernel's packet filter, and the offsets of the call's data.
LOAD: Final = 0x20
IF_EQUAL: Final = 0x15
IF_AT_LEAST: Final = 0x35
RETURN: Final = 0x06
NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT = 0, 4, 16
ALLOW: Final = 0x7FFF0000
FAIL: Final = 0x00050000
KILL: Final = 0x80000000


@dataclass(frozen=True, slots=True)
class _Architecture:
    number: int
    socket: int
    refused: tuple[int, ...]
    variants_from: int | None = None


# With the 32-bit calls, because a 64-bit program can make them, too.
ARCHITECTURES: Final = {
    "x86_64": (
        _Architecture(0xC000003E, 41, (IO_URING_SETUP,), variants_from=0x40000000),
        _Architecture(0x40000003, 359, (102, IO_URING_SETUP)),
    ),
    "aarch64": (
        _Architecture(0xC00000B7, 198, (IO_URING_SETUP,)),
        _Architecture(0x40000028, 281, (IO_URING_SETUP,)),
    ),
}


def filter_for(machine: str) -> bytes | None:
    """Compile the filter for a machine type such as ``x86_64``; None for an unknown type."""
    if machine not in ARCHITECTURES:
        return None
    program = []
    for architecture in ARCHITECTURES[machine]:
        body = _body(architecture)
        program += [(LOAD, 0, 0, ARCHITECTURE_AT), (IF_EQUAL, 0, len(body), architecture.number), *body]
    program.append((RETURN, 0, 0, KILL))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _body(architecture: _Architecture) -> list[tuple[int, int, int, int]]:
    """Make the instructions that decide on the calls of an architecture. A jump skips that many of them."""
    body = [(LOAD, 0, 0, NUMBER_AT)]
    if architecture.variants_from is not None:
        body += [(IF_AT_LEAST, 0, 1, architecture.variants_from), (RETURN, 0, 0, FAIL | NOT_A_CALL)]
    for number in architecture.refused:
        body += [(IF_EQUAL, 0, 1, number), (RETURN, 0, 0, FAIL | NOT_A_CALL)]
    body += [(IF_EQUAL, 1, 0, architecture.socket), (RETURN, 0, 0, ALLOW)]
    body += [(LOAD, 0, 0, FIRST_ARGUMENT_AT)]
    for family in ALLOWED_FAMILIES:
        body += [(IF_EQUAL, 0, 1, family), (RETURN, 0, 0, ALLOW)]
    return [*body, (RETURN, 0, 0, FAIL | NOT_A_FAMILY)]
