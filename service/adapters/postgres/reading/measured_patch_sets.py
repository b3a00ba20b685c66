"""How the comparisons of a change's patch sets are read side by side."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from service.domain.errors import NotFound
from service.ports.views import ComparisonView, MeasuredBuild, MeasuredPatchSet, MeasuredPatchSets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

# A change without comparisons is one row of nulls, and a change that does not exist is none.
# Each build is looked up with its own moment, so that only the partition that holds it is opened.
_MEASURED: Final = text("""
WITH chosen AS (
    SELECT id FROM change WHERE number = :number ORDER BY updated_at DESC, id DESC LIMIT 1
), measured AS MATERIALIZED (
    SELECT p.number, p.revision, r.id AS run_id, r.parent, r.parent_tree, count(*) OVER () AS total
    FROM chosen
    JOIN patch_set AS p ON p.change_id = chosen.id AND p.number < :before
    JOIN LATERAL (
        SELECT run.id, run.parent, run.parent_tree FROM run
        WHERE run.patch_set_id = p.id AND run.kind = 'check' AND EXISTS (
            SELECT FROM run_build AS rb
            JOIN build AS b ON b.id = rb.build_id
            JOIN LATERAL (
                SELECT FROM comparison AS k WHERE k.build_id = b.id AND k.measured_at = b.created_at LIMIT 1
            ) AS k ON true
            WHERE rb.run_id = run.id AND b.kind = 'benchmark')
        ORDER BY run.id DESC LIMIT 1
    ) AS r ON true
    ORDER BY p.number DESC LIMIT :limit
)
SELECT m.number, m.revision, m.run_id, m.parent, m.parent_tree, m.total, b.job, b.number,
       k.series_id, s.suite, s.benchmark, s.metric, s.unit, s.better, k.verdict, k.pairs,
       k.ratio, k.low, k.high, k.base, k.patch, k.reason
FROM chosen
LEFT JOIN (
    measured AS m
    JOIN run_build AS rb ON rb.run_id = m.run_id
    JOIN build AS b ON b.id = rb.build_id AND b.kind = 'benchmark'
    JOIN LATERAL (
        -- The offset keeps the planner from turning the look-up into a scan of all partitions.
        SELECT * FROM comparison WHERE build_id = b.id AND measured_at = b.created_at OFFSET 0
    ) AS k ON true
    JOIN series AS s ON s.id = k.series_id
) ON true
ORDER BY m.number DESC, rb.position, b.id, k.position, k.series_id
""")
_PATCH_SET: Final = slice(0, 5)
_TOTAL: Final = 5
_BUILD: Final = slice(6, 8)
_COMPARISON: Final = slice(8, None)


def measured_patch_sets(connection: Connection, change: int, limit: int, before: int) -> MeasuredPatchSets:
    """The newest patch sets below ``before`` that have comparisons, newest first."""
    keys = {"number": change, "limit": limit, "before": before}
    rows = connection.execute(_MEASURED, keys).all()
    if not rows:
        raise NotFound(f"there is no change {change}")
    found = [row for row in rows if row[_TOTAL] is not None]
    patch_sets = tuple(
        MeasuredPatchSet(number, revision, run_id, parent, parent_tree, _builds(tuple(group)))
        for (number, revision, run_id, parent, parent_tree), group in groupby(
            found, key=lambda row: _part(row, _PATCH_SET)
        )
    )
    return MeasuredPatchSets(patch_sets, older=found[0][_TOTAL] - len(patch_sets) if found else 0)


def _builds(rows: Sequence[Row[Any]]) -> tuple[MeasuredBuild, ...]:
    return tuple(
        MeasuredBuild(job, number, tuple(ComparisonView(*row[_COMPARISON]) for row in group))
        for (job, number), group in groupby(rows, key=lambda row: _part(row, _BUILD))
    )


def _part(row: Row[Any], columns: slice) -> tuple[Any, ...]:
    return tuple(row[columns])
