"""Recognise the library of benchmarks by their sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from service.domain.project.benchmark import Format
from service.domain.values.text import counted, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SOURCES: Final = (".c++", ".cc", ".cpp", ".cxx")
_GOOGLE: Final = re.compile(r"#\s*include\s*[<\"]benchmark/benchmark\.h[>\"]")
_NANOBENCH: Final = re.compile(r"\bankerl::nanobench\b|#\s*include\s*[<\"](?:\w+/)*nanobench\.h[>\"]")
_CATCH: Final = re.compile(r"#\s*include\s*[<\"](?:catch2/|(?:\w+/)*catch)")
# A header of the project may include Catch2.
_TEST_CASE: Final = re.compile(r"^\s*(?:TEMPLATE_)?TEST_CASE\s*\(\s*\"", re.MULTILINE)
_BENCHMARK: Final = re.compile(r"\bBENCHMARK(?:_ADVANCED)?\s*\(\s*\"")  # Catch2's names are literals
_TAG: Final = re.compile(r"^\s*\d+\s+((?:\[[^\[\]\n]+\])+)\s*$", re.MULTILINE)  # of Catch2's --list-tags
_WORDS: Final = re.compile(r"(?<![a-z])(?:bench(?:mark(?:s|ing)?)?|perf(?:ormance)?)(?![a-z])", re.IGNORECASE)
_DEFAULT: Final = "[!benchmark]"
ALL: Final = "*"
"""The test spec of all tests that are not hidden."""


def libraries_in(sources: Iterable[tuple[str, str]]) -> dict[str, Format]:
    """Map the paths of the sources that use a library to it."""
    found = {}
    for path, text in sources:
        if _GOOGLE.search(text):
            found[path] = Format.GOOGLE
        elif _NANOBENCH.search(text):
            found[path] = Format.NANOBENCH
        elif _BENCHMARK.search(text) and (_CATCH.search(text) or _TEST_CASE.search(text)):
            found[path] = Format.CATCH2
    return found


def without_google(libraries: Mapping[str, Format]) -> dict[str, Format]:
    """Return the sources that use another library than Google Benchmark."""
    return {path: library for path, library in libraries.items() if library is not Format.GOOGLE}


def library_of(sources: Iterable[str], libraries: Mapping[str, Format]) -> Format | None:
    """Return the library of a program's sources, given the libraries of all; None: none of them uses one."""
    return next((libraries[path] for path in sources if path in libraries), None)


def not_measured(others: Mapping[str, Format]) -> tuple[str, ...]:
    """Write a sentence for each library with the sources that use it; none if there are none."""
    libraries = dict.fromkeys(others.values())
    return tuple(
        _sentence(each, [path for path, used in others.items() if used is each]) for each in libraries
    )


def _sentence(name: Format, paths: Iterable[str]) -> str:
    first, *more = sorted(paths)
    others = f" and {counted(len(more), 'further file')}" if more else ""
    return (
        f"{plain(first)}{others} use{'' if more else 's'} {name}: name the programs as suites with "
        f"`format: {name}` to measure them"
    )


def spec_of(tags: str) -> str:
    """Choose the test spec that runs a Catch2 program's benchmarks; empty: the tests with ``[!benchmark]``.

    Args:
        tags: what the program prints for ``--list-tags``.
    """
    found = [tag for group in _TAG.findall(tags) for tag in re.findall(r"\[[^\[\]]+\]", group)]
    if _DEFAULT in found:
        return ""
    return next((tag for tag in found if _WORDS.search(tag)), ALL)
