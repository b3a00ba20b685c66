"""Backfills, and the runs on their links, in a unit of work."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, insert, select, text, update
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.storable import LARGEST_BIGINT
from service.adapters.postgres.trunk.branches import CUT_SHORT, SLOWER_RESULTS, WORSENING
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.backfill import Backfill, LinkTries
from service.domain.trunk.spread import FLOOR, LEAST, WITHIN_DAYS
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.ports.backfill import Backfills, StoredBackfill

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import RowMapping

    from service.domain.verdict.calibration.schedule import BranchKey

_MOST_LISTED: Final = 100
_MOST_AGAIN: Final = 10  # one is started at a time; some cannot be measured any more
_MEASURED: Final = text(f"""
SELECT coalesce(nullif(r.merged_as, ''), r.revision) FROM run AS r
WHERE r.kind = '{RunKind.POST_SUBMIT}' AND (r.instance, r.project, r.branch) = (:instance, :project, :branch)
  AND coalesce(nullif(r.merged_as, ''), r.revision) = ANY(cast(:revisions AS text[]))
  AND (r.{t.UNFINISHED_RUN} OR NOT EXISTS (
      SELECT FROM unnest(cast(:jobs AS text[])) AS asked (job)
      WHERE NOT EXISTS (
          SELECT FROM run_build AS rb JOIN build AS b ON b.id = rb.build_id
          WHERE rb.run_id = r.id AND b.job = asked.job AND (b.outcome = '{Outcome.NOT_BUILT}' OR EXISTS (
              SELECT FROM comparison AS k WHERE k.build_id = b.id AND k.measured_at = b.created_at))
      )
  ))
""")  # noqa: S608 - put together from constants
_OF_BRANCH: Final = f"""
run.kind = '{RunKind.ANCHOR}'
AND (run.pool, run.instance, run.project, run.branch) = (:pool, :instance, :project, :branch)
"""
_TRIES: Final = text(f"""
SELECT parent, revision, count(*) AS tries, coalesce(bool_or(is_measured), false) AS is_measured,
       count(*) FILTER (WHERE is_ended AND NOT is_measured) AS failed
FROM (
    SELECT run.parent, run.revision, ended.is_ended,
           ended.is_ended AND run.state = '{RunState.FINISHED}' AND NOT EXISTS (
               SELECT FROM run_build AS rb JOIN build AS b ON b.id = rb.build_id
               WHERE rb.run_id = run.id AND b.outcome NOT IN ('{Outcome.PASSED}', '{Outcome.NOT_BUILT}')
           ) AS is_measured
    FROM run CROSS JOIN LATERAL (
        SELECT run.state IN ('{RunState.FINISHED}', '{RunState.REFUSED}') AND NOT EXISTS ({CUT_SHORT})
            AS is_ended
    ) AS ended
    WHERE {_OF_BRANCH} AND run.committed_at IS NOT NULL AND run.parent IS NOT NULL
) AS tried
GROUP BY parent, revision
""")  # noqa: S608 - put together from constants
_SLOWER: Final = text(f"""
SELECT DISTINCT a.id, b.id AS build_id, a.committed_at
FROM (
    SELECT * FROM run
    WHERE {_OF_BRANCH} AND run.state = '{RunState.FINISHED}'
      AND run.created_at > now() - interval '{WITHIN_DAYS} days'
      AND (run.committed_at IS NOT NULL OR EXISTS (
          SELECT FROM regression WHERE narrowed_run_id = run.id AND narrowed_commits = 1
      ))
) AS a
{SLOWER_RESULTS}
WHERE made.tries = 0
  AND {WORSENING % ("k.ratio", "k.ratio")} >= {LEAST} AND {WORSENING % ("k.high", "k.low")} >= {FLOOR}
ORDER BY a.committed_at DESC, a.id DESC, build_id LIMIT {_MOST_AGAIN}
""")  # noqa: S608 - put together from constants


class PostgresBackfills(Connected, Backfills):
    """Rows of the table ``backfill``, and of ``run`` with the moment of a commit."""

    @override
    def add(self, backfill: Backfill, requested_by: str) -> int:
        new = insert(t.backfill).values(requested_by=requested_by, **asdict(backfill))
        return int(self._execute(new.returning(t.backfill.c.id)).scalar_one())

    @override
    def list(self) -> Sequence[StoredBackfill]:
        newest = select(t.backfill).order_by(t.backfill.c.ended_at.is_not(None), t.backfill.c.id.desc())
        return [_stored(row) for row in self._execute(newest.limit(_MOST_LISTED)).mappings()]

    @override
    def waiting(self) -> Sequence[StoredBackfill]:
        waiting = select(t.backfill).where(t.backfill.c.ended_at.is_(None)).order_by(t.backfill.c.id)
        return [_stored(row) for row in self._execute(waiting).mappings()]

    @override
    def note(self, backfill_id: int, links: int, left: int, failed: int) -> None:
        progress = {"links": links, "remaining": left, "failed": failed}
        ended = {} if left else {"ended_at": func.now()}
        self._execute(
            update(t.backfill)
            .where(t.backfill.c.id == backfill_id, t.backfill.c.ended_at.is_(None))
            .values(**progress, **ended)
        )

    @override
    def cancel(self, backfill_id: int) -> bool:
        is_it = t.backfill.c.id == min(backfill_id, LARGEST_BIGINT)
        if self._execute(select(t.backfill.c.id).where(is_it)).first() is None:
            raise NotFound(f"there is no backfill {backfill_id}")
        ended = update(t.backfill).where(is_it, t.backfill.c.ended_at.is_(None))
        return self._execute(ended.values(ended_at=func.now())).rowcount > 0

    @override
    def measured_in(
        self, key: BranchKey, jobs: Collection[str], revisions: Collection[str]
    ) -> frozenset[str]:
        keys = {**asdict(key), "jobs": [*jobs], "revisions": [*revisions]}
        return frozenset(self._execute(_MEASURED, keys).scalars())

    @override
    def tries(self, key: BranchKey) -> Mapping[tuple[str, str], LinkTries]:
        rows = self._execute(_TRIES, asdict(key)).mappings()
        return {(row["parent"], row["revision"]): from_row(LinkTries, row) for row in rows}

    @override
    def slower(self, key: BranchKey) -> Sequence[tuple[int, int]]:
        return [(row.id, row.build_id) for row in self._execute(_SLOWER, asdict(key))]


def _stored(row: RowMapping) -> StoredBackfill:
    return from_row(StoredBackfill, row, backfill=from_row(Backfill, row), left=row["remaining"])
