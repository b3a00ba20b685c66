"""Find suites that a patch does not affect, by comparing the built files of both sides."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.project.benchmark import Suite

_BUILD: Final = "build/"  # below the top of the sources
NOT_TOLD: Final = "the kernel does not report which files are opened"


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
    different = {path for path in {*base, *patch} if base.get(path) != patch.get(path)}
    programs = frozenset(_path_of(suite.program) for suite in suites)
    return frozenset(
        suite.name
        for suite in suites
        if (own := patch.get(path := _path_of(suite.program))) is not None
        # Only a script or a link uses the programs of other suites.
        and not different - (programs - {path} if own.is_native else set())
    )


def _path_of(program: str) -> str:
    """Make a path relative to the build directory, which is both ``/build`` and ``/src/build``."""
    path = posixpath.normpath(posixpath.join("/src", program))
    return path.removeprefix("/src").removeprefix("/build/")


# Input of compilers and build systems, which affects the programs themselves.
_COMPILED: Final = frozenset(
    {
        *(".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".cppm", ".ixx"),
        *(".h", ".hh", ".hpp", ".hxx", ".h++", ".H", ".inl", ".ipp", ".tcc", ".tpp"),
        *(".s", ".S", ".asm"),
        *(".cmake", ".bzl"),
    }
)
_BUILD_FILES: Final = frozenset(
    {"CMakeLists.txt", "CMakePresets.json", "Makefile", "meson.build", "BUILD", "BUILD.bazel", "WORKSPACE"}
)
# Files for people and their tools; not .gitattributes, which changes other files at checkout.
_DOCUMENTS: Final = frozenset({".md", ".rst", ".adoc"})
_ABOUT: Final = frozenset(
    {
        *("benchgate.yaml", "LICENSE", "COPYING", "NOTICE", "AUTHORS", "OWNERS", "CODEOWNERS"),
        *(".gitignore", ".gitreview", ".mailmap", ".clang-format", ".clang-tidy", ".editorconfig"),
    }
)
# Folders of input: a parser's benchmark may read even C++ sources from these.
_INPUTS: Final = frozenset(
    {
        *("data", "dataset", "datasets", "testdata", "test_data", "test-data", "benchdata", "bench_data"),
        *("corpus", "corpora", "fixtures", "input", "inputs", "resources", "assets", "samples", "examples"),
    }
)


def may_be_read(path: str) -> bool:
    """Return whether a program, which runs in the source tree, may open this file of it.

    It may open any file except input of the build and text for people.
    """
    folder, name = posixpath.split(path)
    if not _INPUTS.isdisjoint(folder.lower().split("/")):
        return True
    return posixpath.splitext(name)[1] not in _COMPILED | _DOCUMENTS and name not in _BUILD_FILES | _ABOUT
