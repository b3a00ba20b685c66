"""Commands for the sandbox, their mounts and limits, and their results."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import PurePath


KILLED: Final = 128 + 9  # the shell's exit code after SIGKILL


@dataclass(frozen=True, slots=True)
class Mount:
    """A directory of the host, mounted at ``target`` (an absolute path in the sandbox)."""

    source: PurePath
    target: str
    writable: bool = False
    is_bounded: bool = False  # by itself: the limit on disk space leaves it out


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits at which a program is stopped."""

    wall_seconds: float = 1800.0  # a compile of a large project; a hung program must not hold a machine
    memory_bytes: int = 16 << 30  # more than the linker of a large project needs
    processes: int = 4096  # enough for `make -j` on a large machine; stops a fork bomb
    file_bytes: int = 8 << 30  # the largest single file (a static library with debug information)
    log_bytes: int | None = 64 << 20  # standard output and error together; None: any number
    disk_bytes: int = 20 << 30  # all files in its writable mounts; more than a large project needs


@dataclass(frozen=True, slots=True)
class Command:
    """A program with all that it gets of the host."""

    argv: tuple[str, ...]  # program and arguments; Benchgate passes them to no shell
    mounts: tuple[Mount, ...] = ()  # besides the read-only system; later ones cover earlier ones
    cwd: str = "/"  # working directory inside the sandbox
    env: Mapping[str, str] = field(default_factory=dict)  # besides ``PATH``, ``HOME`` and ``LANG``
    cpus: tuple[int, ...] | None = None  # CPUs to pin the program to; None: all
    aslr: bool = True  # False turns address space randomisation off for the program and its children
    limits: Limits = field(default_factory=Limits)
    has_priority: bool = False  # over other programs of the machine, where the kernel allows that


class StoppedBy(StrEnum):
    """The limit that ended a program."""

    WALL = "wall time"
    MEMORY = "memory"
    LOG = "log size"
    DISK = "disk space"


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of a program.

    Args:
        exit_code: as in a shell: 128 + signal number after a signal.
        seconds: wall time.
        stopped_by: the limit that ended the program, if one did.
        cpu_seconds: of the program and its children; None if this host does not count it.
        is_host_out_of_memory: the kernel killed a process although all kept their memory limit; None if this
            host does not count such kills.
        voluntary_switches: how often a process of it gave up its CPU to wait (``ru_nvcsw`` of getrusage(2));
            the kernel counts those that lost it to others apart. None if not counted.
    """

    exit_code: int
    seconds: float
    stopped_by: StoppedBy | None = None
    cpu_seconds: float | None = None
    is_host_out_of_memory: bool | None = None
    voluntary_switches: int | None = None

    @property
    def is_success(self) -> bool:
        """Return whether the program ended by itself with exit code 0."""
        return self.exit_code == 0 and self.stopped_by is None

    @property
    def is_killed(self) -> bool:
        """Return whether its own processes sent the SIGKILL that ended it, not a limit."""
        return self.exit_code == KILLED and self.stopped_by is None

    @property
    def end(self) -> str:
        """A phrase that says how the program ended."""
        if self.stopped_by is not None:
            return f"stopped after {self.seconds:.0f} s: limit on {self.stopped_by}"
        if self.is_killed:
            return f"exit code {self.exit_code}: a SIGKILL that neither a limit nor a lack of memory caused"
        return f"exit code {self.exit_code}"
