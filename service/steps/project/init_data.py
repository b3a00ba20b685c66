"""Find data files of the build directory that benchmark programs name, for example by a macro."""

from __future__ import annotations

import os
import re
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.project.starter.fetched import is_harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from service.domain.project.starter.file import Program

_MOST: Final = 20  # places
# The build makes them in every directory, or programs name them in assertions.
_NO_DATA: Final = re.compile(
    r"\.(?:[chi]|cc|cpp|cxx|c\+\+|hh|hpp|hxx|inc|inl|ipp|tcc|tpp|o|a|so|d|cmake|make|ninja|pc|rsp|p)$"
    r"|\.so\.|^(?:Makefile|\.ninja_(?:deps|log))$"
)
_OF_CMAKE: Final = "CMakeFiles"


def named_data(build: Path, programs: Iterable[Program], elsewhere: Iterable[str]) -> tuple[str, ...]:
    """List paths below the build directory that built programs name and that have data; relative to it.

    Such a project copies its data there when it is configured. A service that keeps the programs alone would
    launch them without the data.

    Args:
        build: the build directory, by the path that the build system got.
        programs: built programs; their paths begin with ``build/``.
        elsewhere: the directories of downloads, which are no part of the build directory on a machine.
    """
    found = set[str]()
    for program in programs:
        found.update(_named(build / program.path.removeprefix("build/"), build))
    others = [Path(place) for place in elsewhere if place]
    kept = list[str]()
    for place in sorted(found):
        is_below = any(place.startswith(f"{above}/") for above in kept)
        is_elsewhere = any((build / place).is_relative_to(other) for other in others)
        if not is_below and not is_elsewhere and _has_data(build / place):
            kept.append(place)
    return tuple(kept[:_MOST])


def _named(program: Path, build: Path) -> Iterator[str]:
    """Yield the existing paths below the build directory that a program contains as text."""
    if not program.stat().st_size:
        return
    text = re.compile(re.escape(os.fsencode(build)) + rb"/([\x20-\x7e]+)")
    with program.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        names = {match[1].decode("ascii") for match in text.finditer(content)}
    for name in names:
        place = os.path.normpath(name)
        if is_harmless(place) and (build / place).exists():
            yield place


def _has_data(place: Path) -> bool:
    """Return whether a file is data, or whether a directory has such a file."""
    if place.is_file():
        return _is_data(place)
    for directory, below, names in os.walk(place):
        if _OF_CMAKE in below:
            below.remove(_OF_CMAKE)
        if any(_is_data(Path(directory, name)) for name in names):
            return True
    return False


def _is_data(file: Path) -> bool:
    if _NO_DATA.search(file.name) or file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(4) != b"\x7fELF"
