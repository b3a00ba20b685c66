"""Raise Transient for failures that the host caused: a full disk, a lack of memory."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from service.adapters.building.sandbox.disk_watch import DiskWatch, RoomTaken
from service.domain.building.sandbox_command import KILLED, Completed, StoppedBy
from service.domain.values.errors import Transient
from service.ports.building import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.building.sandbox_command import Command
    from service.ports.building import ByteSink


@dataclass(frozen=True, slots=True)
class HostFaults(Sandbox):
    """A sandbox that raises Transient if a program failed because of its host.

    The host is at fault if its disk was nearly full at any moment of the run (a linker removes what it could
    not complete), unless the program has more files than it may; or if the kernel killed a process for lack
    of memory. If the sandbox counts such kills, only processes of the program count: a neighbour that reaches
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
        with DiskWatch(self.scratch, command) as disk:

            def watch_both() -> None:
                disk.look()
                watch()

            try:
                done = self.sandbox.run(command, log=log, watch=watch_both)
            except RoomTaken:
                if not disk.holds_too_much():
                    raise _full(disk) from None
                if log is not None:
                    log.write(_too_much(command))
                return Completed(KILLED, time.monotonic() - started, StoppedBy.DISK)
            if done.is_success or done.stopped_by is not None:
                return done
            with suppress(RoomTaken):
                disk.look()
        if disk.was_full:
            raise _full(disk)
        is_out_of_memory = done.is_host_out_of_memory
        if is_out_of_memory is None:
            is_out_of_memory = self._kills() > killed_before
        if is_out_of_memory:
            raise Transient("the machine ran out of memory, and its kernel killed a process")
        return done

    def _kills(self) -> int:
        if not self.vmstat.exists():
            return 0
        counts = dict(line.split() for line in self.vmstat.read_text(encoding="ascii").splitlines())
        return int(counts.get("oom_kill", 0))


def _too_much(command: Command) -> bytes:
    return f"\n== wrote more than {command.limits.disk_bytes / (1 << 30):g} GiB\n".encode()


def _full(disk: DiskWatch) -> Transient:
    return Transient(f"the machine's disk is full: {disk.least_free >> 20} MiB left while a program ran")
