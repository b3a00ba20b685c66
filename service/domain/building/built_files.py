"""Decides which suites have the same program on both sides, from the files of the two built trees."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.project.benchmark import Suite


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file under a build directory; two that are equal do the same, loaded or read.

    ``is_native`` says that it is an ELF program or shared object, of which ``digest`` covers what is loaded.
    """

    digest: str
    is_native: bool = False


def unchanged_suites(
    suites: Sequence[Suite], base: Mapping[str, BuiltFile], patch: Mapping[str, BuiltFile]
) -> frozenset[str]:
    """The names of the suites that find the same files in both build directories.

    Args:
        suites: all of the job.
        base: the files by their path relative to the build directory.
        patch: likewise.
    """
    different = {path for path in {*base, *patch} if base.get(path) != patch.get(path)}
    programs = frozenset(_path_of(suite.program) for suite in suites)
    return frozenset(
        suite.name
        for suite in suites
        if (own := patch.get(_path_of(suite.program))) is not None
        and not different - _unused(_path_of(suite.program), own, programs)
    )


def _unused(path: str, program: BuiltFile, programs: frozenset[str]) -> frozenset[str]:
    """What a suite has no use for: the other suites' programs. A script or a link may run them, though."""
    return programs - {path} if program.is_native else frozenset()


def _path_of(program: str) -> str:
    """The path relative to the build directory, which is ``/build`` as well as ``/src/build``."""
    path = posixpath.normpath(posixpath.join("/src", program))
    return path.removeprefix("/src").removeprefix("/build/")
