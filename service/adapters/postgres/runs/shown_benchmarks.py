"""Read what the newest builds say about benchmarks, and the machine time of their suites."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.sight import OF_SERIES, Sighted, merged_in_sight
from service.adapters.postgres.runs.shown_builds import policy_of
from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.calibration.usefulness import NEWEST, MeasuredSeries, noise_of
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import NOT_BY_PAIRS, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.reading import BenchmarkReading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

_WAIT_DAYS: Final = 2
_ENDED: Final = str(tuple(str(each) for each in (Result.SUCCESS, Result.FAILURE, Result.UNSTABLE)))
_KINDS: Final = str(tuple(str(each) for each in (RunKind.CHECK, RunKind.POST_SUBMIT)))
_MORE_PAIRS: Final = f'$[*] ? (@.kind == "{ReasonKind.MORE_PAIRS.value}").facts[0]'
# More machine time does not help these.
_ENDED_EARLY: Final = (ReasonKind.HARDLY_SLOWER, ReasonKind.OWN_TIME)


def _has(kinds: Iterable[ReasonKind]) -> str:
    listed = ", ".join(f"""'[{{"kind": "{kind.value}"}}]'""" for kind in sorted(kinds))
    return f"coalesce(reasons @> ANY(cast(ARRAY[{listed}] AS jsonb[])), false)"


# Comparisons are read by the builds that they belong to, which is a part of their primary key: a month may
# have a million of them. Their moment opens only the partition that holds them, and the offset keeps the
# planner from reading whole partitions instead. The same holds for launches.
_MEASURED: Final = text(f"""
WITH recent AS MATERIALIZED (
    SELECT *, row_number() OVER (of_job ORDER BY id DESC) AS place
    FROM (
        -- A check and its merged commit may share a sequence, and a build may be in several runs.
        SELECT DISTINCT ON (instance, project, branch, job, pool, coalesce(sequence_id, -id)) *
        FROM (
            SELECT DISTINCT ON (r.instance, r.project, r.branch, b.job, b.pool, of_change)
                   b.id, b.created_at, b.sequence_id, b.job, b.pool, r.instance, r.project, r.branch,
                   coalesce(cast(p.change_id AS text), r.revision) AS of_change
            FROM run AS r JOIN run_build AS rb ON rb.run_id = r.id JOIN build AS b ON b.id = rb.build_id
            LEFT JOIN patch_set AS p ON p.id = r.patch_set_id
            -- A run begins before its builds, by {_WAIT_DAYS} days at most.
            WHERE r.created_at >= cast(:since AS timestamptz) - interval '{_WAIT_DAYS} days'
              AND r.kind IN {_KINDS} AND b.created_at >= :since AND b.result IN {_ENDED}
              AND b.job IN (SELECT job FROM series) AND {merged_in_sight("r")}
            ORDER BY r.instance, r.project, r.branch, b.job, b.pool, of_change, p.number DESC, b.id DESC
        ) AS of_changes
        ORDER BY instance, project, branch, job, pool, coalesce(sequence_id, -id), id DESC
    ) AS once
    WINDOW of_job AS (PARTITION BY instance, project, branch, job, pool)
), newest AS MATERIALIZED (
    SELECT * FROM recent WHERE place <= {NEWEST}
), spent AS MATERIALIZED (
    SELECT n.instance, n.project, n.branch, n.pool AS machine_class, n.job, l.suite,
           sum(l.seconds) AS suite_seconds, count(DISTINCT n.id) AS suite_builds
    FROM newest AS n CROSS JOIN LATERAL (
        SELECT suite, cast(facts ->> 'seconds' AS float8) AS seconds FROM launch
        WHERE sequence_id = n.sequence_id OFFSET 0
    ) AS l
    GROUP BY 1, 2, 3, 4, 5, 6
), compared AS MATERIALIZED (
    SELECT k.*, verdict = '{Verdict.UNDECIDED}' AND NOT {_has(NOT_BY_PAIRS)} AS is_open
    FROM newest AS n CROSS JOIN LATERAL (
        SELECT build_id, series_id, pairs, verdict, error, reasons FROM comparison
        WHERE build_id = n.id AND measured_at = n.created_at OFFSET 0
    ) AS k
    JOIN series AS s ON s.id = k.series_id
    WHERE s.metric <> '{INSTRUCTIONS.name}'
), summed AS (
    SELECT series_id AS id, max(build_id) AS build_id, count(*) AS builds,
           count(*) FILTER (WHERE is_open) AS undecided,
           count(*) FILTER (WHERE verdict IN ('{Verdict.SLOWER}', '{Verdict.FASTER}')) AS differed,
           count(*) FILTER (WHERE verdict = '{Verdict.FAILING}') AS failed,
           count(*) FILTER (WHERE {_has([ReasonKind.SAME_PROGRAM])}) AS identical,
           array_agg(pairs) AS pairs, array_agg(error) AS errors,
           array_agg(pairs) FILTER (WHERE is_open) AS undecided_pairs,
           array_agg(
               cast(jsonb_path_query_first(reasons, '{_MORE_PAIRS}') AS float8)
           ) FILTER (WHERE is_open AND {_has([ReasonKind.MORE_PAIRS])} AND NOT {_has(_ENDED_EARLY)})
               AS more_pairs
    FROM compared
    GROUP BY 1
)
SELECT *, count(*) OVER (PARTITION BY instance, project, branch, machine_class, job) AS family
FROM summed JOIN series USING (id)
LEFT JOIN spent USING (instance, project, branch, machine_class, job, suite)
ORDER BY id
""")  # noqa: S608 - put together from constants
_COUNTED: Final = ("id", "family", "builds", "undecided", "differed", "failed", "identical")
_BUILDS: Final = text("""
SELECT id, job, is_voting, spec -> 'config' AS config FROM build WHERE id = ANY(cast(:ids AS bigint[]))
""")


class PostgresBenchmarkReading(Sighted, BenchmarkReading):
    """Benchmarks as the newest builds measured them, from the database."""

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
                noise=noise_of(zip(row["pairs"], row["errors"], strict=True)),
                undecided_pairs=tuple(row["undecided_pairs"] or ()),
                more_pairs=tuple(row["more_pairs"] or ()),
                suite_seconds=row["suite_seconds"] or 0.0,
                suite_builds=row["suite_builds"] or 0,
                key=SeriesKey(**{each.name: row[each.name] for each in fields(SeriesKey)}),
                policy=policies[row["build_id"]],
                is_voting=builds[row["build_id"]].is_voting,
            )
            for row in rows
        ]
