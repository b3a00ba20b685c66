"""Read series and their history."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.lookup_keys import ADDRESS, number_key
from service.adapters.postgres.access.sight import (
    OF_BRANCHES,
    OF_SERIES,
    OF_TREND,
    SAME_SERIES,
    Sighted,
    measured_in_sight,
    merged_in_sight,
    visible_build,
    visible_run,
    visible_series,
)
from service.adapters.postgres.rows import from_row, from_rows
from service.adapters.postgres.storable import LARGEST_BIGINT
from service.adapters.postgres.verdict.shown_comparisons import COMPARED
from service.domain.runs.vote import Result
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.estimate import MIN_PAIRS, estimate_of, log_ratios
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.imported import ImportedValue
from service.domain.verdict.trend.line import Step
from service.ports.reading import MOST_UNTOUCHED, STEP_DAYS, SeriesReading
from service.ports.verdict import Anchor, Point, Series, SeriesWithPoints, UntouchedCommit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from service.domain.values.search import Words

M = TypeVar("M", Point, Step)
# The commit on the branch of a row of run: a merge commit brought some.
ON_BRANCH: Final = "coalesce(nullif(run.merged_as, ''), run.revision)"
MOST_ANCHORS: Final = 200
MOST_BACKFILLED: Final = 5000  # measured commits of backfills, and anchors
SERIES: Final = """
SELECT id, instance, project, branch, machine_class, job, suite, benchmark, metric, unit, better FROM series
"""
# All of them: a benchmark may be renamed again.
_FORMER_NAMES: Final = """(
    WITH RECURSIVE former AS (
        SELECT older.id, older.continues, older.benchmark FROM series AS older
        WHERE older.id = series.continues
        UNION SELECT older.id, older.continues, older.benchmark FROM series AS older
        JOIN former ON older.id = former.continues
    ) SELECT string_agg(benchmark, ' ') FROM former
)"""
# strpos finds the words as they are written: nothing in them is a pattern.
_SEARCH: Final = text(f"""
SELECT id, instance, project, branch, machine_class, job, suite, benchmark, metric, unit, better FROM (
    SELECT * FROM series
    CROSS JOIN LATERAL (
        SELECT lower(concat_ws(' ', benchmark, metric, suite, job, project, branch, machine_class,
                               CASE WHEN continues IS NOT NULL THEN {_FORMER_NAMES} END)) AS words
    ) AS searched
    WHERE id > :after
      AND NOT EXISTS (SELECT FROM unnest(cast(:wanted AS text[])) AS word WHERE strpos(words, word) = 0)
      AND NOT EXISTS (SELECT FROM unnest(cast(:unwanted AS text[])) AS word WHERE strpos(words, word) > 0)
      AND NOT EXISTS (SELECT FROM series AS newer WHERE newer.continues = series.id)
    -- The offset keeps the planner from looking at the builds of series that do not match.
    ORDER BY id OFFSET 0
) AS found
WHERE {visible_series("found")} ORDER BY id LIMIT :limit
""")  # noqa: S608 - put together from constants
_ONE: Final = text(f"""
{SERIES} WHERE {visible_series("series")} AND id = (
    SELECT id FROM {SAME_SERIES} AS same
    WHERE NOT EXISTS (SELECT FROM series AS newer WHERE newer.continues = same.id)
)
""")  # noqa: S608 - put together from constants


OF_JOB: Final = ("instance", "project", "branch", "machine_class", "job")
WITHIN: Final = "measured_at BETWEEN :begin AND :end"
_ALWAYS: Final = {"begin": datetime.min.replace(tzinfo=UTC), "end": datetime.max.replace(tzinfo=UTC)}


def _newest(kind: int, run_kind: RunKind) -> str:
    # A build may be reused by later runs: the first of the comparison's kind is the one it was measured for.
    # A viewer who sees that run sees the build, so that no other run needs to be looked for.
    return f"""
    SELECT of_name.* FROM {SAME_SERIES} AS same CROSS JOIN LATERAL (
        SELECT comparison.*, '{run_kind}' AS run_kind, r.id AS run_id,
               r.revision, r.parent, r.subject, r.author, r.patch_set_id, NULL::timestamptz AS committed_at
        FROM comparison
        LEFT JOIN LATERAL (
            SELECT run.id, {ON_BRANCH} AS revision, run.parent, run.subject, run.author, run.patch_set_id
            FROM run_build JOIN run ON run.id = run_build.run_id
            WHERE run_build.build_id = comparison.build_id AND run.kind = '{run_kind}'
              AND {visible_run("run")}
            ORDER BY run.id LIMIT 1
        ) AS r ON true
        WHERE series_id = same.id AND comparison.kind = {kind} AND {WITHIN}
          AND (r.id IS NOT NULL OR {visible_build("comparison.build_id")})
        ORDER BY measured_at DESC LIMIT :limit
    ) AS of_name
    ORDER BY of_name.measured_at DESC LIMIT :limit
    """  # noqa: S608 - put together from constants


# A link that another build ended early is measured again: the newest has its pairs, too.
_BACKFILLED: Final = f"""
SELECT * FROM (
    SELECT DISTINCT ON (r.parent, r.revision) comparison.*, '{RunKind.POST_SUBMIT}' AS run_kind,
           r.id AS run_id, r.revision, r.parent, r.subject, r.author, NULL::bigint AS patch_set_id,
           r.committed_at
    FROM {SAME_SERIES} AS same
    CROSS JOIN LATERAL (
        SELECT * FROM comparison WHERE series_id = same.id AND kind = 3
        ORDER BY measured_at DESC LIMIT {MOST_BACKFILLED}
    ) AS comparison
    JOIN run_build ON run_build.build_id = comparison.build_id
    JOIN run AS r ON r.id = run_build.run_id AND {visible_run("r")}
        AND r.committed_at BETWEEN :begin AND :end
    ORDER BY r.parent, r.revision, comparison.measured_at DESC
) AS of_link
ORDER BY committed_at DESC LIMIT :limit
"""  # noqa: S608 - put together from constants


def samples_of(side: int) -> str:
    """Return the query for one side's samples of comparison ``k``, if that has no error."""
    # Each is looked up with its own moment, so that only the partition that holds it is opened. Rows of
    # previous versions have no error, and are estimated from their samples.
    return f"""
    SELECT samples FROM result
    WHERE k.error IS NULL AND k.pairs >= {MIN_PAIRS}
      AND (build_id, series_id, side, measured_at) = (k.build_id, k.series_id, {side}, k.measured_at)
    OFFSET 0
    """  # noqa: S608 - a number


