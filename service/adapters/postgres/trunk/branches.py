"""Followed branches and their measured commits in a unit of work."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select, text
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.rows import from_row
from service.domain.measuring.metric import Better
from service.domain.runs.states import UNFINISHED, RunState
from service.domain.trunk.anchors import AnchorTries
from service.domain.trunk.backfill import first_run_with
from service.domain.trunk.spread import AGAIN, KnownStep, SlowerAnchor
from service.domain.trunk.spread import WITHIN_DAYS as SPREAD_DAYS
from service.domain.trunk.undecided import LEAST, MOST_RUNS, MOST_TRIES, WITHIN_DAYS, UndecidedResult
from service.domain.values.identity import RunKind
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.branches import Branches, MeasuredAnchors, SlowRanges

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from service.domain.verdict.calibration.schedule import BranchKey

_MOST_UNDECIDED: Final = 100
_MOST_SLOWER: Final = 5000  # results of anchors
# The natural logarithm of a slow-down, by the ratios of a rate and of a time.
WORSENING: Final = f"CASE s.better WHEN '{Better.HIGHER}' THEN -ln(%s) ELSE ln(%s) END"
_FOLLOWED: Final = timedelta(days=30)  # after the last run on a branch
# A pre-empted build is cancelled, and a lost machine is no fault of the commits.
CUT_SHORT: Final = """
SELECT FROM run_build JOIN build ON build.id = run_build.build_id
WHERE run_build.run_id = run.id AND build.outcome IN ('cancelled', 'infrastructure')
"""
_ANCHORS: Final = text(f"""
SELECT run.parent, run.revision, count(*) AS tries,
       cast(extract(epoch FROM now() - max(run.created_at)) AS double precision) AS since,
       bool_or(run.state = 'finished' AND NOT EXISTS ({CUT_SHORT})) AS is_done
FROM run
WHERE kind = 'anchor' AND parent IS NOT NULL AND requested_by = ''
  AND (pool, instance, project, branch) = (:pool, :instance, :project, :branch)
GROUP BY run.parent, run.revision
""")  # noqa: S608 - put together from constants
_IS_BUSY: Final = text(f"""
SELECT EXISTS (
    SELECT FROM run
    WHERE kind IN {t.IDLE_KINDS} AND machine = '' AND pool = :pool AND {t.UNFINISHED_RUN}
)
""")  # noqa: S608 - put together from constants
# A commit that was measured longer has several builds of its pairs; the newest one has them all.
_UNDECIDED: Final = text(f"""
SELECT r.id AS run_id, newest.id AS build_id, k.benchmark, k.pairs, k.more, k.seconds, made.tries
FROM run AS r
LEFT JOIN patch_set AS p ON p.id = r.patch_set_id LEFT JOIN change AS c ON c.id = p.change_id
JOIN LATERAL (
    SELECT count(*) FILTER (WHERE NOT EXISTS ({CUT_SHORT})) AS tries, count(*) AS runs FROM run
    WHERE kind = '{RunKind.LONGER}' AND previous_id = r.id
) AS made ON made.tries < {MOST_TRIES} AND made.runs < {MOST_RUNS}
JOIN run_build AS rb ON rb.run_id = r.id
JOIN build AS b ON b.id = rb.build_id AND b.pool = :pool
JOIN LATERAL (
    SELECT m.id, m.created_at FROM (
        SELECT b.id UNION ALL
        SELECT run_build.build_id FROM run JOIN run_build ON run_build.run_id = run.id
        WHERE run.kind = '{RunKind.LONGER}' AND run.previous_id = r.id AND run_build.job = b.job
    ) AS each (id) JOIN build AS m ON m.id = each.id
    WHERE EXISTS (SELECT FROM comparison WHERE build_id = m.id AND measured_at = m.created_at)
    ORDER BY m.id DESC LIMIT 1
) AS newest ON true
JOIN LATERAL (
    SELECT s.benchmark, k.pairs,
           coalesce((why -> 'facts' ->> 0)::float8, 0) AS more,
           coalesce((why -> 'facts' ->> 1)::float8, 0) AS seconds
    FROM (
        SELECT * FROM comparison
        WHERE build_id = newest.id AND measured_at = newest.created_at
          AND verdict = '{Verdict.UNDECIDED}' AND ratio > 0
        OFFSET 0
    ) AS k
    JOIN series AS s ON s.id = k.series_id AND s.metric <> '{INSTRUCTIONS.name}'
    CROSS JOIN LATERAL jsonb_array_elements(k.reasons) AS why
    WHERE why ->> 'kind' IN ('{ReasonKind.MORE_PAIRS}', '{ReasonKind.LAYOUT_NOT_CHECKED}')
      AND {WORSENING % ("k.ratio", "k.ratio")} >= {LEAST}
) AS k ON k.more > 0 OR made.tries = 0
WHERE r.kind = '{RunKind.POST_SUBMIT}' AND r.state = '{RunState.FINISHED}'
  AND (r.instance, r.project, r.branch) = (:instance, :project, :branch)
  AND r.created_at > now() - interval '{WITHIN_DAYS} days'
  AND NOT coalesce(c.is_private, false)
