"""One row of Google Benchmark's results: what it holds, and what its JSON must look like."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from service.domain.errors import BadResults
from service.domain.gbench.damaged_json import Repeated
from service.domain.gbench.text import brief, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ALLOCATIONS: Final = "allocs_per_iter"
BYTE_FIELDS: Final = ("max_bytes_used", "total_allocated_bytes", "net_heap_growth")
_MEMORY: Final = frozenset({ALLOCATIONS, *BYTE_FIELDS})
_OWN_KEYS: Final = frozenset(
    {
        *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions"),
        *("repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit"),
    }
)
# The library writes these into some rows only, as texts and flags; a number there is a user's counter.
_OWN_TEXTS: Final = frozenset(
    {
        *("label", "error_occurred", "error_message", "skipped", "skip_message"),
        *("aggregate_name", "aggregate_unit", "big_o"),
    }
)
_RARE: Final = frozenset(
    {"error_occurred", "skipped", "aggregate_name", "aggregate_unit"}
)  # quickly ruled out
_PER_SECOND: Final = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
_NOTHING: Final[Mapping[str, float]] = MappingProxyType({})


class RunType(StrEnum):
    """What a row states: one measurement, or a statistic over several."""

    ITERATION = "iteration"
    AGGREGATE = "aggregate"


_RUN_TYPES: Final[Mapping[str, RunType]] = MappingProxyType({str(each): each for each in RunType})


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much of a file is read. Each bound has its reason beside it."""

    max_bytes: int = 512 << 20  # a million rows of the usual 400 bytes
    rows: int = 1_000_000  # more than any suite has; the rest is left unread
    name_characters: int = 1024  # a longer name is an attack, and would not fit an index either
    text_characters: int = 1024  # labels and messages are cut here
    counters: int = 256  # of one row; more than all of a processor's events
    warnings: int = 100  # kept; the rest is counted
    context_entries: int = 64  # of the context, and of each list in it


class ResultRow(NamedTuple):
    """One entry of ``benchmarks``; texts are one line each, without control characters.

    A named tuple, because files hold tens of thousands: freezing a dataclass took a third of reading one.

    Args:
        name: the full name; ``run_name`` lacks an aggregate's suffix.
        repetitions: how often the benchmark was to be repeated; ``repetition_index`` counts from 0.
            Both None where the library did not say.
        iterations: of a measurement; of an aggregate, the number of repetitions it is over.
        real_time: seconds per iteration; likewise ``cpu_time``. Above 0 in a row that ``is_measured``.
            A share where ``aggregate_unit`` is ``percentage``. 0.0 where the row states no time (an
            error, a skip, a complexity fit).
        counters: rates and user counters; of a complexity fit its coefficients.
        memory: ``allocs_per_iter`` and, where they can be trusted, ``max_bytes_used``,
            ``total_allocated_bytes`` and ``net_heap_growth``.
        error: why the benchmark failed; ``skipped`` why it chose not to run. Never empty.
        big_o: the order of growth that was fitted (``N``, ``lgN``).
    """

    name: str
    run_name: str
    run_type: RunType
    family_index: int | None
    repetitions: int | None
    repetition_index: int | None
    threads: int
    iterations: int
    real_time: float
    cpu_time: float
    counters: Mapping[str, float]
    memory: Mapping[str, float]
    label: str = ""
    error: str | None = None
    skipped: str | None = None
    aggregate_name: str | None = None
    aggregate_unit: str | None = None
    big_o: str | None = None

    @property
    def is_measured(self) -> bool:
        """Whether the row is a measurement that may enter statistics."""
        return self.run_type is RunType.ITERATION and self.error is None and self.skipped is None


