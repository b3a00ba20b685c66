"""Decides which paths of a source tree a running program could read."""

from __future__ import annotations

import posixpath
from typing import Final

# What compilers and build systems turn into programs. What that changes shows in the programs.
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
# What people and their tools read. Not .gitattributes: it changes what a checkout writes into other files.
_DOCUMENTS: Final = frozenset({".md", ".rst", ".adoc"})
_ABOUT: Final = frozenset(
    {
        *("benchgate.yaml", "LICENSE", "COPYING", "NOTICE", "AUTHORS", "OWNERS", "CODEOWNERS"),
        *(".gitignore", ".gitreview", ".mailmap", ".clang-format", ".clang-tidy", ".editorconfig"),
    }
)
# Folders whose files are input whatever they are called: a parser is measured on C++ sources and on texts.
_INPUTS: Final = frozenset(
    {
        *("data", "dataset", "datasets", "testdata", "test_data", "test-data", "benchdata", "bench_data"),
        *("corpus", "corpora", "fixtures", "input", "inputs", "resources", "assets", "samples", "examples"),
    }
)


def may_be_read(path: str) -> bool:
    """Whether a program could read this file of the source tree while it runs.

    Programs run in the source tree and may open anything there, so that only what is known to be input of
    the build, or text for people, is not.
    """
    folder, name = posixpath.split(path)
    if not _INPUTS.isdisjoint(folder.lower().split("/")):
        return True
    return posixpath.splitext(name)[1] not in _COMPILED | _DOCUMENTS and name not in _BUILD_FILES | _ABOUT