SAME_PROGRAM: Final = (
    f"""coalesce(k.reasons @> '[{{"kind": "{ReasonKind.SAME_PROGRAM.value}"}}]', false) AS is_same_program"""
)
_POINTS: Final = text(f"""
SELECT {COMPARED}, k.run_kind AS kind, k.measured_at, b.job, b.environment_id,
       coalesce(b.external_number, b.number) AS number, coalesce(b.machine, '') AS machine,
       k.run_id, coalesce(k.revision, '') AS revision,
       coalesce(nullif(k.subject, ''), p.subject, '') AS subject,
       coalesce(nullif(k.author, ''), p.author, '') AS author,
       c.number AS change, {ADDRESS} AS change_address, p.number AS patch_set,
       k.parent, k.committed_at, of_base.samples AS base_samples, of_patch.samples AS patch_samples,
       {SAME_PROGRAM}
FROM (
    ({_newest(1, RunKind.POST_SUBMIT)}) UNION ALL ({_BACKFILLED}) UNION ALL ({_newest(0, RunKind.CHECK)})
) AS k
JOIN build AS b ON b.id = k.build_id
LEFT JOIN patch_set AS p ON p.id = k.patch_set_id
LEFT JOIN change AS c ON c.id = p.change_id
LEFT JOIN LATERAL ({samples_of(0)}) AS of_base ON k.run_kind = '{RunKind.POST_SUBMIT}'
LEFT JOIN LATERAL ({samples_of(1)}) AS of_patch ON k.run_kind = '{RunKind.POST_SUBMIT}'
ORDER BY coalesce(k.committed_at, k.measured_at), k.build_id
""")  # noqa: S608 - put together from constants
_LAST: Final = text(f"""
SELECT greatest(max(k.measured_at), (
    SELECT max(value.moment) FROM {SAME_SERIES} AS same
    JOIN imported_value AS value ON value.series_id = same.id
)) FROM (({_newest(1, RunKind.POST_SUBMIT)}) UNION ALL ({_newest(0, RunKind.CHECK)})) AS k
""")  # noqa: S608 - put together from constants