class RowReader:
    """Turns the JSON objects of one file into rows; remembers texts, so that equal ones are shared.

    Args:
        limits: how much is read.
        warn: takes a row's number and what is odd about it.
        trusts_bytes: whether the library reports every repetition's byte fields rightly. Before 1.9.2
            it read freed memory for all but the last one (google/benchmark#1939).
    """

    def __init__(self, limits: ReadLimits, warn: Callable[[int, str], None], *, trusts_bytes: bool) -> None:
        self._limits = limits
        self._warn = warn
        self._trusts_bytes = trusts_bytes
        self._texts: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        self._seen: set[tuple[str, int | None]] = set()
        self._not_numbers: set[str] = set()
        self.has_untyped_rows = False
        self.has_dropped_bytes = False

    def read(self, number: int, found: object) -> ResultRow:
        """The row of the JSON value ``found``.

        Raises:
            BadResults: it cannot be used; says why.
        """
        if not isinstance(found, dict):
            raise BadResults("not an object")
        if isinstance(found, Repeated):
            keys = ", ".join(brief(key) for key in found.repeated[:3])
            self._warn(number, f"keys given twice, the first value is used: {keys}")
        name = self._name(number, found)
        run_type = self._run_type(found)
        index = _whole(found, "repetition_index")
        # Before 1.5 the library numbered no repetitions: there, equal names are all it wrote.
        if (index is not None or "run_type" in found) and (name, index) in self._seen:
            where = "" if index is None else f" for repetition {index}"
            raise BadResults(f"{brief(name)} is given twice{where}; the first is used")
        row = self._build(number, found, name, run_type, index)
        self._seen.add((name, index))
        return row

    def _build(
        self, number: int, found: dict[str, object], name: str, run_type: RunType, index: int | None
    ) -> ResultRow:
        repetitions = _whole(found, "repetitions")
        is_usual = _RARE.isdisjoint(found)
        error = None if is_usual else self._reason(number, found, "error_occurred", "error_message")
        skipped = None if is_usual else self._reason(number, found, "skipped", "skip_message")
        aggregate_unit = None if is_usual else self._text(number, found, "aggregate_unit")
        is_fit = "real_time" not in found and ("big_o" in found or "rms" in found)
        if is_fit:
            run_type = RunType.AGGREGATE
        if is_fit or error is not None or skipped is not None:
            iterations, real, cpu = 0, 0.0, 0.0
        else:
            per_second = 1.0 if aggregate_unit == "percentage" else _per_second(found)
            is_measured = run_type is RunType.ITERATION
            real = _time(found, "real_time", per_second, is_measured=is_measured)
            cpu = _time(found, "cpu_time", per_second, is_measured=is_measured)
            iterations = _needed(found, "iterations")
        is_last = repetitions is None or index is None or index == repetitions - 1
        counters, memory = self._counters(number, found, are_bytes_right=is_last or self._trusts_bytes)
        threads = _whole(found, "threads", at_least=1)
        return ResultRow(
            name=name,
            run_name=self._text(number, found, "run_name") or name,
            run_type=run_type,
            family_index=_whole(found, "family_index"),
            repetitions=repetitions,
            repetition_index=index,
            threads=1 if threads is None else threads,
            iterations=iterations,
            real_time=real,
            cpu_time=cpu,
            counters=counters,
            memory=memory,
            label=self._text(number, found, "label") or "",
            error=error,
            skipped=skipped,
            aggregate_name=None if is_usual else self._text(number, found, "aggregate_name"),
            aggregate_unit=aggregate_unit,
            big_o=self._text(number, found, "big_o") if is_fit else None,
        )

    def _name(self, number: int, found: dict[str, object]) -> str:
        raw = found.get("name")
        if not isinstance(raw, str):
            raise BadResults("it has no name" if raw is None else "its name is not a text")
        if len(raw) > self._limits.name_characters:
            raise BadResults(
                f"its name {brief(raw)} has {len(raw)} characters; "
                f"at most {self._limits.name_characters} are allowed"
            )
        name = self._cleaned(number, "name", raw)
        if not name:
            raise BadResults("its name is empty")
        if self._owners.setdefault(name, raw) != raw:
            raise BadResults(f"without control characters its name is {brief(name)}, which another row has")
        return name

    def _run_type(self, found: dict[str, object]) -> RunType:
        stated = found.get("run_type")
        if stated is None:
            self.has_untyped_rows = True
            return RunType.ITERATION
        if not isinstance(stated, str) or stated not in _RUN_TYPES:
            raise BadResults("its run_type is neither iteration nor aggregate")
        return _RUN_TYPES[stated]

    def _reason(self, number: int, found: dict[str, object], flag: str, message: str) -> str | None:
        stated = found.get(flag)
        if stated is None or stated is False or _is_number(stated):
            return None
        if stated is not True:
            raise BadResults(f"its {flag} is neither true nor false")
        return self._text(number, found, message) or "no reason given"

    def _text(self, number: int, found: dict[str, object], key: str) -> str | None:
        raw = found.get(key)
        if not isinstance(raw, str):
            if raw is None or _is_number(raw):
                return None
            raise BadResults(f"its {key} is not a text")
        limit = self._limits.text_characters
        if len(raw) > limit:
            self._warn(number, f"its {key} has {len(raw)} characters; the first {limit} are kept")
            raw = raw[:limit]
        return self._cleaned(number, key, raw)

    def _cleaned(self, number: int, key: str, raw: str) -> str:
        known = self._texts.get(raw)
        if known is not None:
            return known
        text = clean(raw)
        if text != raw:
            self._warn(number, f"its {key} was cleaned of characters that cannot be shown: {brief(text)}")
            self._texts[raw] = text
        return self._texts.setdefault(text, text)

    def _counters(
        self, number: int, found: dict[str, object], *, are_bytes_right: bool
    ) -> tuple[Mapping[str, float], Mapping[str, float]]:
        keys = [key for key in found if key not in _OWN_KEYS]
        if not keys:
            return _NOTHING, _NOTHING
        if len(keys) > self._limits.counters:
            self._warn(number, f"it has {len(keys)} counters; the first {self._limits.counters} are kept")
            del keys[self._limits.counters :]
        counters: dict[str, float] = {}
        memory: dict[str, float] = {}
        for key in keys:
            raw = found[key]
            if isinstance(raw, str) and key in _OWN_TEXTS:
                continue
            if key in BYTE_FIELDS and not are_bytes_right:
                self.has_dropped_bytes = True
                continue
            value = self._number(number, key, raw)
            if value is None:
                continue
            if key in _MEMORY:
                memory[key] = value
            else:
                self._put(number, counters, key, value)
        return (
            MappingProxyType(counters) if counters else _NOTHING,
            MappingProxyType(memory) if memory else _NOTHING,
        )

    def _number(self, number: int, key: str, value: object) -> float | None:
        if type(value) is float or type(value) is int:
            if math.isfinite(value):
                return float(value)
            self._warn(number, f"its counter {brief(key)} is not a finite number and was dropped")
        elif key not in _OWN_TEXTS and key not in self._not_numbers:
            # Named once only: a later version of the library may add a text to every row.
            self._not_numbers.add(key)
            self._warn(number, f"its {brief(key)} is not a number and was dropped, here and in later rows")
        return None

    def _put(self, number: int, counters: dict[str, float], key: str, value: float) -> None:
        if len(key) > self._limits.name_characters:
            self._warn(number, f"a counter's name of {len(key)} characters was dropped: {brief(key)}")
            return
        name = self._cleaned(number, "counter", key)
        if name in counters:
            self._warn(number, f"another counter is called {brief(name)} as well; the first is used")
        else:
            counters[name] = value


