"""A file system of a few megabytes, which a test can fill."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def small_disk(directory: Path, mebibytes: int) -> Iterator[bool]:
    """Make a directory that is a file system of its own; yield whether this user may mount one."""
    directory.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "tmpfs", str(directory)]
    is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(directory)], check=True)  # a lock may be open


@contextmanager
def required_disk(directory: Path, mebibytes: int) -> Iterator[Path]:
    """Make such a directory, and skip the test if this user may not."""
    with small_disk(directory, mebibytes) as is_mounted:
        if not is_mounted:
            pytest.skip("needs the right to mount a small file system")
        yield directory


def fill(directory: Path) -> Path:
    """Write a file until the disk is full, and return it."""
    path = directory / "rest"
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 16)):
                pass
        except OSError:
            return path
    raise AssertionError("the disk was not full")
