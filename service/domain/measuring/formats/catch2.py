"""Read the benchmarks in Catch2's XML, versions 2.9 to 3."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from service.domain.measuring.formats.foreign import (
    LARGEST,
    ForeignBenchmark,
    Repetition,
    Sampler,
    WholeProgram,
    name_of,
    with_own_names,
)
from service.domain.measuring.formats.program import (
    HAS_PROFILER,
    JOINED,
    OUT,
    PROFILED,
    RESULT,
    ForeignProgram,
    NotMeasured,
    start,
)
from service.domain.measuring.formats.row import WHOLE_BELOW, is_finite
from service.domain.measuring.sampled_stacks import Place
from service.domain.values.errors import BadResults, bad_line
from service.domain.values.text import brief, plain
from service.domain.values.xml import XmlParser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.measuring.formats.program import Invocation
    from service.domain.project.benchmark import Suite

_ROOTS: Final = ("Catch2TestRun", "Catch")  # of versions 3 and 2
_NAMED: Final = frozenset({"TestCase", "Section"})
_DEEPEST: Final = 100  # nested elements; a test has a few sections
_PER_SECOND: Final = 1e9
_NO_REASON: Final = "no reason given"


def read_catch2(data: bytes) -> tuple[ForeignBenchmark, ...]:
    """Read the mean of each benchmark in linear time.

    A name joins the test case, its sections and the benchmark.

    Raises:
        BadResults: it is not complete XML of Catch2, too large, or nested too deeply.
    """
    if len(data) > LARGEST:
        raise BadResults(f"it has {len(data)} bytes; at most {LARGEST} are read")
    if not data.strip():
        raise BadResults("it is empty")
    return _Catch2Parser().read(data)


class _Catch2Parser:
    """Parser of one document."""

    def __init__(self) -> None:
        self._open: list[str] = []  # names of the open elements; empty for those outside of benchmarks' names
        self._benchmark: ForeignBenchmark | None = None
        self._depth = 0  # of the open benchmark
        self._iterations = 1
        self._found: list[ForeignBenchmark] = []

    def read(self, data: bytes) -> tuple[ForeignBenchmark, ...]:
        """Read the whole document."""
        XmlParser(self._start, self._end, bad_line).feed(data)
        return with_own_names(self._found)

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        if not self._open and element not in _ROOTS:
            raise BadResults(f"its root is {brief(element)}, not {_ROOTS[0]}")
        if len(self._open) == _DEEPEST:
            raise BadResults(f"it is nested more than {_DEEPEST} elements deep")
        if self._benchmark is None and element == "BenchmarkResults":
            name = name_of(*self._open, attributes.get("name", ""))
            self._benchmark, self._depth = ForeignBenchmark(name), len(self._open)
            self._iterations = _iterations(attributes.get("iterations", ""))
        elif self._benchmark and element == "mean":
            repetition = Repetition(_seconds(attributes.get("value", "")), self._iterations)
            self._benchmark = self._benchmark._replace(repetitions=(repetition,))
        elif self._benchmark and element == "failed":
            error = plain(attributes.get("message", "")) or _NO_REASON
            self._benchmark = self._benchmark._replace(error=error)
        self._open.append(attributes.get("name", "") if element in _NAMED else "")

    def _end(self, _element: str) -> None:
        self._open.pop()
        if self._benchmark and len(self._open) == self._depth:
            self._found.append(self._benchmark)
            self._benchmark = None


def _seconds(nanoseconds: str) -> float:
    """Convert to seconds; 0, which the reader of rows refuses, for anything but a finite number."""
    try:
        value = float(nanoseconds)
    except ValueError:
        return 0.0
    return value / _PER_SECOND if is_finite(value) else 0.0


def _iterations(count: str) -> int:
    is_whole = count.isascii() and count.isdigit() and len(count) < len(str(WHOLE_BELOW))
    return max(int(count), 1) if is_whole else 1


_TAGGED: Final = "[!benchmark]"
_FLAGS: Final = (
    "--benchmark-no-analysis",  # resampling takes longer than measuring, and only the mean is read
    *("--order", "decl"),  # both sides run the benchmarks in the same order
    *("--rng-seed", "1"),  # and with the same random numbers
)
_REPORT: Final = f'--reporter xml --out "{OUT}/{RESULT}" >/dev/null'
_SAMPLE: Final = f"""{HAS_PROFILER}
{PROFILED} "$@" {_REPORT} || exit
{JOINED}
"""
# Measuring takes milliseconds, but warming up runs the timed loop, too, for a time that can be set.
_WARM_UP: Final = ("--benchmark-warmup-time", "200")  # ms; twice is an error
_SPECIAL: Final = re.compile(r'([\\,"*~\[\]])')


def _sampling(suite: Suite, name: str) -> Invocation:
    """Run the test cases whose names, and sections, can be the first parts of the benchmark's name."""
    *parts, _ = name.split("/")
    if not parts:
        raise NotMeasured(f"no test case is known: {name}")
    cases = accumulate(parts, lambda first, second: f"{first}/{second}")
    chosen = ",".join('"' + _SPECIAL.sub(r"\\\1", each) + '"' for each in cases)
    own = replace(suite, args=_without_warm_up(suite.args))
    return start(own, _SAMPLE, (chosen, *_FLAGS, *_WARM_UP))


def _without_warm_up(args: Sequence[str]) -> tuple[str, ...]:
    """Leave out the option and its value, which is the next argument unless it has a ``=``."""
    option, found = _WARM_UP[0], list(args)
    for at in reversed(range(len(found))):
        if found[at] == option:
            del found[at : at + 2]
        elif found[at].startswith(f"{option}="):
            del found[at]
    return tuple(found)


def _in_order(_: bytes, names: Sequence[str], name: str) -> Place:
    if name not in names:
        raise BadResults("the benchmark did not run")
    return Place(names.index(name), len(names))


CATCH2: Final = WholeProgram(
    "catch2",
    f'exec "$@" {_REPORT}',
    read_catch2,
    flags=lambda suite: (suite.filter or _TAGGED, *_FLAGS),
    sampler=Sampler(_sampling, _in_order),
    empty=ForeignProgram.NO_BENCHMARK,
)
