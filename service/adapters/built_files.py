"""Digests the files of a build directory, each by what a program could load or read of it."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.adapters.elf import loaded_digest
from service.adapters.untrusted_file import open_output
from service.domain.building.built_files import BuiltFile
from service.domain.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["inspect"]

MAX_FILES: Final = 10_000
MAX_BYTES: Final = 8 << 30  # of all files together: as much as an archive of built programs may have
_CHUNK: Final = 1 << 20
_MAX_NAMES: Final = 100_000  # files and directories


class _NotKnownError(Exception):
    """The directory holds more than is looked at, or what is no file."""


def inspect(build: Path, watch: Callable[[], None]) -> Mapping[str, BuiltFile] | None:
    """Every file below ``build`` by its path relative to it; None where that cannot be told.

    An ELF program or shared object counts by what is loaded of it, any other file by its bytes, a symbolic
    link by its text. No program may be running that could change the directory.

    Args:
        build: the directory; what is in it is an attacker's work.
        watch: called for each file; ends the work by raising.

    Raises:
        Transient: the host cannot open a file now.
    """
    found: dict[str, BuiltFile] = {}
    left = MAX_BYTES
    try:
        for path, about in _files(build):
            watch()
            left -= about.st_size
            if left < 0 or len(found) == MAX_FILES:
                return None
            found[str(path.relative_to(build))] = _inspect_file(path, about)
    except (_NotKnownError, BadResults, OSError):
        return None
    return found


def _files(top: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything below that is no directory; links are not followed."""
    left = _MAX_NAMES
    directories = [top]
    while directories:
        with os.scandir(directories.pop()) as entries:
            for entry in entries:
                left -= 1
                if not left:
                    raise _NotKnownError
                if entry.is_dir(follow_symlinks=False):
                    directories.append(Path(entry.path))
                else:
                    yield Path(entry.path), entry.stat(follow_symlinks=False)


def _inspect_file(path: Path, about: os.stat_result) -> BuiltFile:
    if stat.S_ISLNK(about.st_mode):
        return BuiltFile(f"link to {path.readlink()}")
    rights = "program" if about.st_mode & stat.S_IXUSR else "file"
    with open_output(path) as file:
        if (loaded := loaded_digest(file)) is not None:
            return BuiltFile(f"{rights} {loaded}", is_native=True)
        file.seek(0)
        digest = hashlib.sha256()
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            digest.update(chunk)
    return BuiltFile(f"{rights} {digest.hexdigest()}")
