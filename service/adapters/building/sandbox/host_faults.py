"""Raise Transient for failures that the host caused: a full disk, a lack of memory."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.adapters.building.sandbox.disk_watch import DiskWatch, RoomTaken
from service.domain.building.sandbox_command import KILLED, Completed, StoppedBy
from service.domain.values.errors import Transient
from service.ports.building import ByteSink, Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.building.sandbox_command import Command

_NO_ROOM: Final = b"No space left on device"
_END_BYTES: Final = 1 << 16  # of output: other jobs of a build still print after the one that failed


class _End(ByteSink):
    """Pass output on, and keep its end."""

    def __init__(self, log: ByteSink | None) -> None:
        self._log = log
        self._end = bytearray()

    @override
    def write(self, data: bytes, /) -> None:
        self._end += data
        if len(self._end) > 2 * _END_BYTES:
            del self._end[:-_END_BYTES]
        if self._log is not None:
            self._log.write(data)

    def names_full_disk(self) -> bool:
        return _NO_ROOM in self._end


@dataclass(frozen=True, slots=True)
class HostFaults(Sandbox):
    """A sandbox that raises Transient if a program failed, or cannot begin, because of its host.

    The host is at fault if its disk was nearly full at any moment of the run (a linker removes what it could
    not complete), unless the program has more files than it may; if the program says that no space is left,
    and the disk could not have taken the largest file that it may write (a linker that reserves the room for
    its file fails at once, and the free room never falls); or if the kernel killed a process for lack of
    memory. If the sandbox counts such kills, only processes of the program count: a neighbour that reaches
    its own limit is no fault of the host. Else those of the whole host count. Any other SIGKILL is the
    program's own end: it can send one to itself, and a kill of the whole sandbox is Transient already.

    Args:
        sandbox: the sandbox that runs the programs.
        scratch: a directory on the file system that they write to.
        vmstat: the kernel's file that counts the host's OOM kills, at whichever limit.
    """

    sandbox: Sandbox
    scratch: Path
    vmstat: Path = Path("/proc/vmstat")

    @override
    def in_force(self) -> Mapping[str, str]:
        return self.sandbox.in_force()

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        killed_before, started = self._kills(), time.monotonic()
        said = None if log is None else _End(log)
        with DiskWatch(self.scratch, command) as disk:
            if disk.least.is_full:
                raise _full(disk, "is full")

            def watch_both() -> None:
                disk.look()
                watch()

            done = None
            with suppress(RoomTaken):
                done = self.sandbox.run(command, log=said, watch=watch_both)
            if (done is None or disk.took_much()) and disk.holds_too_much(watch):
                if log is not None:
                    log.write(_too_much(command))
                return Completed(KILLED, time.monotonic() - started, StoppedBy.DISK)
            if done is not None and (done.is_success or done.stopped_by is StoppedBy.MEMORY):
                return done
            if done is None or disk.least.is_full:
                raise _full(disk, "is full")
            if said and said.names_full_disk() and disk.may_lack_room():
                raise _full(disk, "may be too full for a program that failed")
        if done.stopped_by is None and self._ran_out_of_memory(done, killed_before):
            raise Transient("the machine ran out of memory, and its kernel killed a process")
        return done

    def _ran_out_of_memory(self, done: Completed, killed_before: int) -> bool:
        is_counted = done.is_host_out_of_memory
        return self._kills() > killed_before if is_counted is None else is_counted

    def _kills(self) -> int:
        if not self.vmstat.exists():
            return 0
        counts = dict(line.split() for line in self.vmstat.read_text(encoding="ascii").splitlines())
        return int(counts.get("oom_kill", 0))


def _too_much(command: Command) -> bytes:
    return f"\n== wrote more than {command.limits.disk_bytes / (1 << 30):g} GiB\n".encode()


def _full(disk: DiskWatch, how: str) -> Transient:
    return Transient(f"the machine's disk {how}: {disk.least.free >> 20} MiB left while a program ran")
