"""Convert benchmarks of other libraries to Google Benchmark's JSON, so that all are judged alike."""

from __future__ import annotations

import json
import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from service.domain.measuring.formats.row import ReadLimits
from service.domain.values.errors import BadResults
from service.domain.values.text import brief, clean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


LARGEST: Final = 16 << 20  # bytes of a file; ten thousand benchmarks take 6 MB
_MOST_REPETITIONS: Final = 20  # the fastest are kept; only the best counts, and rows cost time and space
_LONGEST_NAME: Final = ReadLimits().name_characters
_NO_TIME: Final = "it reports no time"


class Repetition(NamedTuple):
    """One measurement: seconds and counters per iteration, and the number of iterations."""

    seconds: float
    iterations: int = 1
    counters: tuple[tuple[str, float], ...] = ()


class ForeignBenchmark(NamedTuple):
    """A benchmark with its measurements, or why it failed."""

    name: str
    repetitions: tuple[Repetition, ...] = ()
    error: str = ""


def name_of(*parts: str) -> str:
    """Join the non-empty parts of a name by slashes, without unprintable characters.

    Raises:
        BadResults: the name is empty or too long to be stored.
    """
    name = clean("/".join(part for part in map(str.strip, parts) if part)).strip()
    if not name:
        raise BadResults("a benchmark has no name")
    if len(name) > _LONGEST_NAME:
        what = f"the name {brief(name)} has {len(name)} characters; at most {_LONGEST_NAME} are allowed"
        raise BadResults(what)
    return name


def with_own_names(found: Iterable[ForeignBenchmark]) -> tuple[ForeignBenchmark, ...]:
    """Number benchmarks of the same name: ``sort``, ``sort #2``.

    Equal results count once, because a program may write them several times.

    Raises:
        BadResults: long names would make the rows far larger than the file.
    """
    known: Counter[str] = Counter()
    named = []
    for each in dict.fromkeys(found):
        known[each.name] += 1
        number = known[each.name]
        named.append(each if number == 1 else each._replace(name=f"{each.name} #{number}"))
    characters = sum(len(each.name) * len(each.repetitions[:_MOST_REPETITIONS]) for each in named)
    if characters > LARGEST:
        raise BadResults(f"the names of its rows have {characters} characters; at most {LARGEST} are allowed")
    return tuple(named)


def as_gbench(found: Iterable[ForeignBenchmark], names: Collection[str]) -> bytes:
    """Write the benchmarks with these names as Google Benchmark's JSON.

    The libraries report no CPU time, so both times are real time.
    """
    rows = [row for each in found if each.name in names for row in _rows(each)]
    return json.dumps({"context": {}, "benchmarks": rows}, separators=(",", ":"), ensure_ascii=False).encode()


def _rows(benchmark: ForeignBenchmark) -> list[dict[str, Any]]:
    row: dict[str, Any] = {
        "name": benchmark.name,
        "run_name": benchmark.name,
        "run_type": "iteration",
        "threads": 1,
    }
    best = sorted(benchmark.repetitions)[:_MOST_REPETITIONS]
    if benchmark.error or not best:
        error = {"error_occurred": True, "error_message": benchmark.error or _NO_TIME}
        return [row | {"repetitions": 1, "repetition_index": 0, "iterations": 1} | error]
    return [
        dict(each.counters)
        | row
        | {
            "repetitions": len(best),
            "repetition_index": index,
            "iterations": each.iterations,
            "real_time": each.seconds,
            "cpu_time": each.seconds,
            "time_unit": "s",
        }
        for index, each in enumerate(best)
    ]


_READ: Final = 64 << 10  # characters at each end of the output, where errors are


class ForeignProgram(StrEnum):
    """Reasons that a program's output shows for not being measured."""

    CATCH2 = "Catch2"
    NANOBENCH = "nanobench"
    DOCTEST = "doctest"
    GOOGLE_TEST = "GoogleTest"
    REFUSES_FLAGS = "refuses flags"
    WANTS_ARGUMENTS = "wants arguments"
    MISSES_FILE = "misses a file"
    NO_JSON = "no JSON"  # the suite's format is nanobench
    NO_BENCHMARK = "no benchmark"  # the suite's format is Catch2


_CANNOT: Final = r"(?:can ?not|can't|could not|couldn't|unable to|failed to) (?:open|read|load|find)\b"
# Ordered: a nanobench program may use doctest too, and a program that refuses a flag may print its usage.
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
# The dynamic loader and the shell use the same words for libraries and programs, which are not data files.
_NO_DATA: Final = re.compile(r"shared librar|shared object|^sh: ", re.MULTILINE)


def recognise(output: str) -> ForeignProgram | None:
    """Find the first reason in a program's output; None if it shows none."""
    text = output if len(output) <= 2 * _READ else f"{output[:_READ]}\n{output[-_READ:]}"
    found = next((kind for kind, pattern in _PATTERNS if pattern.search(text)), None)
    return None if found is ForeignProgram.MISSES_FILE and _NO_DATA.search(text) else found
