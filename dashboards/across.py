"""How the patch sets of a change stand side by side, each compared with its own parent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dashboards.comparing import interval_of, sign_of, urgency
from dashboards.formatting import counted, quantity
from service.domain.inference.metric import metric_named
from service.domain.text import change, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.search import Words
    from service.ports.views import ComparisonView, MeasuredPatchSet, MeasuredPatchSets

MOST_COLUMNS: Final = 6  # more are not read side by side
MOST_ROWS: Final = 200
_FEWEST_COLUMNS: Final = 2
_SHORT: Final = 10  # digits that tell a revision from its neighbours
_Key = tuple[str, str, str, str]  # job, suite, benchmark, metric


@dataclass(frozen=True, slots=True)
class Column:
    """A patch set; ``parent`` is the short name of what it was compared with, empty where unknown."""

    number: int
    revision: str
    parent: str


@dataclass(frozen=True, slots=True)
class Cell:
    """What a patch set did to one metric. ``details`` says how that was found."""

    verdict: str
    sign: str
    change: str
    interval: str
    details: str


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric of one benchmark; ``parent`` is what the newest patch set with a value was compared with."""

    series_id: int
    name: str
    facts: str
    parent: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Across:
    """Patch sets side by side, the newest rightmost; ``older`` of them and ``hidden`` rows are left out."""

    columns: tuple[Column, ...]
    rows: tuple[MetricRow, ...]
    older: int
    hidden: int
    has_one_parent: bool


def lay_across(found: MeasuredPatchSets, words: Words) -> Across | None:
    """The table of a change; None where fewer than two patch sets have comparisons.

    Rows are ordered worst first by the newest patch set; what it did not measure comes last.

    Args:
        found: the patch sets, newest first.
        words: what names must and must not hold.
    """
    if len(found.patch_sets) < _FEWEST_COLUMNS:
        return None
    oldest_first = found.patch_sets[::-1]
    measured = [dict(_rows_of(each)) for each in oldest_first]
    # The newest patch set names its rows first: they keep the project file's order.
    every = dict.fromkeys(key for rows in reversed(measured) for key in rows)
    keys = [key for key in every if words.matches(" ".join((key[2], key[3], key[1])))]
    ordered = sorted(keys, key=lambda key: _place(measured[-1].get(key)))
    return Across(
        columns=tuple(_column(each) for each in oldest_first),
        rows=tuple(_row(key, [rows.get(key) for rows in measured]) for key in ordered[:MOST_ROWS]),
        older=found.older,
        hidden=len(ordered[MOST_ROWS:]),
        has_one_parent=len({each.parent_tree or each.parent for each in oldest_first}) == 1,
    )


def _rows_of(patch_set: MeasuredPatchSet) -> Iterator[tuple[_Key, ComparisonView]]:
    for build in patch_set.builds:
        for row in build.comparisons:
            yield (build.job, row.suite, row.benchmark, row.metric), row


def _place(newest: ComparisonView | None) -> tuple[bool, tuple[int, float]]:
    return (True, (0, 0.0)) if newest is None else (False, urgency(newest))


def _column(patch_set: MeasuredPatchSet) -> Column:
    return Column(patch_set.number, patch_set.revision[:_SHORT], (patch_set.parent or "")[:_SHORT])


def _row(key: _Key, comparisons: Sequence[ComparisonView | None]) -> MetricRow:
    job, suite, benchmark, metric = key
    newest_first = [row for row in reversed(comparisons) if row is not None]
    with_base = next((row for row in newest_first if row.base is not None), newest_first[0])
    label = metric_named(metric).label
    facts = (label, f"{with_base.better} is better", suite, job)
    return MetricRow(
        series_id=newest_first[0].series_id,
        name=plain(benchmark, 500),
        facts=" · ".join(plain(fact, 100) for fact in facts),
        parent=quantity(with_base.base, with_base.unit),
        cells=tuple(None if row is None else _cell(row) for row in comparisons),
    )


def _cell(row: ComparisonView) -> Cell:
    values = f"{quantity(row.base, row.unit)} → {quantity(row.patch, row.unit)}, {counted(row.pairs, 'pair')}"
    said = (values if row.ratio is not None else "", plain(row.reason, 300))
    return Cell(
        verdict=row.verdict,
        sign=sign_of(row.verdict),
        change="" if row.ratio is None else change(row.ratio),
        interval=interval_of(row),
        details="; ".join(part for part in said if part),
    )
