"""Find suites that a patch does not affect, by comparing what their launches load and read on both sides."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.project.benchmark import Suite

_BUILD: Final = "build/"  # below the top of the sources
NOT_TOLD: Final = "the kernel does not report which files are opened"
UNREADABLE: Final = "not all of them can be read"


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file of a built tree, or a directory's list of entries, compared by digest.

    ``is_native``: it is an ELF program or shared object, and the digest covers only what the loader maps.
    """

    digest: str
    is_native: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """The files and directories of a built tree that launches opened, by relative path.

    ``unknown`` says why they may have opened others; empty: these are all.
    """

    paths: frozenset[str] = frozenset()
    unknown: str = ""

    @property
    def doubt(self) -> str:
        """The reason not to rely on the paths; empty: there is none."""
        # A launch opens a program, so without a file of the build, the kernel tells nothing here.
        is_told = any(path.startswith(_BUILD) for path in self.paths)
        return self.unknown or ("" if is_told else NOT_TOLD)


def unchanged_suites(
    suites: Sequence[Suite], base: Mapping[str, BuiltFile], patch: Mapping[str, BuiltFile]
) -> frozenset[str]:
    """Find the suites with equal relevant files in both build directories.

    Args:
        suites: all suites of the job.
        base: the base's files by path relative to the build directory.
        patch: the patch's files, in the same form.
    """
    different = {*differing(base, patch)}
    programs = frozenset(_path_of(suite.program) for suite in suites)
    return frozenset(
        suite.name
        for suite in suites
        if (own := patch.get(path := _path_of(suite.program))) is not None
        # Only a script or a link uses the programs of other suites.
        and not different - (programs - {path} if own.is_native else set())
    )


def programs_in(files: Mapping[str, BuiltFile]) -> tuple[str, ...]:
    """List the native programs among the files of a build directory, without shared objects, by path."""
    native = sorted(path for path, file in files.items() if file.is_native)
    return tuple(path for path in native if not re.search(r"\.so(\.|$)", posixpath.basename(path)))


def _path_of(program: str) -> str:
    """Make a path relative to the build directory, which is both ``/build`` and ``/src/build``."""
    path = posixpath.normpath(posixpath.join("/src", program))
    return path.removeprefix("/src").removeprefix("/build/")


def differing(base: Mapping[str, BuiltFile], patch: Mapping[str, BuiltFile]) -> tuple[str, ...]:
    """List the paths that differ or were opened on one side only, in order.

    Args:
        base: the files that launches of the base opened, as the base has them.
        patch: the same of the patch.
    """
    return tuple(path for path in sorted({*base, *patch}) if base.get(path) != patch.get(path))
