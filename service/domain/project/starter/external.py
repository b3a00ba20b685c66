"""Describe what CMake's ExternalProject downloads, and which variables of the project replace it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.project.starter.cmake_reply import CacheEntry
    from service.domain.project.starter.fetched import Download

_ADDED: Final = re.compile(r"^[^#\n]*\bExternalProject_Add\s*\(\s*(\S*)", re.IGNORECASE | re.MULTILINE)


_VARIABLE: Final = re.compile(r"[A-Za-z]\w*")
_OF_PATHS: Final = frozenset({"STRING", "PATH", "UNINITIALIZED"})


@dataclass(frozen=True, slots=True)
class ExternalDownload:
    """A finished download of ExternalProject, with its name there, and the directory with its archive."""

    name: str
    download: Download
    kept: str = ""


def variable_of(external: ExternalDownload, cache: Mapping[str, CacheEntry]) -> str:
    """Find the project's variable for the directory of the download, or return an empty text.

    Projects that have one often download only if it is not set.
    """
    names = (
        name
        for name, entry in cache.items()
        if entry.kind in _OF_PATHS and entry.value == external.download.place and _VARIABLE.fullmatch(name)
    )
    return next(names, "")


def not_pinned(external: ExternalDownload, files: Mapping[str, str]) -> str:
    """Explain that builds without network fail in a download, where the project asks for it, and what helps.

    ``files`` are the CMake files of the sources by path, also those that a configure run completes.
    """
    source = external.download.git or external.download.url
    place = _declaration(external.name, files)
    return (
        f"not pinned: {plain(external.name)}, which ExternalProject downloads from {plain(source)}"
        f"{f' ({plain(place)})' if place else ''} and takes from no `dependencies`: let the project use "
        "FetchContent, or switch it off by an option of the project"
    )


def _declaration(name: str, files: Mapping[str, str]) -> str:
    """Find the call that adds a project, or the only call of a file; empty without any call."""
    calls = [
        (found[1], f"{path}, line {text.count(chr(10), 0, found.end()) + 1}")
        for path, text in files.items()
        for found in _ADDED.finditer(text)
    ]
    named = [place for declared, place in calls if declared == name]
    return next(iter(named), calls[0][1] if len(calls) == 1 else "")
