"""Filter system calls that no namespace isolates, or that act on its first process."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

# A network namespace hides interfaces. It does not hide a virtual machine's socket to its host (AF_VSOCK),
# nor the bus and crypto families, and io_uring opens sockets without the call `socket`.
ALLOWED_FAMILIES: Final = (1, 2, 10, 16)  # unix, inet, inet6, netlink
NOT_ALLOWED: Final = 1  # EPERM
NOT_A_FAMILY: Final = 97  # EAFNOSUPPORT
NOT_A_CALL: Final = 38  # ENOSYS: programs fall back to older calls
IO_URING_SETUP: Final = 425  # the same on every architecture
PIDFD_GETFD: Final = 438  # the same on every architecture; copies a descriptor of another process
# The first process of the namespace reports the program's exit code, and has the program's user.
FIRST_PROCESS: Final = 1
CORE: Final = 4  # RLIMIT_CORE

# Instructions of the kernel's packet filter, and the offsets of the call's data.
LOAD: Final = 0x20
IF_EQUAL: Final = 0x15
IF_AT_LEAST: Final = 0x35
RETURN: Final = 0x06
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT, ARGUMENT_BYTES = 0, 4, 16, 8
ALLOW: Final = 0x7FFF0000
FAIL: Final = 0x00050000  # with an error's number; without one, the call does nothing and returns 0
KILL: Final = 0x80000000

_Instruction = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Architecture:
    """The numbers of an architecture's calls.

    ``absent`` are refused as by a kernel without them. ``traces`` act on a process; each has the position of
    the argument that names it.
    """

    number: int
    sockets: tuple[int, ...]  # socket, socketpair
    absent: tuple[int, ...]
    traces: tuple[tuple[int, int], ...]  # ptrace, process_vm_readv, process_vm_writev
    set_limit: int  # setrlimit
    limit: int  # prlimit64
    variants_from: int | None = None


# The kernel's keys and messages belong to no namespace: `absent` has io_uring_setup, pidfd_getfd, add_key,
# request_key, keyctl and syslog. With the 32-bit calls, because a 64-bit program can make them, too; 102 is
# socketcall there; no filter sees its arguments.
ARCHITECTURES: Final = {
    "x86_64": (
        _Architecture(
            0xC000003E,
            (41, 53),
            (IO_URING_SETUP, PIDFD_GETFD, 248, 249, 250, 103),
            ((101, 1), (310, 0), (311, 0)),
            *(160, 302),
            variants_from=0x40000000,
        ),
        _Architecture(
            0x40000003,
            (359, 360),
            (102, IO_URING_SETUP, PIDFD_GETFD, 286, 287, 288, 103),
            ((26, 1), (347, 0), (348, 0)),
            *(75, 340),
        ),
    ),
    "aarch64": (
        _Architecture(
            0xC00000B7,
            (198, 199),
            (IO_URING_SETUP, PIDFD_GETFD, 217, 218, 219, 116),
            ((117, 1), (270, 0), (271, 0)),
            *(164, 261),
        ),
        _Architecture(
            0x40000028,
            (281, 288),
            (IO_URING_SETUP, PIDFD_GETFD, 309, 310, 311, 103),
            ((26, 1), (376, 0), (377, 0)),
            *(75, 369),
        ),
    ),
}


def filter_for(machine: str) -> bytes | None:
    """Compile the filter for a machine type such as ``x86_64``; return None for an unknown type."""
    if machine not in ARCHITECTURES:
        return None
    program: list[_Instruction] = []
    for architecture in ARCHITECTURES[machine]:
        body = _body(architecture)
        program += [(LOAD, 0, 0, ARCHITECTURE_AT), (IF_EQUAL, 0, len(body), architecture.number), *body]
    program.append((RETURN, 0, 0, KILL))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _body(architecture: _Architecture) -> list[_Instruction]:
    """Return the instructions that decide on an architecture's calls; a jump skips that many of them."""
    body = [(LOAD, 0, 0, NUMBER_AT)]
    if architecture.variants_from is not None:
        body += [(IF_AT_LEAST, 0, 1, architecture.variants_from), _fail(NOT_A_CALL)]
    for number in architecture.absent:
        body += _for_call(number, [_fail(NOT_A_CALL)])
    for number in architecture.sockets:
        body += _for_call(number, _decide_family())
    for number, position in architecture.traces:
        body += _for_call(number, [*_refuse_first_process(position), (RETURN, 0, 0, ALLOW)])
    body += _for_call(architecture.set_limit, _decide_core_limit(0))
    body += _for_call(architecture.limit, _decide_limit())
    return [*body, (RETURN, 0, 0, ALLOW)]


def _for_call(number: int, decision: list[_Instruction]) -> list[_Instruction]:
    """Return the instructions that pass one call to ``decision``, which must end with a result."""
    return [(IF_EQUAL, 0, len(decision), number), *decision]


def _decide_family() -> list[_Instruction]:
    families = []
    for family in ALLOWED_FAMILIES:
        families += [(IF_EQUAL, 0, 1, family), (RETURN, 0, 0, ALLOW)]
    return [_load(0), *families, _fail(NOT_A_FAMILY)]


def _refuse_first_process(position: int) -> list[_Instruction]:
    # The kernel reads the lower half of the argument only, and so does the filter.
    return [_load(position), (IF_EQUAL, 0, 1, FIRST_PROCESS), _fail(NOT_ALLOWED)]


def _decide_core_limit(position: int) -> list[_Instruction]:
    # The limit of one byte must stay: only this value keeps core dumps from a program of the host (see
    # launcher.CORE_LIMIT), and a program may always lower a limit to 0. The call succeeds without effect,
    # because scripts that switch dumps off must not fail.
    return [_load(position), (IF_EQUAL, 0, 1, CORE), _fail(0), (RETURN, 0, 0, ALLOW)]


def _decide_limit() -> list[_Instruction]:
    """Decide on prlimit64(process, limit, new value or null, old value)."""
    refused = _decide_core_limit(1)
    return [
        *_refuse_first_process(0),
        *(_load(2), (IF_EQUAL, 0, 3, 0)),  # an address that is not null sets the limit
        *(_load(2, upper=True), (IF_EQUAL, 0, 1, 0), (RETURN, 0, 0, ALLOW)),
        *refused,
    ]


def _load(position: int, *, upper: bool = False) -> _Instruction:
    """Load half of an argument; all architectures here store the lower half first."""
    return (LOAD, 0, 0, ARGUMENTS_AT + ARGUMENT_BYTES * position + 4 * upper)


def _fail(error: int) -> _Instruction:
    return (RETURN, 0, 0, FAIL | error)
