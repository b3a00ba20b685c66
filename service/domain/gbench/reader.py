"""Google Benchmark's JSON results, versions 1.3 to 1.9, read so that one bad row loses only itself."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.errors import BadResults
from service.domain.gbench.damaged_json import Elements, find_members, parse, trailing_fault, value_end
from service.domain.gbench.row import ReadLimits, ResultRow, RowReader, RunType
from service.domain.gbench.text import brief, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "GBenchRun",
    "ReadLimits",
    "ReadWarning",
    "ResultRow",
    "RunType",
    "is_written_since",
    "read_run",
    "repetition_values",
    "value_in",
]

_UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_BYTES_RIGHT_SINCE: Final = (1, 9, 2)
_VALUE_OF: Final[Mapping[str, Callable[[ResultRow], float | None]]] = MappingProxyType(
    {"real_time": attrgetter("real_time"), "cpu_time": attrgetter("cpu_time")}
)
_OLD_AGGREGATES: Final = ("mean", "median", "stddev")  # what versions without run_type wrote, always all


@dataclass(frozen=True, slots=True)
class ReadWarning:
    """Something of a file that was not used or not usable; ``row`` counts in ``benchmarks`` from 0."""

    source: str
    row: int | None
    sentence: str

    def __str__(self) -> str:
        row = "" if self.row is None else f"row {self.row}: "
        return f"{self.source}: {row}{self.sentence}"


@dataclass(frozen=True, slots=True)
class GBenchRun:
    """What one file of results holds.

    Args:
        context: JSON scalars, tuples of them, and tuples of objects of them (``caches``), all bounded.
        rows: in the order of the file.
        warnings: what was lost, the file's first, then the rows'; ``warnings_left_out`` counts the rest.
        notes: what holds for the whole file but spoils no row.
        lost: by name the measurements that were left out, each with what is wrong with it.
        is_truncated: the end of the file is missing; ``rows`` holds what was complete.
    """

    context: Mapping[str, object]
    rows: tuple[ResultRow, ...]
    warnings: tuple[ReadWarning, ...] = ()
    is_truncated: bool = False
    warnings_left_out: int = 0
    notes: tuple[str, ...] = ()
    lost: Mapping[str, str] = field(default_factory=dict)


def read_run(data: bytes, *, source: str, limits: ReadLimits | None = None) -> GBenchRun:
    """Read the JSON that ``--benchmark_out`` wrote, in time linear to its size.

    Args:
        data: the file's bytes; UTF-8.
        source: how errors and warnings name the file.
        limits: how much is read; the defaults where None.

    Raises:
        BadResults: nothing of the file can be used (empty, too large, not JSON, no ``benchmarks``).
    """
    return _Reading(source, limits or ReadLimits()).run(data)


def repetition_values(run: GBenchRun, metric: str) -> Mapping[str, tuple[float, ...]]:
    """The values of one metric by benchmark, in the order measured; benchmarks without any are absent.

    Args:
        run: what was read.
        metric: ``real_time`` or ``cpu_time`` (seconds), a counter (``items_per_second``) or a memory
            field (``max_bytes_used``). Only rows that are measured count: no aggregate, error or skip.
    """
    values: defaultdict[str, list[float]] = defaultdict(list)
    value_of = value_in(metric)
    for row in run.rows:
        value = value_of(row) if row.is_measured else None
        if value is not None:
            values[row.name].append(value)
    return {name: tuple(found) for name, found in values.items()}


def value_in(metric: str) -> Callable[[ResultRow], float | None]:
    """What reads a metric, called as in :func:`repetition_values`, from a row; None where it has none."""
    return _VALUE_OF.get(metric) or partial(_count, metric)


def is_written_since(context: Mapping[str, object], version: tuple[int, int, int]) -> bool:
    """Whether the library that wrote a file is known to be that version or a later one.

    Versions before 1.8.4 do not say which they are.
    """
    found = re.match(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})", str(context.get("library_version", "")))
    return found is not None and tuple(int(part) for part in found.groups()) >= version


def _count(metric: str, row: ResultRow) -> float | None:
    return row.memory.get(metric, row.counters.get(metric))


class _Reading:
    """One file being read, with the warnings it has caused so far."""

    def __init__(self, source: str, limits: ReadLimits) -> None:
        self._source = source
        self._limits = limits
        self._of_file: list[ReadWarning] = []
        self._of_rows: list[ReadWarning] = []
        self._left_out = 0
        self._lost: dict[str, str] = {}

    def run(self, data: bytes) -> GBenchRun:
        context_at, rows_at = find_members(data, self._start(data))
        if rows_at is None:
            raise BadResults("it has no benchmarks; is it what --benchmark_out wrote, in JSON?", self._source)
        if data[rows_at : rows_at + 1] != b"[":
            raise BadResults("its benchmarks are not a list", self._source)
        context = self._context(data, context_at)
        elements = Elements(data, rows_at + 1)
        reader = RowReader(
            self._limits, self._warn_row, trusts_bytes=is_written_since(context, _BYTES_RIGHT_SINCE)
        )
        rows = self._rows(elements, reader)
        is_truncated = self._check_end(data, elements, len(rows))
        return GBenchRun(
            context=context,
            rows=_with_old_aggregates(rows) if reader.has_untyped_rows else tuple(rows),
            warnings=(*self._of_file, *self._of_rows),
            is_truncated=is_truncated,
            warnings_left_out=self._left_out,
            notes=tuple(_notes(context, has_dropped_bytes=reader.has_dropped_bytes)),
            lost=MappingProxyType(self._lost),
        )

    def _start(self, data: bytes) -> int:
        """The byte behind the ``{`` of the whole."""
        if len(data) > self._limits.max_bytes:
            what = f"it has {len(data)} bytes; at most {self._limits.max_bytes} are read"
            raise BadResults(what, self._source)
        if data.startswith(_UTF16_MARKS) or b"\0" in data[:2]:
            raise BadResults("it is UTF-16; Google Benchmark writes UTF-8", self._source)
        start = len(_UTF8_MARK) if data.startswith(_UTF8_MARK) else 0
        while data[start : start + 1] in {b" ", b"\t", b"\r", b"\n"}:
            start += 1
        if start == len(data):
            raise BadResults("it is empty", self._source)
        if data[start : start + 1] != b"{":
            raise BadResults("it is not a JSON object", self._source)
        return start + 1

    def _rows(self, elements: Elements, reader: RowReader) -> list[ResultRow]:
        rows: list[ResultRow] = []
        for number, value in enumerate(elements):
            if number == self._limits.rows:
                self._warn_file(
                    f"it has more than {number} rows; the rest is not read (from byte {elements.at})"
                )
                break
            try:
                if isinstance(value, BadResults):
                    raise value
                rows.append(reader.read(number, value))
            except BadResults as error:
                self._warn_row(number, f"left out: {error.what}")
                self._lose(value, error.what)
        return rows

    def _lose(self, value: object, what: str) -> None:
        """Keep the name, where there is one: a measurement that cannot be used is not one that is gone."""
        if not isinstance(value, dict) or value.get("run_type") != RunType.ITERATION:
            return
        name = value.get("name")
        if isinstance(name, str) and 0 < len(name) <= self._limits.name_characters:
            self._lost.setdefault(clean(name), what)

    def _check_end(self, data: bytes, elements: Elements, count: int) -> bool:
        if elements.cut_at is not None:
            self._warn_file(
                f"it ends after {len(data)} bytes, inside its benchmarks; "
                f"the {count} usable rows before byte {elements.cut_at} are read"
            )
            return True
        if elements.end is None:  # the limit on rows came first
            return False
        fault, is_cut = trailing_fault(data, elements.end)
        if fault:
            self._warn_file(fault)
        return is_cut

    def _context(self, data: bytes, at: int | None) -> dict[str, object]:
        end = -1 if at is None else value_end(data, at, len(data))
        if at is None or end < 0:
            self._warn_file("it has no context that can be read")
            return {}
        try:
            found = parse(data[at:end])
        except BadResults as error:
            self._warn_file(f"its context is left out: {error.what}")
            return {}
        if not isinstance(found, dict):
            self._warn_file("its context is left out: not an object")
            return {}
        kept, dropped = _bounded(found, self._limits)
        if dropped:
            names = ", ".join(brief(key) for key in dropped[:3])
            self._warn_file(f"{len(dropped)} entries of its context are left out or shortened: {names}")
        return kept

    def _warn_file(self, sentence: str) -> None:
        self._of_file.append(ReadWarning(self._source, None, sentence))

    def _warn_row(self, number: int, sentence: str) -> None:
        if len(self._of_rows) < self._limits.warnings:
            self._of_rows.append(ReadWarning(self._source, number, sentence))
        else:
            self._left_out += 1


def _bounded(found: dict[str, object], limits: ReadLimits) -> tuple[dict[str, object], list[str]]:
    """The entries that may be stored, and the keys of those that were dropped or changed."""
    kept: dict[str, object] = {}
    dropped: list[str] = []
    for key, value in found.items():
        name = clean(key)
        small = _small(value, limits, depth=2)
        is_kept = small is not None and name not in kept and len(name) <= limits.name_characters
        if is_kept and len(kept) < limits.context_entries:
            kept[name] = small
        if name not in kept or name != key or not _is_same(small, value):
            dropped.append(key)
    return kept, dropped


def _small(value: object, limits: ReadLimits, depth: int) -> object:
    """The value as it may be stored; None where it may not."""
    if isinstance(value, str):
        return clean(value[: limits.text_characters])
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list) and depth > 1:
        each = (_small(item, limits, depth - 1) for item in value[: limits.context_entries])
        return tuple(item for item in each if item is not None) or (None if value else ())
    if isinstance(value, dict) and depth == 1:
        return _bounded_scalars(value, limits)
    return None


def _bounded_scalars(value: dict[str, object], limits: ReadLimits) -> dict[str, object] | None:
    if len(value) > limits.context_entries or any(len(key) > limits.name_characters for key in value):
        return None
    each = ((clean(key), _small(item, limits, depth=0)) for key, item in value.items())
    return {key: item for key, item in each if item is not None}


def _is_same(small: object, value: object) -> bool:
    return list(small) == value if isinstance(small, tuple) else small == value


def _notes(context: Mapping[str, object], *, has_dropped_bytes: bool) -> Iterable[str]:
    if context.get("library_build_type") == "debug":
        yield "the benchmark library says it was built as debug (Debian's package always does)"
    if has_dropped_bytes:
        yield (
            "byte counts of all but the last repetition are left out: before version 1.9.2 the benchmark "
            "library reports them wrongly"
        )


def _with_old_aggregates(rows: list[ResultRow]) -> tuple[ResultRow, ...]:
    """The rows, told apart as versions before 1.5 did it: by the ends of their names."""
    names = {row.name for row in rows}
    told: list[ResultRow] = []
    for row in rows:
        stem, _, suffix = row.name.rpartition("_")
        is_fit = row.run_type is RunType.AGGREGATE and row.aggregate_name is None
        is_statistic = row.repetition_index is None and row.is_measured and suffix in _OLD_AGGREGATES
        if is_fit or (is_statistic and all(f"{stem}_{each}" in names for each in _OLD_AGGREGATES)):
            told.append(
                row._replace(run_name=stem or row.name, run_type=RunType.AGGREGATE, aggregate_name=suffix)
            )
        else:
            told.append(row)
    return tuple(told)