_ANCHORS: Final = text(f"""
SELECT {COMPARED}, k.measured_at, k.revision, k.parent,
       of_base.samples AS base_samples, of_patch.samples AS patch_samples, {SAME_PROGRAM}
FROM {SAME_SERIES} AS same CROSS JOIN LATERAL (
    SELECT comparison.*, r.revision, r.parent FROM comparison
    JOIN LATERAL (
        SELECT run.revision, run.parent FROM run_build JOIN run ON run.id = run_build.run_id
        WHERE run_build.build_id = comparison.build_id AND run.kind = '{RunKind.ANCHOR}'
          AND run.committed_at IS NULL AND {visible_run("run")}
        ORDER BY run.id LIMIT 1
    ) AS r ON r.parent IS NOT NULL
    WHERE series_id = same.id AND comparison.kind = 3 AND {WITHIN}
    ORDER BY measured_at DESC LIMIT {MOST_ANCHORS}
) AS k
LEFT JOIN LATERAL ({samples_of(0)}) AS of_base ON true
LEFT JOIN LATERAL ({samples_of(1)}) AS of_patch ON true
ORDER BY k.measured_at, k.build_id
""")  # noqa: S608 - put together from constants
_CAME: Final = "coalesce(run.committed_at, b.created_at)"
UNTOUCHED: Final = text(f"""
SELECT * FROM (
SELECT DISTINCT ON (run.id) {ON_BRANCH} AS revision, run.parent, {_CAME} AS moment
FROM build AS b JOIN run_build ON run_build.build_id = b.id JOIN run ON run.id = run_build.run_id
WHERE b.job = :job AND b.result = '{Result.NOT_BUILT}' AND b.created_at >= :begin
  AND {_CAME} BETWEEN :begin AND :end AND run.parent IS NOT NULL
  AND (run.kind = '{RunKind.POST_SUBMIT}'
       OR run.kind = '{RunKind.ANCHOR}' AND run.pool = :machine_class AND run.committed_at IS NOT NULL)
  AND (run.instance, run.project, run.branch) = (:instance, :project, :branch)
  AND {measured_in_sight("b.id")}
ORDER BY run.id
) AS of_run ORDER BY moment DESC LIMIT {MOST_UNTOUCHED}
""")  # noqa: S608 - put together from constants


_IMPORTED: Final = text(f"""
SELECT value.commit, value.moment, value.value, value.position
FROM {SAME_SERIES} AS same JOIN imported_value AS value ON value.series_id = same.id
WHERE value.moment BETWEEN :begin AND :end
ORDER BY value.moment DESC, value.position DESC, value.commit DESC LIMIT :limit
""")  # noqa: S608 - put together from constants


# A machine reports its own facts: what would be too long for a page, or for a number, is left out.
_ENVIRONMENTS: Final = text("""
SELECT id, facts FROM environment
WHERE id = ANY(cast(:ids AS bigint[])) AND length(facts::text) < 65536 AND facts::text !~ '[0-9]{40}'
""")
# Each series takes one look at the index of each partition, and each build is looked up once for all series.
_STEPS: Final = text(f"""
WITH newest AS MATERIALIZED (
    SELECT k.* FROM unnest(cast(:series AS bigint[]), cast(:before AS timestamptz[])) AS wanted (id, before)
    CROSS JOIN LATERAL (
        SELECT series_id, build_id, measured_at, ratio, verdict FROM comparison
        WHERE series_id = wanted.id AND kind = 1
          AND measured_at < wanted.before AND measured_at > wanted.before - interval '{STEP_DAYS} days'
          -- As values, so that the planner opens the partitions in between only.
          AND measured_at < :end AND measured_at > cast(:begin AS timestamptz)
        ORDER BY measured_at DESC LIMIT :limit
    ) AS k
), merged AS (
    SELECT DISTINCT ON (held.build_id) held.build_id, {ON_BRANCH} AS revision, run.parent
    FROM (SELECT DISTINCT build_id FROM newest) AS measured
    JOIN run_build AS held ON held.build_id = measured.build_id
    JOIN run ON run.id = held.run_id
    WHERE run.kind = '{RunKind.POST_SUBMIT}' AND run.parent IS NOT NULL AND {merged_in_sight("run")}
    ORDER BY held.build_id, run.id
)
SELECT k.series_id, merged.revision, merged.parent, k.measured_at, k.ratio, k.verdict
FROM newest AS k JOIN merged ON merged.build_id = k.build_id
ORDER BY k.series_id, k.measured_at, k.build_id
""")  # noqa: S608 - put together from constants


