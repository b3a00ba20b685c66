"""Read nanobench's JSON or its tables, which a program writes to standard output between other lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

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
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_START: Final = re.compile(r'\{\s*+"results"\s*+:\s*+\[')
# As C++ prints them, for the error of a measurement of 0, such as the instructions of an empty loop.
_NO_NUMBER: Final = re.compile(r'(":\s*+)-?(?:nan|inf)(?=\s*+[,}])')
_MISSING: Final = "standard output has neither a table nor JSON of nanobench"
_CODE: Final = r"`((?:[^`]|``)++)`"  # a backquote in it is doubled
_NAME: Final = re.compile(_CODE)
_TIME: Final = re.compile(r"([^\s/]+)/(.+)")  # such as ns/op
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_PRECISE: Final = 10.0  # per second, which a table shows with two decimals: smaller rates have three digits
_MOST_COLUMNS: Final = 50  # a table has at most a dozen, and those of the program's own variables
_FAILED: Final = re.compile(rf"\| :boom: {_CODE} \((.*)\)")
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
    """Read what nanobench's template ``json()`` writes, or else the tables that it prints, in linear time.

    A program may write several of either, one per ``Bench``. A name begins with the title of its ``Bench``
    and ends with its ``complexityN``, if the program sets them. A table has one value for each benchmark: the
    median of its epochs.

    Raises:
        BadResults: there is neither, or a document is damaged or too large.
    """
    if len(data) > LARGEST:
        raise BadResults(f"it has {len(data)} bytes; at most {LARGEST} are read")
    text = _NO_NUMBER.sub(r"\g<1>0", data.decode("utf-8", "replace"))
    if not _START.search(text):
        if found := with_own_names(_in_tables(text)):
            return found
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


class _Table(NamedTuple):
    """A table: its title, and the columns with the rate, the time, its unit, and the ``complexityN``."""

    columns: int
    title: str
    rate: int
    time: int
    unit: str
    size: int | None

    @classmethod
    def of(cls, line: str) -> _Table | None:
        """Read a header line; None if the line is none."""
        *cells, title = (cell.strip() for cell in line.split("|", _MOST_COLUMNS)[1:])
        places = {cell: column for column, cell in enumerate(cells)}
        if "err%" not in places:
            return None
        for column, found in enumerate(map(_TIME.fullmatch, cells)):
            if found and (rate := places.get(f"{found[2]}/s")) is not None:
                own = title if title != _NO_TITLE else ""
                return cls(len(cells), own, rate, column, found[1], places.get("complexityN"))
        return None

    def benchmark(self, line: str) -> ForeignBenchmark | None:
        """Read a line of the table; None if it has no benchmark."""
        if failed := _FAILED.match(line):
            return ForeignBenchmark(name_of(self.title, _name(failed[1])), error=plain(failed[2]))
        cells = line.split("|", self.columns + 1)[1:]
        last = cells[-1]
        if len(cells) <= self.columns or not (code := _NAME.match(last, max(last.find("`"), 0))):
            return None
        rate, time = _shown(cells[self.rate]), _shown(cells[self.time]) * _SECONDS.get(self.unit, 0)
        seconds = 1 / rate if rate > 0 and (rate > _PRECISE or time == 0) else time
        size = "" if self.size is None else cells[self.size].strip()
        counters = (("items_per_second", 1 / seconds),) if seconds > 0 else ()
        repetitions = (Repetition(seconds, 1, counters),) if is_finite(seconds) and seconds > 0 else ()
        return ForeignBenchmark(name_of(self.title, _name(code[1]), size), repetitions)


def _in_tables(text: str) -> Iterator[ForeignBenchmark]:
    table: _Table | None = None
    for line in text.splitlines():
        if not line.startswith("|"):
            continue
        if header := _Table.of(line):
            table = header
        elif table and (found := table.benchmark(line)):
            yield found


def _name(code: str) -> str:
    return code.replace("``", "`")


def _shown(cell: str) -> float:
    """Return a number with separators of thousands; 0 for anything else."""
    try:
        number = float(cell.strip().replace(",", ""))
    except ValueError:
        return 0.0
    return number if is_finite(number) else 0.0


def _number(value: object) -> float:
    """Return a finite number, or 0 for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
    return float(value) if is_number else 0.0  # type: ignore[arg-type]


# Appended, so that a program that opens /dev/stdout does not overwrite its own lines.
_LINE: Final = f'exec "$@" >>"{OUT}/{RESULT}"'
NANOBENCH: Final = WholeProgram("nanobench", _LINE, read_nanobench, unreadable=ForeignProgram.NO_TABLE)