ORDER BY k.seconds, newest.id, k.benchmark LIMIT {_MOST_UNDECIDED}
""")  # noqa: S608 - put together from constants
_MERGED: Final = f"""
SELECT m.id, m.created_at FROM run AS m
WHERE m.kind = '{RunKind.POST_SUBMIT}'
  AND (m.instance, m.project, m.branch) = (a.instance, a.project, a.branch)
  AND coalesce(nullif(m.merged_as, ''), m.revision) = a.%s
ORDER BY m.id LIMIT 1
"""  # noqa: S608 - put together from constants
_RANGE: Final = f"""
JOIN LATERAL ({_MERGED % "parent"}) AS base ON true
JOIN LATERAL ({_MERGED % "revision"}) AS patch ON true
"""
# Slower results k of the builds b of a run a, with the ``tries`` to measure them again.
SLOWER_RESULTS: Final = f"""
JOIN run_build AS rb ON rb.run_id = a.id
JOIN build AS b ON b.id = rb.build_id
JOIN LATERAL (
    -- Runs that ended early are no tries, unless there are many of them.
    SELECT CASE WHEN count(*) < {AGAIN} THEN count(*) FILTER (WHERE NOT is_cut_short) ELSE count(*) END
        AS tries
    FROM (
        SELECT EXISTS ({CUT_SHORT}) AS is_cut_short FROM run
        JOIN run_build AS own ON own.run_id = run.id AND own.job = rb.job
        WHERE run.kind = '{RunKind.LONGER}' AND run.previous_id = a.id
    ) AS again
) AS made ON true
JOIN LATERAL (
    SELECT * FROM comparison
    WHERE build_id = b.id AND measured_at = b.created_at AND verdict = '{Verdict.SLOWER}'
      AND ratio > 0 AND low > 0
    OFFSET 0
) AS k ON true
JOIN series AS s ON s.id = k.series_id AND s.metric <> '{INSTRUCTIONS.name}'
"""  # noqa: S608 - put together from constants
_SLOWER_ANCHORS: Final = text(f"""
SELECT a.id AS run_id, b.id AS build_id, k.series_id, base.id AS begin, patch.id AS "end",
       base.created_at AS since, made.tries,
       {WORSENING % ("k.ratio", "k.ratio")} AS worsening,
       {WORSENING % ("k.high", "k.low")} AS low
FROM run AS a
{_RANGE}
{SLOWER_RESULTS}
WHERE a.kind = '{RunKind.ANCHOR}' AND a.state = '{RunState.FINISHED}'
  -- A person, or the narrowing of a range, chose commits by their results.
  AND a.requested_by = ''
  AND (a.pool, a.instance, a.project, a.branch) = (:pool, :instance, :project, :branch)
  AND a.created_at > now() - interval '{SPREAD_DAYS} days' AND base.id < patch.id
  AND patch.created_at > now() - interval '{SPREAD_DAYS} days'
ORDER BY a.id DESC, k.series_id LIMIT {_MOST_SLOWER}
""")  # noqa: S608 - put together from constants
# Of several results of a commit, the newest decided one; and the ranges that are listed.
_KNOWN_STEPS: Final = text(f"""
SELECT DISTINCT ON (k.series_id, m.id) k.series_id, m.id AS begin, m.id AS "end",
       {WORSENING % ("k.ratio", "k.ratio")} AS worsening
FROM comparison AS k JOIN series AS s ON s.id = k.series_id
JOIN run_build AS rb ON rb.build_id = k.build_id
JOIN run AS r ON r.id = rb.run_id AND r.kind IN ('{RunKind.POST_SUBMIT}', '{RunKind.LONGER}')
JOIN run AS m ON m.id = CASE r.kind WHEN '{RunKind.LONGER}' THEN r.previous_id ELSE r.id END
    AND m.kind = '{RunKind.POST_SUBMIT}'
WHERE k.series_id = ANY(cast(:series AS bigint[])) AND k.measured_at >= :since
  AND k.verdict IN ('{Verdict.SLOWER}', '{Verdict.FASTER}') AND k.ratio > 0
ORDER BY k.series_id, m.id, k.measured_at DESC
""")  # noqa: S608 - put together from constants
_LISTED_RANGES: Final = text(f"""
SELECT x.series_id, base.id AS begin, patch.id AS "end",
       {WORSENING % ("x.ratio", "x.ratio")} AS worsening
