"""Digest files of built trees: for each, the content that a program could load or read."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.adapters.building.elf import loaded_digest
from service.adapters.building.packing import MOST_BYTES, MOST_ENTRIES
from service.adapters.system.untrusted_file import open_output
from service.domain.building.built_files import BuiltFile
from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

__all__ = ["digest", "inspect"]

MAX_FILES: Final = 10_000
MAX_BYTES: Final = MOST_BYTES  # of all files together
_MAX_NAMES: Final = 2 * MOST_ENTRIES  # files and directories


def inspect(build: Path, watch: Callable[[], None]) -> Mapping[str, BuiltFile] | None:
    """Digest every file below ``build``, by relative path; return None for unreadable or too many files.

    The digest of an ELF program or shared object covers its loaded parts, that of another file its bytes, and
    that of a symbolic link its target. No running program may change the directory meanwhile.

    Args:
        build: the directory; its content may be an attacker's work.
        watch: called for each file; may raise to end the work.

    Raises:
        Transient: the host cannot open a file now.
    """
    return _digest_all(build, _files(build), watch)


def digest(tree: Path, paths: Collection[str], watch: Callable[[], None]) -> Mapping[str, BuiltFile] | None:
    """Digest these files and lists of directories of a built tree; return None if any cannot be read.

    A list has the names, kinds and sizes of its entries. The arguments and errors are those of
    :func:`inspect`; no path may lead through a symbolic link.
    """
    found = ((tree / path, (tree / path).lstat()) for path in sorted(paths))
    return _digest_all(tree, found, watch, loaded_below=tree / "build")


def _digest_all(
    top: Path,
    found: Iterable[tuple[Path, os.stat_result]],
    watch: Callable[[], None],
    *,
    loaded_below: Path | None = None,
) -> Mapping[str, BuiltFile] | None:
    """Digest files; a program elsewhere than below ``loaded_below`` is data, and all of its bytes count."""
    files: dict[str, BuiltFile] = {}
    left = MAX_BYTES
    try:
        for path, about in found:
            watch()
            left -= about.st_size
            if left < 0 or len(files) == MAX_FILES:
                return None
            is_data = loaded_below is not None and not path.is_relative_to(loaded_below)
            files[str(path.relative_to(top))] = _inspect_file(path, about, is_data=is_data)
    except (BadResults, OSError):
        return None
    return files


def _files(top: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield all entries below a directory that are not directories, without following links."""
    left = _MAX_NAMES
    directories = [top]
    while directories:
        with os.scandir(directories.pop()) as entries:
            for entry in entries:
                left -= 1
                if not left:
                    raise BadResults("has too many entries", top.name)
                if entry.is_dir(follow_symlinks=False):
                    directories.append(Path(entry.path))
                else:
                    yield Path(entry.path), entry.stat(follow_symlinks=False)


def _inspect_file(path: Path, about: os.stat_result, *, is_data: bool = False) -> BuiltFile:
    if stat.S_ISLNK(about.st_mode):
        return BuiltFile(f"link to {path.readlink()}")
    if stat.S_ISDIR(about.st_mode):
        return BuiltFile(f"directory {_digest_of_entries(path)}")
    rights = "program" if about.st_mode & stat.S_IXUSR else "file"
    with open_output(path) as file:
        if not is_data and (loaded := loaded_digest(file)) is not None:
            return BuiltFile(f"{rights} {loaded}", is_native=True)
        file.seek(0)
        return BuiltFile(f"{rights} {hashlib.file_digest(file, 'sha256').hexdigest()}")


def _digest_of_entries(directory: Path) -> str:
    listed = []
    with os.scandir(directory) as entries:
        for entry in entries:
            about = entry.stat(follow_symlinks=False)
            size = about.st_size if stat.S_ISREG(about.st_mode) else 0
            listed.append(f"{entry.name}/{stat.S_IFMT(about.st_mode)}/{size}")
            if len(listed) == _MAX_NAMES:
                raise BadResults("has too many entries", directory.name)
    return hashlib.sha256(os.fsencode("/".join(sorted(listed)))).hexdigest()
