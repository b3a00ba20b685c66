"""Suites whose program is the same on both sides, found by comparing the files of the built trees."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.project.benchmark import Suite


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file below a build directory; equal files have the same effect on a program that loads or reads them.

    ``is_native``: it is an ELF program or shared object, and ``digest`` covers its loaded parts.
    """

    digest: str
    is_native: bool = False


def unchanged_suites(
    suites: Sequence[Suite], base: Mapping[str, BuiltFile], patch: Mapping[str, BuiltFile]
) -> frozenset[str]:
    """Find the suites for which all relevant files are the same in both build directories.

    Args:
        suites: all suites of the job.
        base: the base's files by path relative to the build directory.
        patch: the patch's files, in the same form.
    """
    different = {path for path in {*base, *patch} if base.get(path) != patch.get(path)}
    programs = frozenset(_path_of(suite.program) for suite in suites)
    return frozenset(
        suite.name
        for suite in suites
        if (own := patch.get(path := _path_of(suite.program))) is not None
        # A suite does not use the programs of other suites, unless its own is a script or link.
        and not different - (programs - {path} if own.is_native else set())
    )


def _path_of(program: str) -> str:
    """Make a path relative to the build directory, which is both ``/build`` and ``/src/build``."""
    path = posixpath.normpath(posixpath.join("/src", program))
    return path.removeprefix("/src").removeprefix("/build/")
