"""The libraries and faults of programs that do not list benchmarks as Google Benchmark does.

The text that a program prints is only a hint for the message: no outcome depends on it.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

_READ: Final = 64 << 10  # characters from each end; an error is at one of them


class ForeignProgram(StrEnum):
    """The reasons why a program is not measured, as far as its output shows them."""

    CATCH2 = "Catch2"
    NANOBENCH = "nanobench"
    DOCTEST = "doctest"
    GOOGLE_TEST = "GoogleTest"
    REFUSES_FLAGS = "refuses flags"
    WANTS_ARGUMENTS = "wants arguments"
    MISSES_FILE = "misses a file"
    NO_JSON = "no JSON"  # of nanobench, which its suite names
    NO_BENCHMARK = "no benchmark"  # of Catch2, which its suite names, is chosen


_CANNOT: Final = r"(?:can ?not|can't|could not|couldn't|unable to|failed to) (?:open|read|load|find)\b"
# In this order: a program of nanobench may also be one of doctest, and one that refuses a flag may print its
# usage.
_MARKS: Final = (
    (
        ForeignProgram.CATCH2,
        r"^Run with -\? for usage|Unrecognised token: -+benchmark_list_tests|^Catch2? v\d",
    ),
    (ForeignProgram.NANOBENCH, r"^\| .*\| +err% +\| .*\| "),
    (ForeignProgram.DOCTEST, r"^\[doctest\] "),
    (ForeignProgram.GOOGLE_TEST, r"^\[={10}\] Running \d+ tests? from "),
    (ForeignProgram.REFUSES_FLAGS, r"benchmark_list_tests"),
    (ForeignProgram.WANTS_ARGUMENTS, r"^[^\w\n]{0,20}usage\b"),
    (ForeignProgram.MISSES_FILE, rf"No such file or directory|{_CANNOT}|(?:file|path) (?:was )?not found"),
)
_PATTERNS: Final = tuple((kind, re.compile(mark, re.MULTILINE | re.IGNORECASE)) for kind, mark in _MARKS)
# The dynamic loader and the shell use the same words for libraries and programs, which are no data.
_NO_DATA: Final = re.compile(r"shared librar|shared object|^sh: ", re.MULTILINE)


def recognise(output: str) -> ForeignProgram | None:
    """Return the first reason that what a program printed shows; None if it shows none."""
    text = output if len(output) <= 2 * _READ else f"{output[:_READ]}\n{output[-_READ:]}"
    found = next((kind for kind, pattern in _PATTERNS if pattern.search(text)), None)
    return None if found is ForeignProgram.MISSES_FILE and _NO_DATA.search(text) else found
