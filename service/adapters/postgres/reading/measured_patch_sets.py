"""The comparisons of a change's patch sets, for showing them side by side."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.reading.comparisons import COMPARISON, comparison_of
from service.adapters.postgres.rows import from_row
from service.domain.errors import NotFound
from service.ports.views import MeasuredBuild, MeasuredPatchSet, MeasuredPatchSets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, RowMapping

# A change without comparisons is one row of nulls, and a change that does not exist is none.
# Each build is looked up with its own moment, so that only the partition that holds it is opened.
_MEASURED: Final = text(f"""
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
            WHERE rb.run_id = run.id)
        ORDER BY run.id DESC LIMIT 1
    ) AS r ON true
    ORDER BY p.number DESC LIMIT :limit
)
SELECT m.number, m.revision, m.run_id, m.parent, m.parent_tree, m.total, b.job, b.number AS build_number,
       {COMPARISON}
FROM chosen
LEFT JOIN (
    measured AS m
    JOIN run_build AS rb ON rb.run_id = m.run_id
    JOIN build AS b ON b.id = rb.build_id
    JOIN LATERAL (
        -- The offset keeps the planner from turning the look-up into a scan of all partitions.
        SELECT * FROM comparison WHERE build_id = b.id AND measured_at = b.created_at OFFSET 0
    ) AS k ON true
    JOIN series AS s ON s.id = k.series_id
) ON true
ORDER BY m.number DESC, rb.position, b.id, k.position, k.series_id
""")  # noqa: S608 - put together from constants


def measured_patch_sets(connection: Connection, change: int, limit: int, before: int) -> MeasuredPatchSets:
    """Return the newest patch sets below ``before`` that have comparisons, newest first."""
    keys = {"number": change, "limit": limit, "before": before}
    rows = connection.execute(_MEASURED, keys).mappings().all()
    if not rows:
        raise NotFound(f"there is no change {change}")
    measured = [row for row in rows if row["total"] is not None]
    patch_sets = tuple(_patch_set(tuple(group)) for _, group in groupby(measured, key=itemgetter("number")))
    return MeasuredPatchSets(patch_sets, older=measured[0]["total"] - len(patch_sets) if measured else 0)


def _patch_set(rows: Sequence[RowMapping]) -> MeasuredPatchSet:
    builds = tuple(
        MeasuredBuild(job, number, tuple(map(comparison_of, group)))
        for (job, number), group in groupby(rows, key=itemgetter("job", "build_number"))
    )
    return from_row(MeasuredPatchSet, rows[0], builds=builds)