class PostgresSeriesReading(Sighted, SeriesReading):
    """Series in the database."""

    @override
    def series(self, words: Words, limit: int, after: int = 0) -> Sequence[Series]:
        keys: dict[str, Any] = {
            "after": min(after, LARGEST_BIGINT),
            "limit": limit,
            "wanted": list(words.wanted),
            "unwanted": list(words.unwanted),
        }
        keys |= self._sight(OF_SERIES)
        with self._begin() as connection:
            return [from_row(Series, row) for row in connection.execute(_SEARCH, keys).mappings()]

    @override
    def trend(
        self,
        series_id: int,
        limit: int,
        within: timedelta | None = None,
        until: datetime | None = None,
    ) -> SeriesWithPoints:
        keys = self._keys(series_id, limit, within, until)
        with self._begin() as connection:
            series = series_in(connection, series_id, keys, within)
            points = tuple(from_rows(Point, connection.execute(_POINTS, keys), error=error_of))
            newest = connection.execute(_IMPORTED, keys).mappings().all()
            imported = tuple(from_row(ImportedValue, each) for each in reversed(newest))
            merged = (point for point in points if point.kind is RunKind.POST_SUBMIT)
            if (first := next(merged, None)) is None:
                return SeriesWithPoints(series, points, imported=imported)
            keys |= {each: getattr(series, each) for each in OF_JOB} | {"begin": first.moment}
            untouched = tuple(from_rows(UntouchedCommit, connection.execute(UNTOUCHED, keys)))
            points = since_untouched(points, untouched)
            # A repetition continues the same pairs.
            found = from_rows(Anchor, connection.execute(_ANCHORS, keys), error=error_of)
            anchors = {(each.parent, each.revision): each for each in found}.values()
            facts = _environments(connection, points)
            return SeriesWithPoints(series, points, untouched, tuple(anchors), imported, facts)

    def _keys(
        self, series_id: int, limit: int, within: timedelta | None, until: datetime | None
    ) -> dict[str, Any]:
        """Return the values of a trend's queries; ask the viewer about the changes of the series."""
        keys: dict[str, Any] = {"series_id": number_key(series_id, LARGEST_BIGINT), "limit": limit}
        keys |= _ALWAYS if until is None else _ALWAYS | {"end": until}
        if within is not None and self._viewer is not None:
            # The viewer may see newer points than everybody, so that the range begins here or later.
            ((last,),) = self._all(_LAST, **keys | self._sight(OF_BRANCHES) | {"limit": 1})
            keys["begin"] = keys["begin"] if last is None else last - within
        return keys | self._sight(OF_TREND, **keys)

    @override
    def merged_steps(self, before: Mapping[int, datetime], limit: int) -> Mapping[int, Sequence[Step]]:
        if not before:
            return {}
        keys: dict[str, Any] = {"series": [*before], "before": [*before.values()], "limit": limit}
        keys |= {"begin": min(before.values()) - timedelta(days=STEP_DAYS), "end": max(before.values())}
        keys |= self._sight(OF_BRANCHES)
        with self._begin() as connection:
            rows = connection.execute(_STEPS, keys).all()
        by_series = groupby(rows, key=attrgetter("series_id"))
        return {series_id: tuple(map(_step, its)) for series_id, its in by_series}


def _environments(connection: Connection, points: Iterable[Point]) -> Mapping[int, Mapping[str, Any]]:
    merged = {
        each.environment_id
        for each in points
        if each.kind is RunKind.POST_SUBMIT and each.environment_id is not None
    }
    found = connection.execute(_ENVIRONMENTS, {"ids": sorted(merged)})
    return {row.id: row.facts for row in found}


def series_in(
    connection: Connection, series_id: int, keys: dict[str, Any], within: timedelta | None
) -> Series:
    """Return the series of a trend; its range in ``keys`` then begins ``within`` before its newest point."""
    row = connection.execute(_ONE, keys).mappings().first()
    if row is None:
        raise NotFound(f"there is no series {series_id}")
    last = None if within is None else connection.execute(_LAST, keys | {"limit": 1}).scalar_one()
    if within is not None and last is not None:
        keys["begin"] = last - within
    return from_row(Series, row)


def since_untouched(points: Sequence[M], untouched: Sequence[UntouchedCommit]) -> tuple[M, ...]:
    """Leave out points that are older than all untouched commits, if more of these were not read.

    Without them, the line of older commits would have gaps that are none.
    """
    if len(untouched) < MOST_UNTOUCHED:
        return tuple(points)
    begin = min(each.moment for each in untouched)
    return tuple(point for point in points if point.moment >= begin)


def _step(row: Row[Any]) -> Step:
    log = math.log(row.ratio) if row.ratio else None
    return Step(row.revision, row.parent, row.measured_at, log, verdict=Verdict(row.verdict))


def error_of(row: Row[Any]) -> float | None:
    """Return the stored error; a row of a previous version has samples instead.

    It is estimated from the pairs of the verdict: the first complete ones of the stored pairs.
    """
    if row.error is not None:
        return float(row.error)
    sides = zip(row.base_samples or (), row.patch_samples or (), strict=False)
    pairs = [(base, patch) for base, patch in sides if base is not None and patch is not None][: row.pairs]
    if len(pairs) < MIN_PAIRS or not all(base > 0 and patch > 0 for base, patch in pairs):
        return None
    base, patch = zip(*pairs, strict=True)
    return estimate_of(log_ratios(base, patch)).error