def _is_number(value: object) -> TypeGuard[float]:
    return type(value) is float or type(value) is int  # a bool is no number here


def _whole(found: dict[str, object], key: str, at_least: int = 0) -> int | None:
    value = found.get(key)
    if value is None:
        return None
    if type(value) is not int or value < at_least:
        raise BadResults(f"its {key} is not a whole number of at least {at_least}")
    return value


def _needed(found: dict[str, object], key: str) -> int:
    value = _whole(found, key, at_least=1)
    if value is None:
        raise BadResults(f"it has no {key}")
    return value


def _per_second(found: dict[str, object]) -> float:
    unit = found.get("time_unit")
    if not isinstance(unit, str) or unit not in _PER_SECOND:
        raise BadResults("its time_unit is none of ns, us, ms and s")
    return _PER_SECOND[unit]


def _time(found: dict[str, object], key: str, per_second: float, *, is_measured: bool) -> float:
    value = found.get(key)
    if type(value) is not float and type(value) is not int:
        raise BadResults(f"it has no {key}" if value is None else f"its {key} is not a number")
    if not math.isfinite(value):
        raise BadResults(f"its {key} is not a finite number")
    seconds = value / per_second
    if is_measured and seconds <= 0:
        raise BadResults(f"its {key} is not above 0")
    return seconds
