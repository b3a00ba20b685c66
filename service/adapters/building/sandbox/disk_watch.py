"""End a program that writes more than it may, or that leaves its machine without room."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.adapters.system.disk import counted, counting, disk_of
from service.domain.values.errors import Stopped

if TYPE_CHECKING:
    from typing import Self

    from service.domain.building.sandbox_command import Command

_STEPS: Final = 20  # in which the quota is used up before it is noticed
_COUNT_SECONDS: Final = 120.0  # for a tree of millions of files on a slow disk


class RoomTaken(Stopped):
    """The program wrote too much, or the disk is full."""


class DiskWatch:
    """Watch the directories that a program may write to, while it runs.

    The free room of the file system is read at each look. Whenever it fell by a twentieth of the quota, the
    directories are counted beside the program. A file without a name is not counted; a program that hides
    its files so is ended when the disk is nearly full, and :meth:`holds_too_much` then counts them.

    Args:
        place: a directory on the file system of the writable mounts.
        command: the program.
    """

    def __init__(self, place: Path, command: Command) -> None:
        self._place = place
        self._directories = [
            Path(each.source).absolute() for each in command.mounts if each.writable and not each.is_bounded
        ]
        self._quota = command.limits.disk_bytes
        disk = disk_of(place)
        self._began_full = disk.is_full
        self._counted_at = self._free_at_end = self.least_free = disk.free
        self.was_full = disk.is_full
        self._counting: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Watch until the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End a count that is still running."""
        if self._counting is not None:
            self._counting.kill()
            self._counting.communicate()

    def look(self) -> None:
        """Look at the disk; raise RoomTaken if the program must end. Cheap."""
        disk = disk_of(self._place)
        self.least_free = min(self.least_free, disk.free)
        self._free_at_end = disk.free
        self.was_full = self.was_full or disk.is_full
        self._counted_at = max(self._counted_at, disk.free)
        if disk.is_full and not self._began_full:
            raise RoomTaken("the disk is full")
        if self._counting is not None and self._counting.poll() is not None:
            output, _ = self._counting.communicate()
            self._counting = None
            if counted(output) > self._quota:
                raise RoomTaken("the quota is used up")
        is_due = self._counted_at - disk.free > self._quota // _STEPS
        if is_due and self._directories and self._counting is None:
            self._counted_at = disk.free
            self._counting = self._start()

    def holds_too_much(self) -> bool:
        """Return whether the program had more than its quota; call it when all its processes have ended.

        What became free at their end were files that they held open without a name.
        """
        if not self._directories:
            return False
        unnamed = max(0, disk_of(self._place).free - self._free_at_end)
        process, held = self._start(), 0
        with suppress(subprocess.TimeoutExpired):
            held = counted(process.communicate(timeout=_COUNT_SECONDS)[0])
        process.kill()
        process.wait()
        return held + unnamed > self._quota

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603 - a fixed program of the system
            counting(self._directories),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
