"""Read the steps of a whole family of benchmarks at once."""

from __future__ import annotations

import math
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.sight import merged_in_sight, visible_series
from service.adapters.postgres.rows import from_row, from_rows
from service.adapters.postgres.verdict.shown_series import (
    MOST_ANCHORS,
    MOST_BACKFILLED,
    OF_JOB,
    ON_BRANCH,
    SAME_PROGRAM,
    SERIES,
    UNTOUCHED,
    WITHIN,
    PostgresSeriesReading,
    error_of,
    samples_of,
    series_in,
    since_untouched,
)
from service.domain.project.benchmark_names import family_of, natural_order
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.line import Step
from service.ports.reading import FamilyReading
from service.ports.verdict import Family, Series, SeriesWithSteps, UntouchedCommit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy import Connection, Row

_VERDICTS: Final = {each.value: each for each in Verdict}
_FAMILY: Final = text(f"""
SELECT * FROM (
    {SERIES}
    WHERE (instance, project, branch, machine_class) = (:instance, :project, :branch, :machine_class)
      AND (job, suite, metric) = (:job, :suite, :metric) AND starts_with(benchmark, :family)
      AND NOT EXISTS (SELECT FROM series AS newer WHERE newer.continues = series.id)
    OFFSET 0
) AS found WHERE {visible_series("found")}
""")  # noqa: S608 - put together from constants
# Kind 3 are anchors and backfilled commits, which have the moments of their making.
_FAMILY_STEPS: Final = text(f"""
WITH RECURSIVE same AS (
    SELECT id AS member, id, continues FROM series WHERE id = ANY(cast(:members AS bigint[]))
    UNION SELECT same.member, older.id, older.continues
    FROM same JOIN series AS older ON older.id = same.continues
), newest AS MATERIALIZED (
    SELECT same.member, of_kind.* FROM same CROSS JOIN LATERAL (
        (SELECT * FROM comparison WHERE series_id = same.id AND kind = 1 AND {WITHIN}
         ORDER BY measured_at DESC LIMIT :limit)
        UNION ALL
        (SELECT * FROM comparison WHERE series_id = same.id AND kind = 3
         ORDER BY measured_at DESC LIMIT {MOST_BACKFILLED})
    ) AS of_kind
), merged AS MATERIALIZED (
    SELECT DISTINCT ON (held.build_id, run.committed_at IS NULL)
           held.build_id, run.id AS run_id, {ON_BRANCH} AS revision, run.parent, run.committed_at,
           measured.kind = 3 AS is_distant, measured.kind = 3 AND run.committed_at IS NULL AS is_anchor
    FROM (SELECT DISTINCT build_id, kind FROM newest) AS measured
    JOIN run_build AS held ON held.build_id = measured.build_id
    JOIN run ON run.id = held.run_id
    WHERE run.kind = CASE measured.kind WHEN 1 THEN '{RunKind.POST_SUBMIT}' ELSE '{RunKind.ANCHOR}' END
      AND run.parent IS NOT NULL AND {merged_in_sight("run")}
    ORDER BY held.build_id, run.committed_at IS NULL, run.id
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY member, is_anchor ORDER BY moment DESC) AS place
    FROM (
        SELECT newest.*, run_id, merged.revision, merged.parent, is_distant, is_anchor,
               coalesce(committed_at, measured_at) AS moment
        FROM newest JOIN merged ON merged.build_id = newest.build_id
    ) AS of_member
    WHERE moment BETWEEN :begin AND :end
)
SELECT k.member, is_distant, is_anchor, ratio, error, pairs, verdict, moment, revision, parent, run_id,
       {SAME_PROGRAM}, of_base.samples AS base_samples, of_patch.samples AS patch_samples
FROM placed AS k
LEFT JOIN LATERAL ({samples_of(0)}) AS of_base ON true
LEFT JOIN LATERAL ({samples_of(1)}) AS of_patch ON true
WHERE place <= CASE WHEN is_anchor THEN {MOST_ANCHORS} ELSE :limit END
ORDER BY k.member, moment, k.build_id
""")  # noqa: S608 - put together from constants


class PostgresFamilyReading(PostgresSeriesReading, FamilyReading):
    """Series and their families in the database."""

    @override
    def family(
        self,
        series_id: int,
        most: int,
        limit: int,
        within: timedelta | None = None,
        until: datetime | None = None,
    ) -> Family:
        keys = self._keys(series_id, limit, within, until)
        with self._begin() as connection:
            series = series_in(connection, series_id, keys, within)
            name = family_of(series.benchmark)
            keys |= {each: getattr(series, each) for each in (*OF_JOB, "suite", "metric")}
            rows = connection.execute(_FAMILY, keys | {"family": name}).mappings()
            found = [each for row in rows if family_of((each := from_row(Series, row)).benchmark) == name]
            found.sort(key=lambda each: natural_order(each.benchmark))
            place = next(number for number, each in enumerate(found) if each.id == series.id)
            first = max(0, min(place - most // 2, len(found) - most))
            members, untouched = _members_in(connection, keys, found[first : first + most])
            return Family(name, len(found), members, untouched)


def _members_in(
    connection: Connection, keys: Mapping[str, Any], members: Sequence[Series]
) -> tuple[tuple[SeriesWithSteps, ...], tuple[UntouchedCommit, ...]]:
    """Return series of one job with their steps, and the commits that touched none of its files."""
    keys = {**keys, "members": [each.id for each in members], "limit": keys["limit"] // len(members)}
    found = connection.execute(_FAMILY_STEPS, keys).all()
    rows = {member: [*its] for member, its in groupby(found, key=attrgetter("member"))}
    begin = min((row.moment for row in found), default=None)
    commits = begin and connection.execute(UNTOUCHED, {**keys, "begin": begin})
    untouched = tuple(from_rows(UntouchedCommit, commits)) if commits else ()
    return tuple(_member(each, rows.get(each.id, ()), untouched) for each in members), untouched


def _member(
    series: Series, rows: Sequence[Row[Any]], untouched: Sequence[UntouchedCommit]
) -> SeriesWithSteps:
    found: dict[object, Step] = {}
    anchors: dict[object, Step] = {}
    for place, row in enumerate(rows):
        step, is_distant, is_anchor = _measured_step(row)
        # A repetition continues the same pairs, so that the newest row of a link has them all.
        link = (step.parent, step.revision) if is_distant else place
        (anchors if is_anchor else found)[link] = step
    return SeriesWithSteps(series, since_untouched([*found.values()], untouched), tuple(anchors.values()))


def _measured_step(row: Row[Any]) -> tuple[Step, bool, bool]:
    """Return the step of a row, whether its commits may be far apart, and whether it is an anchor."""
    _, is_distant, is_anchor, ratio, error, pairs, verdict, *commit, is_same, _, _ = tuple(row)
    log = math.log(ratio) if ratio else None
    if is_same:  # without pairs, so that no spread of others is added to it
        log, error, pairs = 0.0, 0.0, 0
    elif log is None or (error is None and (error := error_of(row)) is None):
        log = error = None
    moment, revision, parent, run_id = commit
    step = Step(revision, parent, moment, log, error, pairs, _VERDICTS[verdict], run_id)
    return step, is_distant, is_anchor
