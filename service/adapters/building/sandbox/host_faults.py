"""Raise Transient for failures that the host caused: a full disk, a lack of memory."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.domain.values.errors import Transient
from service.ports.building import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.building.sandbox_command import Command, Completed
    from service.ports.building import ByteSink

FULL_BELOW: Final = 64 << 20  # bytes; with less, a compiler has failed with "no space left on device"


@dataclass(frozen=True, slots=True)
class HostFaults(Sandbox):
    """A sandbox that raises Transient if a program failed because of its host.

    The host is at fault if its disk was full at any moment of the run (a linker removes what it could not
    complete), or if the kernel killed a process for lack of memory. If the sandbox counts such kills, only
    processes of the program count: a neighbour that reaches its own limit is no fault of the host. Else those
    of the whole host count. Any other SIGKILL is the program's own end: it can send one to itself, and a kill
    of the whole sandbox is Transient already.

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
        killed_before = self._kills()
        least_free = self._free()

        def watch_disk() -> None:
            nonlocal least_free
            least_free = min(least_free, self._free())
            watch()

        done = self.sandbox.run(command, log=log, watch=watch_disk)
        if done.is_success or done.stopped_by is not None:
            return done
        least_free = min(least_free, self._free())
        if least_free < FULL_BELOW:
            raise Transient(f"the machine's disk is full: {least_free >> 20} MiB left while a program failed")
        is_out_of_memory = done.is_host_out_of_memory
        if is_out_of_memory is None:
            is_out_of_memory = self._kills() > killed_before
        if is_out_of_memory:
            raise Transient("the machine ran out of memory, and its kernel killed a process")
        return done

    def _free(self) -> int:
        return shutil.disk_usage(self.scratch).free

    def _kills(self) -> int:
        if not self.vmstat.exists():
            return 0
        counts = dict(line.split() for line in self.vmstat.read_text(encoding="ascii").splitlines())
        return int(counts.get("oom_kill", 0))
