"""End a program that writes more than it may, or that leaves its machine without room."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.adapters.system.disk import counted, counting, disk_of
from service.domain.values.errors import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from service.domain.building.sandbox_command import Command
    from service.domain.machines.disk import Disk

_STEPS: Final = 20  # in which the quota is used up before it is noticed
_COUNT_SECONDS: Final = 120.0  # for a tree of millions of files on a slow disk


class RoomTaken(Stopped):
    """The program wrote too much, or the disk is full."""


class DiskWatch:
    """Watch the directories that a program may write to, while it runs.

    The free room of the file system is read at each look. Whenever it fell by a twentieth of the quota, the
    directories are counted beside the program; beside one that is measured they are not. Only files that are
    counted blame the program: room that others take or give back says nothing about it.

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
        self._largest_file = command.limits.file_bytes
        self._is_measured = command.has_priority
        self.least = disk_of(place)
        self._free_at_start = self._counted_at = self.least.free
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
        disk = self._seen()
        self._counted_at = max(self._counted_at, disk.free)
        if disk.is_full:
            raise RoomTaken("the disk is full")
        if self._counting is not None and self._counting.poll() is not None:
            output, _ = self._counting.communicate()
            self._counting = None
            if counted(output) > self._quota:
                raise RoomTaken("the quota is used up")
        is_due = self._counted_at - disk.free > self._quota // _STEPS
        if is_due and self._directories and self._counting is None and not self._is_measured:
            self._counted_at = disk.free
            self._counting = self._start(counting(self._directories))

    def took_much(self) -> bool:
        """Return whether so much room is gone at the program's end that it may have more than its quota."""
        return self._free_at_start - self._seen().free > self._quota

    def may_lack_room(self) -> bool:
        """Return whether the largest file that the program may write would not have fitted at some moment."""
        return self.least.free < min(self._largest_file, self._quota)

    def holds_too_much(self, watch: Callable[[], None]) -> bool:
        """Return whether the program has more than its quota; call it when all its processes have ended.

        If that takes too long to count, it is not known to have more. ``watch`` is called meanwhile.
        """
        return bool(self._directories) and self._held(watch) > self._quota

    def _seen(self) -> Disk:
        disk = disk_of(self._place)
        self.least = min(self.least, disk, key=lambda each: each.free)
        return disk

    def _held(self, watch: Callable[[], None]) -> int:
        """Count the bytes; a directory that the program made unreadable is opened first."""
        is_complete, output = self._awaited(counting(self._directories), watch)
        if not is_complete:
            opening = ("/bin/chmod", "-R", "u+rX", "--", *map(str, self._directories))
            self._awaited(opening, watch)
            _, output = self._awaited(counting(self._directories), watch)
        return counted(output)

    def _awaited(self, argv: tuple[str, ...], watch: Callable[[], None]) -> tuple[bool, str]:
        """Run a program; return whether it succeeded, and its output, which is empty if it takes too long."""
        process, until = self._start(argv), time.monotonic() + _COUNT_SECONDS
        try:
            while time.monotonic() < until:
                with suppress(subprocess.TimeoutExpired):
                    output, _ = process.communicate(timeout=0.2)
                    return process.returncode == 0, output
                watch()
        finally:
            process.kill()
            process.communicate()
        return True, ""

    def _start(self, argv: tuple[str, ...]) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603 - a fixed program of the system
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
