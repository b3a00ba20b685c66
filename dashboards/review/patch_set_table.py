"""Lay out a change's patch sets side by side, each compared with its own parent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dashboards.verdict.comparison_table import urgency

if TYPE_CHECKING:
    from service.domain.values.search import Words
    from service.ports.verdict import Comparison, MeasuredPatchSet, MeasuredPatchSets

MOST_COLUMNS: Final = 6  # more are not read side by side
MOST_ROWS: Final = 200
_FEWEST_COLUMNS: Final = 2
_Key = tuple[str, str, str, str]  # job, suite, benchmark, metric


@dataclass(frozen=True, slots=True)
class PatchSetRow:
    """One metric of one benchmark of a job: its comparison in each patch set (None: not measured)."""

    job: str
    cells: tuple[Comparison | None, ...]

    @property
    def newest(self) -> Comparison:
        """The newest comparison."""
        return next(cell for cell in self.cells if cell is not None)

    @property
    def newest_with_base(self) -> Comparison:
        """The newest comparison that has a base value; the newest if none has one."""
        measured = (cell for cell in self.cells if cell is not None and cell.base is not None)
        return next(measured, self.newest)


@dataclass(frozen=True, slots=True)
class PatchSetTable:
    """Patch sets side by side, the newest first.

    ``older`` patch sets and ``hidden`` rows are left out. ``has_one_parent``: all were compared with the
    same base programs.
    """

    columns: tuple[MeasuredPatchSet, ...]
    rows: tuple[PatchSetRow, ...]
    older: int
    hidden: int
    has_one_parent: bool


def lay_out(measured: MeasuredPatchSets, words: Words) -> PatchSetTable | None:
    """Lay out the table of a change; return None if fewer than two patch sets have comparisons.

    Rows are ordered worst first by the newest patch set; rows that it did not measure come last.
    """
    if len(measured.patch_sets) < _FEWEST_COLUMNS:
        return None
    columns = measured.patch_sets
    comparisons: list[dict[_Key, Comparison]] = [
        {
            (build.job, row.suite, row.benchmark, row.metric): row
            for build in patch_set.builds
            for row in build.comparisons
        }
        for patch_set in columns
    ]
    newest = comparisons[0]
    # The newest patch set's rows come first: they keep the project file's order.
    names = dict.fromkeys(key for rows in comparisons for key in rows)
    matching = [key for key in names if words.matches(" ".join((key[2], key[3], key[1])))]
    worst_first = sorted((key for key in matching if key in newest), key=lambda key: urgency(newest[key]))
    ordered = worst_first + [key for key in matching if key not in newest]
    return PatchSetTable(
        columns=columns,
        rows=tuple(
            PatchSetRow(key[0], tuple(rows.get(key) for rows in comparisons)) for key in ordered[:MOST_ROWS]
        ),
        older=measured.older,
        hidden=len(ordered[MOST_ROWS:]),
        has_one_parent=all(columns[0].has_base_of(each) for each in columns),
    )
