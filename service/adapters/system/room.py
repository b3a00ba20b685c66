"""Read how full file systems are."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def room_of(directories: Mapping[str, Path]) -> dict[str, tuple[int, int]]:
    """Return free bytes and size of the file system of each directory; one that is missing is left out."""
    found = {}
    for name, directory in directories.items():
        with suppress(OSError):
            usage = shutil.disk_usage(directory)
            found[name] = usage.free, usage.total
    return found
