"""Read what the newest builds say about benchmarks, and their machine time."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.sight import OF_SERIES, Sighted, merged_in_sight
from service.adapters.postgres.runs.shown_builds import policy_of
from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.calibration.evidence import TRIMMED_MEAN
from service.domain.verdict.calibration.usefulness import NEWEST, MeasuredSeries
from service.domain.verdict.inference.estimate import MIN_PAIRS, TRIMMED_FROM
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.reading import BenchmarkReading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_WAIT_DAYS: Final = 2
_ENDED: Final = str(tuple(str(each) for each in (Result.SUCCESS, Result.FAILURE, Result.UNSTABLE)))
_KINDS: Final = str(tuple(str(each) for each in (RunKind.CHECK, RunKind.POST_SUBMIT)))
# Comparisons are read by the builds that they belong to, which is a part of their primary key: a month may
# have a million of them. Their moment opens only the partition that holds them, and the offset keeps the
# planner from reading whole partitions instead. The same holds for launches.
_MEASURED: Final = text(f"""
WITH recent AS MATERIALIZED (
    SELECT id, created_at, sequence_id, row_number() OVER (of_job ORDER BY id DESC) AS place,
           count(*) OVER of_job AS builds
    FROM (
        -- A build may be in several runs.
        SELECT DISTINCT ON (b.id) b.id, b.created_at, b.sequence_id, b.job, b.pool,
               r.instance, r.project, r.branch
        FROM run AS r JOIN run_build AS rb ON rb.run_id = r.id JOIN build AS b ON b.id = rb.build_id
        -- A run begins before its builds, by {_WAIT_DAYS} days at most.
        WHERE r.created_at >= cast(:since AS timestamptz) - interval '{_WAIT_DAYS} days'
          AND r.kind IN {_KINDS} AND b.created_at >= :since AND b.result IN {_ENDED}
          AND b.job IN (SELECT job FROM series) AND {merged_in_sight("r")}
        ORDER BY b.id
    ) AS ended
    WINDOW of_job AS (PARTITION BY instance, project, branch, job, pool)
), newest AS MATERIALIZED (
    SELECT *, builds / least(builds, {NEWEST})::float8 AS times FROM recent WHERE place <= {NEWEST}
), spent AS MATERIALIZED (
    SELECT n.id AS build_id, l.suite, sum(l.seconds) AS seconds
    FROM newest AS n CROSS JOIN LATERAL (
        SELECT suite, cast(facts ->> 'seconds' AS float8) AS seconds FROM launch
        WHERE sequence_id = n.sequence_id AND build_id = n.id OFFSET 0
    ) AS l
    GROUP BY 1, 2
), compared AS MATERIALIZED (
    SELECT k.*, n.times, s.suite FROM newest AS n CROSS JOIN LATERAL (
        SELECT build_id, series_id, pairs, verdict, error, reasons FROM comparison
        WHERE build_id = n.id AND measured_at = n.created_at OFFSET 0
    ) AS k
    JOIN series AS s ON s.id = k.series_id
), cost AS (
    SELECT build_id, suite, max(times) * max(seconds) / nullif(sum(pairs), 0) AS of_a_pair
    FROM compared JOIN spent USING (build_id, suite) GROUP BY build_id, suite
), summed AS (
    SELECT series_id, max(build_id) AS build_id, count(*) AS builds,
           count(*) FILTER (WHERE verdict = '{Verdict.UNDECIDED}') AS undecided,
           count(*) FILTER (WHERE verdict IN ('{Verdict.SLOWER}', '{Verdict.FASTER}')) AS differed,
           count(*) FILTER (WHERE verdict IN ('{Verdict.BROKEN}', '{Verdict.FAILING}')) AS failed,
           count(*) FILTER (
               WHERE reasons @> '[{{"kind": "{ReasonKind.SAME_PROGRAM.value}"}}]'
           ) AS identical,
           percentile_cont(0.5) WITHIN GROUP (
               -- The standard error of a trimmed mean is larger than that of the mean.
               ORDER BY error * sqrt(pairs) / CASE WHEN pairs < {TRIMMED_FROM} THEN 1 ELSE {TRIMMED_MEAN} END
           ) FILTER (WHERE pairs >= {MIN_PAIRS}) AS noise,
           coalesce(sum(pairs * of_a_pair), 0.0) AS seconds
    FROM compared LEFT JOIN cost USING (build_id, suite)
    GROUP BY series_id
)
SELECT summed.*, s.id, s.instance, s.project, s.branch, s.machine_class, s.job, s.suite, s.benchmark, s.metric
FROM summed JOIN series AS s ON s.id = summed.series_id
ORDER BY s.id
""")  # noqa: S608 - put together from constants
_COUNTED: Final = ("id", "builds", "undecided", "differed", "failed", "identical", "noise", "seconds")
_BUILDS: Final = text("""
SELECT id, job, is_voting, spec -> 'config' AS config FROM build WHERE id = ANY(cast(:ids AS bigint[]))
""")


class PostgresBenchmarkReading(Sighted, BenchmarkReading):
    """Benchmarks with their cost, from the database."""

    @override
    def measured_series(self, since: datetime) -> Sequence[MeasuredSeries]:
        sight = self._sight(OF_SERIES)
        with self._begin() as connection:
            rows = connection.execute(_MEASURED, {"since": since, **sight}).mappings().all()
            ids = {"ids": list({row["build_id"] for row in rows})}
            builds = {row.id: row for row in connection.execute(_BUILDS, ids)}
        policies = {number: policy_of(each.job, each.config) for number, each in builds.items()}
        return [
            MeasuredSeries(
                **{name: row[name] for name in _COUNTED},
                key=SeriesKey(**{each.name: row[each.name] for each in fields(SeriesKey)}),
                policy=policies[row["build_id"]],
                is_voting=builds[row["build_id"]].is_voting,
            )
            for row in rows
        ]
