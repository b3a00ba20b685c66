"""Read the free room of a file system, and the room that directories take."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from service.domain.machines.disk import Disk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path, PurePath


def disk_of(path: PurePath) -> Disk:
    """Return the room of the file system that has ``path``, for a user without privileges."""
    found = os.statvfs(path)
    total, free = found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
    if found.f_files:  # some file systems make room for files as they need it
        free = min(free, total * found.f_favail // found.f_files)
    return Disk(total, free)


def disks_of(directories: Mapping[str, Path]) -> dict[str, Disk]:
    """Return the room of each file system, by the first of its directories; a missing one is left out."""
    found = {}
    devices = set()
    for name, directory in directories.items():
        with suppress(OSError):
            device = directory.stat().st_dev
            if device not in devices:
                found[name] = disk_of(directory)
            devices.add(device)
    return found


def counting(directories: Sequence[PurePath]) -> tuple[str, ...]:
    """Return a command that prints the bytes of each directory, without what is mounted in it.

    It follows no symbolic link, and counts a file with several links once.
    """
    return ("/usr/bin/du", "-sxB1", "--", *map(str, directories))


def counted(output: str) -> int:
    """Return the sum of what a counting command printed; a directory that it could not read is left out."""
    return sum(int(line.split("\t", 1)[0]) for line in output.splitlines() if line[:1].isdigit())
