"""Recognise sources with benchmarks of other libraries that a project file can name by ``format``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from service.domain.values.text import counted, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

SOURCES: Final = (".c++", ".cc", ".cpp", ".cxx")
_NANOBENCH: Final = re.compile(r"\bankerl::nanobench\b|#\s*include\s*[<\"](?:\w+/)*nanobench\.h[>\"]")
_CATCH: Final = re.compile(r"#\s*include\s*[<\"](?:catch2/|(?:\w+/)*catch)")
_BENCHMARK: Final = re.compile(r"\bBENCHMARK(?:_ADVANCED)?\s*\(\s*\"")  # Catch2's names are literals


def other_benchmarks(sources: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Write a sentence for each library with the sources, by path, that use it; none if there are none."""
    found = {"nanobench": list[str](), "catch2": list[str]()}
    for path, text in sources:
        if _NANOBENCH.search(text):
            found["nanobench"].append(path)
        elif _CATCH.search(text) and _BENCHMARK.search(text):
            found["catch2"].append(path)
    return tuple(_sentence(name, paths) for name, paths in found.items() if paths)


def _sentence(name: str, paths: Iterable[str]) -> str:
    first, *more = sorted(paths)
    others = f" and {counted(len(more), 'further file')}" if more else ""
    return (
        f"{plain(first)}{others} use{'' if more else 's'} {name}: name the programs as suites with "
        f"`format: {name}` to measure them"
    )
