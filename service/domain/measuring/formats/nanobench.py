"""Read nanobench's JSON, which a program writes to standard output between other lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from service.domain.measuring.formats.document import Damage, decode
from service.domain.measuring.formats.foreign import (
    LARGEST,
    ForeignBenchmark,
    Repetition,
    WholeProgram,
    name_of,
    with_own_names,
)
from service.domain.measuring.formats.program import OUT, RESULT, ForeignProgram
from service.domain.measuring.formats.row import WHOLE_BELOW, is_finite
from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_START: Final = re.compile(r'\{\s*+"results"\s*+:\s*+\[')
# As C++ prints them, for the error of a measurement of 0, such as the instructions of an empty loop.
_NO_NUMBER: Final = re.compile(r'(":\s*+)-?(?:nan|inf)(?=\s*+[,}])')
_MISSING: Final = "standard output has no JSON of nanobench"
_NO_TITLE: Final = "benchmark"  # default title of a Bench
_COUNTERS: Final = (
    "instructions",
    "cpucycles",
    "branchinstructions",
    "branchmisses",
    "contextswitches",
    "pagefaults",
)


def read_nanobench(data: bytes) -> tuple[ForeignBenchmark, ...]:
    """Read what nanobench's template ``json()`` writes, in linear time.

    A program may write several documents, one per ``Bench``. A name begins with the title of its ``Bench``
    and ends with its ``complexityN``, if the program sets them.

    Raises:
        BadResults: there is no such document, or one is damaged or too large.
    """
    if len(data) > LARGEST:
        raise BadResults(f"it has {len(data)} bytes; at most {LARGEST} are read")
    text = _NO_NUMBER.sub(r"\g<1>0", data.decode("utf-8", "replace"))
    if not _START.search(text):
        raise BadResults(_MISSING)
    return with_own_names(each for document in _documents(text) for each in _benchmarks(document))


def _documents(text: str) -> Iterator[Mapping[str, object]]:
    at = 0
    while start := _START.search(text, at):
        found = decode(text, start.start())
        if isinstance(found, Damage):
            raise BadResults(f"nanobench's JSON is damaged at character {found.at} ({found.why})")
        document, at = found
        yield document


def _benchmarks(document: Mapping[str, object]) -> Iterator[ForeignBenchmark]:
    match document:
        case {"results": list(results)}:
            yield from map(_benchmark, results)


def _benchmark(result: object) -> ForeignBenchmark:
    match result:
        case {"name": str(name), "measurements": list(epochs), **others}:
            title, size = others.get("title"), _number(others.get("complexityN"))
            own = title if isinstance(title, str) and title != _NO_TITLE else ""
            batch = _number(others.get("batch")) or 1.0
            repetitions = (_repetition(each, batch) for each in epochs)
            name = name_of(own, name, f"{size:.15g}" if size > 0 else "")
            return ForeignBenchmark(name, tuple(each for each in repetitions if each))
    raise BadResults("a result of nanobench has no name or no measurements")


def _repetition(epoch: object, batch: float) -> Repetition | None:
    """Read an epoch. Its work is the ``batch``, so a patch cannot change that unnoticed."""
    if not isinstance(epoch, dict):
        return None
    seconds = _number(epoch.get("elapsed"))
    if seconds <= 0:
        return None
    # Counters that the machine or its kernel does not support are 0.
    counted = ((key, _number(epoch.get(key))) for key in _COUNTERS)
    counters = (("items_per_second", batch / seconds), *((key, value) for key, value in counted if value > 0))
    iterations = int(min(_number(epoch.get("iterations")), WHOLE_BELOW - 1))
    return Repetition(seconds, max(iterations, 1), counters)


def _number(value: object) -> float:
    """Return a finite number, or 0 for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
    return float(value) if is_number else 0.0  # type: ignore[arg-type]


# Appended, so that a program that opens /dev/stdout does not overwrite its own lines.
_LINE: Final = f'exec "$@" >>"{OUT}/{RESULT}"'
NANOBENCH: Final = WholeProgram("nanobench", _LINE, read_nanobench, unreadable=ForeignProgram.NO_JSON)