FROM regressed_result AS x JOIN series AS s ON s.id = x.series_id
JOIN regression AS g ON g.id = x.regression_id
JOIN run AS a ON a.id = g.run_id AND a.kind = '{RunKind.ANCHOR}' AND a.committed_at IS NULL
{_RANGE}
WHERE x.series_id = ANY(cast(:series AS bigint[])) AND x.ratio > 0
ORDER BY g.id, x.series_id
""")  # noqa: S608 - put together from constants
_BACKFILLED_STEPS: Final = text(f"""
SELECT x.series_id, a.revision, {WORSENING % ("x.ratio", "x.ratio")} AS worsening
FROM regressed_result AS x JOIN series AS s ON s.id = x.series_id
JOIN regression AS g ON g.id = x.regression_id
JOIN run AS a ON a.id = g.run_id AND a.committed_at IS NOT NULL
WHERE x.series_id = ANY(cast(:series AS bigint[])) AND x.ratio > 0
ORDER BY g.id, x.series_id
""")  # noqa: S608 - put together from constants
# Commits after their first parents, as far as runs tell: the newest run first.
_CHILDREN: Final = text(f"""
SELECT m.parent, coalesce(nullif(m.merged_as, ''), m.revision) AS revision,
       CASE m.kind WHEN '{RunKind.POST_SUBMIT}' THEN m.id END AS run_id
FROM run AS m
WHERE (m.instance, m.project, m.branch) = (:instance, :project, :branch)
  AND (m.kind = '{RunKind.POST_SUBMIT}' AND m.created_at >= :since
       OR m.kind = '{RunKind.ANCHOR}' AND m.pool = :pool AND m.committed_at IS NOT NULL)
ORDER BY m.id DESC
""")  # noqa: S608 - put together from constants


class PostgresBranches(Connected, Branches):
    """Branches that rows of the table ``run`` name."""

    @override
    def followed(self, instance: str) -> Sequence[tuple[str, str]]:
        is_recent = t.run.c.created_at > func.now() - _FOLLOWED
        kinds = t.run.c.kind.in_([RunKind.CHECK.value, RunKind.POST_SUBMIT.value])
        here = (t.run.c.project, t.run.c.branch)
        query = select(*here).where(t.run.c.instance == instance, is_recent, kinds)
        return [(row.project, row.branch) for row in self._execute(query.distinct().order_by(*here))]

    @override
    def measured(
        self, instance: str, project: str, branch: str, revisions: Collection[str]
    ) -> frozenset[str]:
        # A merge commit brought some.
        commit = func.coalesce(func.nullif(t.run.c.merged_as, ""), t.run.c.revision)
        query = select(commit).where(
            t.run.c.instance == instance,
            t.run.c.project == project,
            t.run.c.branch == branch,
            t.run.c.kind == RunKind.POST_SUBMIT.value,
            commit.in_(revisions),
        )
        return frozenset(self._execute(query).scalars())

    @override
    def anchors(self, key: BranchKey) -> MeasuredAnchors:
        rows = self._execute(_ANCHORS, asdict(key)).all()
        tries = {(row.parent, row.revision): AnchorTries(row.tries, row.is_done) for row in rows}
        return MeasuredAnchors(tries, min((row.since for row in rows), default=None))

    @override
    def is_measuring(self, pool: str) -> bool:
        return bool(self._execute(_IS_BUSY, {"pool": pool}).scalar_one())

    @override
    def undecided(self, key: BranchKey) -> Sequence[UndecidedResult]:
        rows = self._execute(_UNDECIDED, asdict(key)).mappings()
        return [from_row(UndecidedResult, row) for row in rows]

    @override
    def slow_ranges(self, key: BranchKey) -> SlowRanges:
        rows = self._execute(_SLOWER_ANCHORS, asdict(key)).mappings().all()
        anchors = tuple(from_row(SlowerAnchor, row) for row in rows)
        if not anchors:
            return SlowRanges()
        keys = {
            "series": sorted({each.series_id for each in anchors}),
            "since": min(row["since"] for row in rows),
        }
        steps = self._execute(_KNOWN_STEPS, keys).mappings().all()
        ranges = self._execute(_LISTED_RANGES, keys).mappings().all()
        known = [from_row(KnownStep, row) for row in (*steps, *ranges)]
        return SlowRanges(anchors, (*known, *self._backfilled_steps({**asdict(key), **keys})))

    def _backfilled_steps(self, keys: Mapping[str, Any]) -> Iterator[KnownStep]:
        """Yield the listed commits of backfills, at the first runs on the branch that have them."""
        steps = self._execute(_BACKFILLED_STEPS, keys).all()
        rows = self._execute(_CHILDREN, keys).all() if steps else ()
        runs = {row.revision: row.run_id for row in rows if row.run_id is not None}
        children = {row.parent: row.revision for row in rows if row.parent is not None}
        for step in steps:
            run_id = first_run_with(step.revision, runs, children)
            if run_id is not None:
                yield KnownStep(step.series_id, step.worsening, run_id, run_id)

    @override
    def unfinished(self, instance: str, project: str, branch: str) -> int:
        here = (t.run.c.instance == instance, t.run.c.project == project, t.run.c.branch == branch)
        merged = t.run.c.kind == RunKind.POST_SUBMIT.value
        waiting = t.run.c.state.in_(UNFINISHED)
        return self._execute(
            select(func.count()).select_from(t.run).where(*here, merged, waiting)
        ).scalar_one()
