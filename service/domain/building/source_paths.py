"""Paths of a source tree that a running program could read."""

from __future__ import annotations

import posixpath
from typing import Final

# Input of compilers and build systems; a change of it is visible in the programs.
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
# Files for people and their tools. Without .gitattributes, which changes other files at checkout.
_DOCUMENTS: Final = frozenset({".md", ".rst", ".adoc"})
_ABOUT: Final = frozenset(
    {
        *("benchgate.yaml", "LICENSE", "COPYING", "NOTICE", "AUTHORS", "OWNERS", "CODEOWNERS"),
        *(".gitignore", ".gitreview", ".mailmap", ".clang-format", ".clang-tidy", ".editorconfig"),
    }
)
# Folders whose files are input with any name: a benchmark of a parser may read C++ sources or texts.
_INPUTS: Final = frozenset(
    {
        *("data", "dataset", "datasets", "testdata", "test_data", "test-data", "benchdata", "bench_data"),
        *("corpus", "corpora", "fixtures", "input", "inputs", "resources", "assets", "samples", "examples"),
    }
)


def may_be_read(path: str) -> bool:
    """Return whether a program could read this file of the source tree while it runs.

    Programs run in the source tree and may open any file there, except those that are known to be input of
    the build or text for people.
    """
    folder, name = posixpath.split(path)
    if not _INPUTS.isdisjoint(folder.lower().split("/")):
        return True
    return posixpath.splitext(name)[1] not in _COMPILED | _DOCUMENTS and name not in _BUILD_FILES | _ABOUT
