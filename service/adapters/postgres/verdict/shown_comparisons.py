"""Read comparisons with their samples and explanations, and patch sets side by side."""

from __future__ import annotations

from dataclasses import fields
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from service.adapters.postgres.access.lookup_keys import ID_AT_ADDRESS, address_keys, without_change
from service.adapters.postgres.access.sight import visible_build
from service.adapters.postgres.persisted import reasons_from
from service.adapters.postgres.rows import from_row
from service.domain.values.errors import NotFound
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import NOT_BY_PAIRS
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.clauses import clause_of, explained
from service.domain.wording.reasons import text_of
from service.domain.wording.standing import not_counted
from service.ports.runs.shown import ExplainedBuild
from service.ports.verdict import (
    Compared,
    Comparison,
    MeasuredBuild,
    MeasuredPatchSet,
    MeasuredPatchSets,
    Samples,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping

    from service.domain.values.identity import ChangeAddress
# The columns of a comparison k of the series s, wherever one is read.
COMPARED: Final = ", ".join(f"k.{each.name}" for each in fields(Compared))
COMPARISON: Final = (
    f"{COMPARED}, k.reason, k.reasons, k.series_id, s.suite, s.benchmark, s.metric, s.unit, s.better"
)
# measured_at is given as a value in both queries: with it the planner opens one partition only.
_COMPARISONS: Final = text(f"""
SELECT {COMPARISON}
FROM comparison AS k JOIN series AS s ON s.id = k.series_id
WHERE k.build_id = :build_id AND k.measured_at = :measured_at AND {visible_build(":build_id")}
ORDER BY k.position, k.series_id
""")  # noqa: S608 - put together from constants
_SAMPLES: Final = text(f"""
SELECT r.side, r.samples, r.series_id, s.suite, s.benchmark, s.metric, s.unit, s.better
FROM result AS r JOIN series AS s ON s.id = r.series_id
WHERE r.build_id = :build_id AND r.measured_at = :measured_at AND r.series_id = :series_id
  AND {visible_build(":build_id")}
""")  # noqa: S608 - put together from constants
_EXPLANATION: Final = text(f"""
SELECT packed FROM explanation WHERE build_id = :build_id AND {visible_build(":build_id")}
""")  # noqa: S608 - put together from constants
# A change without comparisons is one row of nulls, and a change that does not exist is none.
# Each build is looked up with its own moment, so that only the partition that holds it is opened.
_MEASURED: Final = text(f"""
WITH chosen AS (
    {ID_AT_ADDRESS}
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


def comparison_of(row: RowMapping) -> Comparison:
    """Build a comparison from a row with the columns :data:`COMPARISON`."""
    kinds = {reason["kind"] for reason in row["reasons"] or ()}
    is_open = row["verdict"] == Verdict.UNDECIDED and row["metric"] != INSTRUCTIONS.name
    needs_pairs = is_open and not kinds & NOT_BY_PAIRS
    return from_row(Comparison, row, needs_pairs=needs_pairs, **_worded(row["reasons"], row["reason"]))


def _worded(stored: Sequence[Mapping[str, Any]] | None, text: str) -> dict[str, Any]:
    """Word typed reasons; ``text`` is from a version that stored no others."""
    try:
        reasons = reasons_from(stored or ())
    except ValueError:  # a kind of a later version, which also stored its sentence
        reasons = ()
    return {
        "reason": text_of(reasons) or text,
        "not_counted": not_counted(reasons),
        "clause": clause_of(reasons),
        "explained": explained(reasons),
    }


def comparisons_of(
    connection: Connection, build_id: int, measured_at: datetime, sight: Mapping[str, Any]
) -> Sequence[Comparison]:
    """Return the comparisons of a build in their order."""
    keys = {"build_id": build_id, "measured_at": measured_at, **sight}
    return [comparison_of(row) for row in connection.execute(_COMPARISONS, keys).mappings().all()]


def samples_of(
    connection: Connection, build_id: int, measured_at: datetime, series_id: int, sight: Mapping[str, Any]
) -> Samples:
    """Return both sides' samples; a side that measured nothing is empty."""
    keys = {"build_id": build_id, "measured_at": measured_at, "series_id": series_id, **sight}
    rows = connection.execute(_SAMPLES, keys).mappings().all()
    if not rows:
        raise NotFound(f"the build holds no samples of series {series_id}")
    sides: dict[int, tuple[float | None, ...]] = {row["side"]: tuple(row["samples"]) for row in rows}
    return from_row(Samples, rows[0], base=sides.get(0, ()), patch=sides.get(1, ()))


def explanations_of(
    connection: Connection, build_id: int, stacks_of: int, sight: Mapping[str, Any]
) -> ExplainedBuild:
    """Return why benchmarks of a build are slower, one of them with its stacks and instructions."""
    packed = connection.execute(_EXPLANATION, {"build_id": build_id, **sight}).scalar()
    return ExplainedBuild() if packed is None else ExplainedBuild.of(bytes(packed), stacks_of)


def measured_patch_sets(
    connection: Connection, change: ChangeAddress, page: Mapping[str, Any], sight: Mapping[str, Any]
) -> MeasuredPatchSets:
    """Return the newest patch sets that have comparisons, newest first; a page has a limit and an end."""
    rows = connection.execute(_MEASURED, {**address_keys(change), **page, **sight}).mappings().all()
    if not rows:
        raise without_change(connection, change, sight)
    measured = [row for row in rows if row["total"] is not None]
    patch_sets = tuple(_patch_set(tuple(group)) for _, group in groupby(measured, key=itemgetter("number")))
    return MeasuredPatchSets(patch_sets, older=measured[0]["total"] - len(patch_sets) if measured else 0)


def _patch_set(rows: Sequence[RowMapping]) -> MeasuredPatchSet:
    builds = tuple(
        MeasuredBuild(job, number, tuple(map(comparison_of, group)))
        for (job, number), group in groupby(rows, key=itemgetter("job", "build_number"))
    )
    return from_row(MeasuredPatchSet, rows[0], builds=builds)
