"""A file system of a few megabytes, which a test can fill."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def small_disk(directory: Path, mebibytes: int, inodes: int = 0) -> Iterator[bool]:
    """Make a directory that is a file system of its own; yield whether this user may mount one."""
    directory.mkdir(parents=True)
    options = f"size={mebibytes}m,nr_inodes={inodes},mode=700"  # 0: as many files as there is room for
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(directory)]
    is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(directory)], check=True)  # a lock may be open


@contextmanager
def required_disk(directory: Path, mebibytes: int, inodes: int = 0) -> Iterator[Path]:
    """Make such a directory, and skip the test if this user may not."""
    with small_disk(directory, mebibytes, inodes) as is_mounted:
        if not is_mounted:
            pytest.skip("needs the right to mount a small file system")
        yield directory


@contextmanager
def ordinary_user(owned: Path) -> Iterator[None]:
    """Give up root's right to read everything."""
    if os.geteuid():
        yield
        return
    os.chown(owned, 65534, -1)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


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
