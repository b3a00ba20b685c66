"""Read rows with the same keys column by column, which is fast; most files have only such rows."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter, truediv
from typing import TYPE_CHECKING, Any, Final

from service.domain.measuring.formats.row import (
    BYTE_FIELDS,
    OWN_KEYS,
    OWN_TEXTS,
    PER_SECOND,
    TIMES,
    WHOLE_BELOW,
    ReadLimits,
    ResultRow,
    RunType,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

_NEEDED: Final = frozenset({"name", "run_name", "run_type", "iterations", "time_unit", *TIMES})
_UNREAD: Final = frozenset({"family_index", "per_family_instance_index"})
_LABEL: Final = "label"


@dataclass(frozen=True, slots=True)
class Columns:
    """Measured rows as one column per field of ``ResultRow``.

    ``indexes`` is empty if the repetitions are not numbered.
    """

    names: Sequence[str]
    run_names: Sequence[str]
    indexes: Sequence[int]
    threads: Sequence[int]
    iterations: Sequence[int]
    values: Mapping[str, Sequence[float]]

    def rows(self) -> Iterator[ResultRow]:
        """Yield the rows."""
        samples: list[dict[str, float]] = [{} for _ in self.names]
        for metric, column in self.values.items():
            for sample, value in zip(samples, column, strict=True):
                sample[metric] = value
        return map(
            ResultRow._make,
            zip(
                self.names,
                self.run_names,
                repeat(RunType.ITERATION),
                self.indexes or repeat(None),
                self.threads,
                self.iterations,
                samples,
                repeat(None),
                repeat(None),
                repeat(None),
            ),
        )

    def without(self, names: Container[str]) -> Columns:
        """Leave out the rows with these names."""
        kept = [k for k, name in enumerate(self.names) if name not in names]
        return Columns(
            names=[self.names[k] for k in kept],
            run_names=[self.run_names[k] for k in kept],
            indexes=[self.indexes[k] for k in kept if self.indexes],
            threads=[self.threads[k] for k in kept],
            iterations=[self.iterations[k] for k in kept],
            values={metric: [column[k] for k in kept] for metric, column in self.values.items()},
        )


class _Unusual(Exception):
    """A column holds something that must be judged row by row."""


def read_columns(
    values: Sequence[object], limits: ReadLimits, *, trusts_bytes: bool
) -> list[tuple[Sequence[int], Columns]]:
    """Read the rows that need no warning, in groups of equal keys: their numbers and their columns.

    ``RowReader`` reads the same rows. ``trusts_bytes``: the byte fields of every repetition are right.
    """
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, value in enumerate(values):
        if type(value) is dict:  # and not an object with repeated keys
            groups[tuple(value)].append(number)
    found: list[tuple[Sequence[int], Columns]] = []
    for keys, numbers in groups.items():
        counters = [key for key in keys if key not in OWN_KEYS and key != _LABEL]
        if _are_usual(keys, counters, limits) and (trusts_bytes or BYTE_FIELDS.isdisjoint(counters)):
            try:
                columns = _read(keys, counters, [values[number] for number in numbers], limits)
            except (_Unusual, KeyError, TypeError, OverflowError):
                continue
            found.append((numbers, columns))
    return found


def _are_usual(keys: Sequence[str], counters: Sequence[str], limits: ReadLimits) -> bool:
    return (
        _NEEDED.issubset(keys)
        and OWN_TEXTS.isdisjoint(counters)
        and len(counters) < limits.counters
        and all(key.isprintable() and len(key) <= limits.name_characters for key in counters)
    )


def _read(keys: Sequence[str], counters: Sequence[str], values: Sequence[Any], limits: ReadLimits) -> Columns:
    read = [key for key in keys if key not in _UNREAD]
    columns = dict(zip(read, zip(*map(itemgetter(*read), values), strict=True), strict=True))
    if set(columns["run_type"]) != {RunType.ITERATION} or set(map(type, columns.get(_LABEL, ("",)))) != {str}:
        raise _Unusual
    per_second = [PER_SECOND[unit] for unit in columns["time_unit"]]
    times = [list(map(truediv, _numbers(columns[key]), per_second)) for key in TIMES]
    if min(map(min, times)) <= 0:
        raise _Unusual
    _whole(columns.get("repetitions", (1,)))
    names, run_names = columns["name"], columns["run_name"]
    return Columns(
        names=_texts(names, limits.name_characters),
        run_names=names if run_names == names else _texts(run_names, limits.text_characters),
        indexes=_whole(columns["repetition_index"]) if "repetition_index" in columns else (),
        threads=_whole(columns["threads"], at_least=1) if "threads" in columns else (1,) * len(values),
        iterations=_whole(columns["iterations"], at_least=1),
        values=dict(zip(TIMES, times, strict=True))
        | {key: list(map(float, _numbers(columns[key]))) for key in counters},
    )


def _texts(column: Sequence[str], limit: int) -> Sequence[str]:
    is_usual = set(map(type, column)) == {str} and all(column) and "".join(column).isprintable()
    if not is_usual or max(map(len, column)) > limit:
        raise _Unusual
    return column


def _whole(column: Sequence[int], at_least: int = 0) -> Sequence[int]:
    if set(map(type, column)) != {int} or min(column) < at_least or max(column) >= WHOLE_BELOW:
        raise _Unusual
    return column


def _numbers(column: Sequence[float]) -> Sequence[float]:
    if not {int, float}.issuperset(map(type, column)) or not all(map(math.isfinite, column)):
        raise _Unusual
    return column
