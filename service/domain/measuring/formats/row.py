"""Read and check one row of Google Benchmark's results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from service.domain.measuring.formats.document import Repeated
from service.domain.values.errors import BadResults
from service.domain.values.text import brief, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BYTE_FIELDS: Final = frozenset({"max_bytes_used", "total_allocated_bytes", "net_heap_growth"})
TIMES: Final = ("real_time", "cpu_time")
OWN_KEYS: Final = frozenset(
    {
        *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions"),
        *("repetition_index", "threads", "iterations", "time_unit", *TIMES),
    }
)
# The library writes these as texts and flags into some rows; a number under such a key is a user's counter.
OWN_TEXTS: Final = frozenset(
    {
        *("label", "error_occurred", "error_message", "skipped", "skip_message"),
        *("aggregate_name", "aggregate_unit", "big_o"),
    }
)
PER_SECOND: Final = MappingProxyType({"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0})
WHOLE_BELOW: Final = 10**19  # what a 64-bit number can be
_LARGEST: Final = math.nextafter(math.inf, 0.0)


class RunType(StrEnum):
    """Content of a row: one measurement, or a statistic over several."""

    ITERATION = "iteration"
    AGGREGATE = "aggregate"


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits on reading a file, each with its reason."""

    max_bytes: int = 512 << 20  # a million rows of the usual 400 bytes
    characters_at_once: int = 32 << 20  # decoding takes up to 35 times the memory; longer texts go row by row
    rows: int = 1_000_000  # more than any suite has; the rest is not read
    name_characters: int = 1024  # a longer name is an attack, and would not fit an index
    text_characters: int = 1024  # messages are cut here
    counters: int = 256  # per row; more than all of a processor's events
    warnings: int = 100  # kept; the rest is counted


class ResultRow(NamedTuple):
    """One entry of ``benchmarks``; texts are one line each, without control characters.

    A named tuple, because files hold tens of thousands: freezing a dataclass took a third of the time to read
    one.

    Args:
        name: the full name; ``run_name`` lacks an aggregate's suffix.
        repetition_index: counts from 0; None if the library did not number repetitions.
        values: by metric: both times in seconds per iteration, rates, user counters, ``allocs_per_iter`` and,
            if trusted, the byte fields. Times are above 0 in a row that ``is_measured``, a share in an
            aggregate that is a percentage, and absent after an error or skip and in a complexity fit.
        error: why the benchmark failed; ``skipped``: why it chose not to run. Never empty.
    """

    name: str
    run_name: str
    run_type: RunType
    repetition_index: int | None
    threads: int
    iterations: int
    values: Mapping[str, float]
    error: str | None = None
    skipped: str | None = None
    aggregate_name: str | None = None

    @property
    def is_measured(self) -> bool:
        """Return whether the row is a measurement without error or skip."""
        return self.run_type is RunType.ITERATION and self.error is None and self.skipped is None


