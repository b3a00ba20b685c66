"""Builds that no machine works on, or that nobody wants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.schema import UNFINISHED_RUN
from service.adapters.postgres.short_transactions import Session
from service.ports.upkeep import LostBuilds

if TYPE_CHECKING:
    from collections.abc import Sequence

# Every write of a machine locks the lease first, so that none renews a lease that is locked here.
_EXPIRED = text("""
SELECT build_id FROM lease WHERE expires_at <= clock_timestamp() ORDER BY build_id FOR UPDATE SKIP LOCKED
""")
# A build to cancel is queued whatever its attempts; `cancelled_builds` finds it there.
_REQUEUE = text("""
UPDATE build SET state = 'queued', phase = ''
WHERE id = ANY(cast(:ids AS bigint[])) AND state = 'running' AND (attempt < :max_attempts OR cancel_requested)
RETURNING id
""")
_FORGET_LEASES = text("""
WITH forgotten AS (DELETE FROM lease WHERE build_id = ANY(cast(:ids AS bigint[])))
INSERT INTO outbox (kind, payload)
SELECT 'task', jsonb_build_object('task', 'execute', 'entity', id, 'pool', pool)
FROM build WHERE id = ANY(cast(:ids AS bigint[])) AND NOT cancel_requested
""")
# Only the caller changes these, so they are found again if the caller dies.
_GIVEN_UP = text("""
SELECT id FROM build
WHERE id = ANY(cast(:ids AS bigint[])) AND state = 'running' AND attempt >= :max_attempts
  AND NOT cancel_requested
ORDER BY id
""")
_NOT_HELD = """
state IN ('queued', 'running')
AND NOT EXISTS (SELECT FROM lease l WHERE l.build_id = build.id AND l.expires_at > clock_timestamp())
"""
# An executed build has its result and is analysed however late, unless its analysis failed for good.
_OVERDUE = text(f"""
SELECT id FROM build WHERE deadline_at <= now() AND NOT cancel_requested AND ({_NOT_HELD} OR (
    state = 'executed'
    AND EXISTS (SELECT FROM setback s WHERE s.task = 'analyse' AND s.entity = build.id AND s.is_dead)
))
ORDER BY id
""")  # noqa: S608 - put together from constants
# Wanted by a run that is not finished, or perhaps by one of its change that is being planned.
_WANTED = f"""
EXISTS (
    SELECT FROM run_build JOIN run ON run.id = run_build.run_id
    LEFT JOIN patch_set ON patch_set.id = run.patch_set_id
    WHERE run_build.build_id = build.id AND (run.{UNFINISHED_RUN} OR EXISTS (
        SELECT FROM run AS other JOIN patch_set AS newer ON newer.id = other.patch_set_id
        WHERE other.state = 'planning' AND newer.change_id = patch_set.change_id
          AND other.created_at > now() - interval '5 minutes'  -- a plan that keeps failing blocks nobody
    ))
)
"""  # noqa: S608 - put together from constants
_UNWANTED = text(f"""
SELECT id FROM build WHERE state <> 'finished' AND NOT cancel_requested AND NOT {_WANTED}
ORDER BY id FOR NO KEY UPDATE
""")  # noqa: S608 - put together from constants
_DROP = text(f"""
UPDATE build SET cancel_requested = true WHERE id = ANY(cast(:ids AS bigint[])) AND NOT {_WANTED}
""")  # noqa: S608 - as above
_CANCELLED = text(f"SELECT id FROM build WHERE cancel_requested AND {_NOT_HELD} ORDER BY id")  # noqa: S608 - as above


class PostgresLostBuilds(Session, LostBuilds):
    """Builds in the table ``build``, and machines' leases on them."""

    @override
    def requeue_lost_builds(self, max_attempts: int) -> Sequence[int]:
        with self._begin() as connection:
            expired = connection.execute(_EXPIRED).scalars().all()
            values = {"ids": list(expired), "max_attempts": max_attempts}
            queued = connection.execute(_REQUEUE, values).scalars().all()
            connection.execute(_FORGET_LEASES, {"ids": list(queued)})
            return connection.execute(_GIVEN_UP, values).scalars().all()

    @override
    def overdue_builds(self) -> Sequence[int]:
        with self._begin() as connection:
            return connection.execute(_OVERDUE).scalars().all()

    @override
    def drop_unwanted_builds(self) -> None:
        with self._begin() as connection:
            # Locked before they are checked again: a run that adopts one now waits, or adopted it before.
            ids = connection.execute(_UNWANTED).scalars().all()
            if ids:
                connection.execute(_DROP, {"ids": list(ids)})

    @override
    def cancelled_builds(self) -> Sequence[int]:
        with self._begin() as connection:
            return connection.execute(_CANCELLED).scalars().all()
