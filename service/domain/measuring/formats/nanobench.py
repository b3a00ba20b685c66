"""Read nanobench's JSON or its tables, which a program writes to standard output between other lines."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.formats.document import Damage, decode
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
    start,
)
from service.domain.measuring.formats.row import WHOLE_BELOW, is_finite
from service.domain.measuring.sampled_stacks import Place
from service.domain.values.errors import BadResults
from service.domain.values.text import brief, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.domain.measuring.formats.program import Invocation
    from service.domain.project.benchmark import Suite

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
# An epoch takes a millisecond, so the library runs one benchmark until it is killed: the times are those of
# a launch before. The profiler starts and stops by a signal. It writes the profile in its handler.
_ENDLESS: Final = f"""{HAS_PROFILER}
"$@" >>"{OUT}/{RESULT}" || exit
for name in %s; do
    NANOBENCH_ENDLESS=$name CPUPROFILESIGNAL=12 {PROFILED} "$@" >/dev/null 2>"{OUT}/said" &
    until grep -q "^NANOBENCH_ENDLESS set" "{OUT}/said"; do
        sleep 0.01
        kill -0 $! || continue 2
    done
    kill -12 $! && sleep 0.5 && kill -12 $! || exit
    until [ -s "{OUT}/profile.0" ]; do sleep 0.01; done
    sleep 0.1
    kill -9 $!
    mv "{OUT}/profile.0" "{OUT}/profile"
    printf '\\n%%s' "$name" >>"{OUT}/{RESULT}"
    {JOINED}
    exit
done
exit 1
"""
_NUMBER: Final = re.compile(r" #[0-9]+")
_SIZE: Final = re.compile(r"[0-9.e+]+")


def _endless(suite: Suite, name: str) -> Invocation:
    """Run a benchmark by the parts of its name that the program can have given it, the longest first."""
    parts = _NUMBER.sub("", name).split("/")
    ends = [len(parts)] + [len(parts) - 1] * (len(parts) > 1 and bool(_SIZE.fullmatch(parts[-1])))
    names = sorted(("/".join(parts[k:end]) for end in ends for k in range(end)), key=len, reverse=True)
    return start(suite, _ENDLESS % " ".join(map(shlex.quote, names)), ())


def _only(results: bytes, names: Sequence[str], name: str) -> Place:
    """Check that no other benchmark can have the name that the library ran: it takes the first one."""
    ran = results.rpartition(b"\n")[2].decode("utf-8", "replace")
    having = [each for each in names if f"/{ran}/" in f"/{_NUMBER.sub('', each)}/"]
    if having != [name]:
        raise BadResults(f"{len(having)} benchmarks may have the name {brief(ran)}")
    return Place()


NANOBENCH: Final = WholeProgram(
    "nanobench",
    _LINE,
    read_nanobench,
    sampler=Sampler(_endless, _only),
    unreadable=ForeignProgram.NO_TABLE,
)