class RowReader:
    """Read rows one after the other, and refuse duplicate names.

    Args:
        limits: how much is read.
        warn: takes a row's number and a warning.
        trusts_bytes: the byte fields of every repetition are right. Before 1.9.2 the library read freed
            memory for all but the last one (google/benchmark#1939).
    """

    def __init__(self, limits: ReadLimits, warn: Callable[[int, str], None], *, trusts_bytes: bool) -> None:
        self._limits = limits
        self._warn = warn
        self._trusts_bytes = trusts_bytes
        self._cleaned: set[str] = set()
        self._owners: dict[str, str] = {}
        self._seen: set[tuple[str, int | None]] = set()
        self._not_numbers: set[str] = set()
        self.has_untyped_rows = False

    def read(self, number: int, found: object) -> ResultRow:
        """Read the row of a JSON value.

        Raises:
            BadResults: it is unusable; the message has the reason.
        """
        if not isinstance(found, dict):
            raise BadResults("not an object")
        if isinstance(found, Repeated):
            keys = ", ".join(brief(key) for key in found.repeated[:3])
            self._warn(number, f"keys given twice, the first value is used: {keys}")
        name = self._name(number, found)
        is_fit = "real_time" not in found and ("big_o" in found or "rms" in found)
        run_type = RunType.AGGREGATE if is_fit else self._run_type(found)
        error = self._reason(number, found, "error_occurred", "error_message")
        skipped = self._reason(number, found, "skipped", "skip_message")
        index = _whole(found, "repetition_index")
        has_times = not is_fit and error is None and skipped is None
        values = self._times(number, found, run_type) if has_times else {}
        self._add_counters(number, found, index, values)
        row = ResultRow(
            name=name,
            run_name=self._text(number, found, "run_name") or name,
            run_type=run_type,
            repetition_index=index,
            threads=_whole(found, "threads", at_least=1) or 1,
            iterations=_needed(found, "iterations") if has_times else 0,
            values=values,
            error=error,
            skipped=skipped,
            aggregate_name=self._text(number, found, "aggregate_name"),
        )
        return self.claim(row, found["name"])

    def claim(self, row: ResultRow, raw_name: str) -> ResultRow:
        """Reserve the row's name and repetition, and return the row.

        Raises:
            BadResults: an earlier row has them.
        """
        if self._owners.setdefault(row.name, raw_name) != raw_name:
            raise BadResults(
                f"without control characters its name is {brief(row.name)}, which another row has"
            )
        key = (row.name, row.repetition_index)
        # Before 1.5 the library did not number repetitions, so they have equal names.
        if key in self._seen and not (row.repetition_index is None and self.has_untyped_rows):
            where = "" if row.repetition_index is None else f" for repetition {row.repetition_index}"
            raise BadResults(f"{brief(row.name)} is given twice{where}; the first is used")
        self._seen.add(key)
        return row

    def _name(self, number: int, found: dict[str, object]) -> str:
        raw = found.get("name")
        if not isinstance(raw, str):
            raise BadResults("it has no name" if raw is None else "its name is not a text")
        if len(raw) > self._limits.name_characters:
            raise BadResults(
                f"its name {brief(raw)} has {len(raw)} characters; "
                f"at most {self._limits.name_characters} are allowed"
            )
        name = self._clean(number, "name", raw)
        if not name:
            raise BadResults("its name is empty")
        return name

    def _run_type(self, found: dict[str, object]) -> RunType:
        stated = found.get("run_type")
        if stated is None:
            self.has_untyped_rows = True
            return RunType.ITERATION
        try:
            return RunType(str(stated))
        except ValueError:
            raise BadResults("its run_type is neither iteration nor aggregate") from None

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
        return self._clean(number, key, raw)

    def _clean(self, number: int, key: str, raw: str) -> str:
        text = clean(raw)
        if text != raw and raw not in self._cleaned:
            self._cleaned.add(raw)
            self._warn(number, f"its {key} was cleaned of characters that cannot be shown: {brief(text)}")
        return text

    def _times(self, number: int, found: dict[str, object], run_type: RunType) -> dict[str, float]:
        unit = found.get("time_unit")
        if self._text(number, found, "aggregate_unit") == "percentage":
            per_second = 1.0
        elif isinstance(unit, str) and unit in PER_SECOND:
            per_second = PER_SECOND[unit]
        else:
            raise BadResults("its time_unit is none of ns, us, ms and s")
        times = {key: _time(found, key) / per_second for key in TIMES}
        for key, seconds in times.items():
            if run_type is RunType.ITERATION and seconds <= 0:
                raise BadResults(f"its {key} is not above 0")
        return times

    def _add_counters(
        self, number: int, found: dict[str, object], index: int | None, values: dict[str, float]
    ) -> None:
        repetitions = _whole(found, "repetitions")
        is_last = repetitions is None or index is None or index == repetitions - 1
        keys = [key for key in found if key not in OWN_KEYS]
        if len(keys) > self._limits.counters:
            self._warn(number, f"it has {len(keys)} counters; the first {self._limits.counters} are kept")
            del keys[self._limits.counters :]
        for key in keys:
            if key in BYTE_FIELDS and not (is_last or self._trusts_bytes):
                continue
            value = found[key]
            if not _is_number(value):
                if key not in OWN_TEXTS and key not in self._not_numbers:
                    # Once only: a later version of the library may add a text to every row.
                    self._not_numbers.add(key)
                    text = f"its {brief(key)} is not a number and was dropped, here and in later rows"
                    self._warn(number, text)
            elif not is_finite(value):
                self._warn(number, f"its counter {brief(key)} is not a finite number and was dropped")
            elif len(key) > self._limits.name_characters:
                self._warn(number, f"a counter's name of {len(key)} characters was dropped: {brief(key)}")
            elif (name := self._clean(number, "counter", key)) in values:
                self._warn(number, f"another counter is called {brief(name)} as well; the first is used")
            else:
                values[name] = float(value)


def is_finite(value: float) -> bool:
    """Return whether a number, including an integer of any size, fits into a finite float."""
    return -_LARGEST <= value <= _LARGEST


def _is_number(value: object) -> TypeGuard[float]:
    return type(value) is float or type(value) is int  # not bool


def _whole(found: dict[str, object], key: str, at_least: int = 0) -> int | None:
    value = found.get(key)
    if value is None:
        return None
    if type(value) is not int or not at_least <= value < WHOLE_BELOW:
        raise BadResults(f"its {key} is not a whole number of at least {at_least}")
    return value


def _needed(found: dict[str, object], key: str) -> int:
    value = _whole(found, key, at_least=1)
    if value is None:
        raise BadResults(f"it has no {key}")
    return value


def _time(found: dict[str, object], key: str) -> float:
    value = found.get(key)
    if not _is_number(value):
        raise BadResults(f"it has no {key}" if value is None else f"its {key} is not a number")
    if not is_finite(value):
        raise BadResults(f"its {key} is not a finite number")
    return value
