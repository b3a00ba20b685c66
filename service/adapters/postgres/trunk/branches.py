"""Followed branches and their measured commits in a unit of work."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select, text
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.domain.runs.states import UNFINISHED
from service.domain.trunk.anchors import AnchorTries
from service.domain.values.identity import RunKind
from service.ports.trunk import Branches, MeasuredAnchors

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.domain.verdict.calibration.schedule import BranchKey

_FOLLOWED: Final = timedelta(days=30)  # after the last run on a branch
# A pre-empted build is cancelled, and a lost machine is no fault of the commits.
_ANCHORS: Final = text("""
SELECT run.parent, run.revision, count(*) AS tries,
       cast(extract(epoch FROM now() - max(run.created_at)) AS double precision) AS since,
       bool_or(run.state = 'finished' AND NOT EXISTS (
           SELECT FROM run_build JOIN build ON build.id = run_build.build_id
           WHERE run_build.run_id = run.id AND build.outcome IN ('cancelled', 'infrastructure')
       )) AS is_done
FROM run
WHERE kind = 'anchor' AND parent IS NOT NULL
  AND (pool, instance, project, branch) = (:pool, :instance, :project, :branch)
GROUP BY run.parent, run.revision
""")
_IS_BUSY: Final = text(f"""
SELECT EXISTS (
    SELECT FROM run WHERE kind IN ('anchor', 'calibration') AND pool = :pool AND {t.UNFINISHED_RUN}
)
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
    def unfinished(self, instance: str, project: str, branch: str) -> int:
        here = (t.run.c.instance == instance, t.run.c.project == project, t.run.c.branch == branch)
        merged = t.run.c.kind == RunKind.POST_SUBMIT.value
        waiting = t.run.c.state.in_(UNFINISHED)
        return self._execute(
            select(func.count()).select_from(t.run).where(*here, merged, waiting)
        ).scalar_one()
