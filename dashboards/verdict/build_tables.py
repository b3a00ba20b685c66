"""Read the comparisons of builds, and lay out a table for each."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from dashboards.verdict import comparison_table
from dashboards.verdict.sparkline import COMMITS, ROWS, sparkline
from service.domain.values.search import parse_words
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboards.addresses import RowChoice
    from dashboards.verdict.comparison_table import ComparisonTable
    from dashboards.verdict.sparkline import Sparkline
    from service.ports.reading import Reading, SeriesReading
    from service.ports.runs.shown import Build, BuildOfRun

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ShownBuild:
    """A build with its table, None if it compared nothing. ``waived_by`` is as in ``BuildOfRun``.

    ``lines`` has what the benchmarks did before, by series, for the first rows that are not the same.
    """

    build: Build
    waived_by: str
    table: ComparisonTable | None
    lines: Mapping[int, Sparkline]


def waived(builds: Sequence[BuildOfRun]) -> Sequence[tuple[Build, str]]:
    """Return the builds of a run, each with the waiver that it has there."""
    return [(build, build.waived_by) for build in builds]


def tables_of(
    reading: Reading,
    builds: Sequence[tuple[Build, str]],
    chosen: RowChoice,
    parent: str | None,
    kept: Mapping[str, object] = _NOTHING,
) -> dict[str, Any]:
    """Return the values that templates show tables from.

    Args:
        reading: as the caller of the request sees it.
        builds: each with its waiver.
        chosen: the rows to show.
        parent: the commit that the builds compared with.
        kept: the parameters of the page's address that the links of the tables keep.
    """
    words, row_filter = parse_words(chosen.q), comparison_table.filter_named(chosen.show)
    compared, tables = [], []
    for build, waived_by in builds:
        rows = reading.comparisons(build.id, build.created_at) if build.compares else []
        table = comparison_table.lay_out(rows, row_filter, words, build.floor, chosen.sort) if rows else None
        compared.append((build, waived_by, rows))
        tables.append(table)
    shown = [(*of, table) for of, table in zip(builds, tables, strict=True)]
    lines = _lines(reading, [(build, table) for build, _, table in shown if table], parent)
    return {
        "builds": [ShownBuild(*each, lines.get(each[0].id, {})) for each in shown],
        "compared": compared,
        "worst": comparison_table.worst_of(compared),
        "at": {
            "q": chosen.q,
            "show": row_filter,
            "sort": next((table.sort for table in tables if table), ""),
            "kept": kept,
        },
    }


def _lines(
    reading: SeriesReading, tables: Sequence[tuple[Build, ComparisonTable]], parent: str | None
) -> Mapping[int, Mapping[int, Sparkline]]:
    """Draw what the benchmarks of rows that are not the same did before, by build and series."""
    drawn = {
        row.series_id: (build, row)
        for build, table in tables
        for row in table.rows[:ROWS]
        if row.ratio and row.verdict is not Verdict.SAME
    }
    found = reading.merged_steps({each: of[0].created_at for each, of in drawn.items()}, COMMITS)
    lines: dict[int, dict[int, Sparkline]] = {}
    for series, steps in found.items():
        build, row = drawn[series]
        if line := sparkline(steps, row, parent, build.floor):
            lines.setdefault(build.id, {})[series] = line
    return lines
