"""Finds what waits for something that will not come by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.session import Session
from service.ports.queue import Task

if TYPE_CHECKING:
    from collections.abc import Sequence

SEEN_WITHIN_SECONDS: Final = 60  # every machine is asked for a sign of life twice in that time
# A machine looks for two seconds before it says that other work hinders it.
HINDERED_SECONDS: Final = 10

# The lease is locked first, as every write of a machine does: who holds it cannot be renewing it.
_EXPIRED = text("""
SELECT build_id FROM lease WHERE expires_at <= clock_timestamp() ORDER BY build_id FOR UPDATE SKIP LOCKED
""")
# A cancelled build goes back whatever its attempts, where it is found as cancelled.
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
# Nothing is changed for these but by the caller, so they are found again should the caller die.
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
# One that was executed has its result and is analysed however late; unless that has failed for good.
_OVERDUE = text(f"""
SELECT id FROM build WHERE deadline_at <= now() AND NOT cancel_requested AND ({_NOT_HELD} OR (
    state = 'executed'
    AND EXISTS (SELECT FROM setback s WHERE s.task = 'analyse' AND s.entity = build.id AND s.is_dead)
))
ORDER BY id
""")  # noqa: S608 - put together from constants
# Wanted by a run that is not finished, or perhaps by one of its change that is being planned.
_WANTED = """
EXISTS (
    SELECT FROM run_build JOIN run ON run.id = run_build.run_id
    LEFT JOIN patch_set ON patch_set.id = run.patch_set_id
    WHERE run_build.build_id = build.id AND (run.state IN ('planning', 'running') OR EXISTS (
        SELECT FROM run AS other JOIN patch_set AS newer ON newer.id = other.patch_set_id
        WHERE other.state = 'planning' AND newer.change_id = patch_set.change_id
          AND other.created_at > now() - interval '5 minutes'  -- a plan that keeps failing holds nobody up
    ))
)
"""
_UNWANTED = text(f"""
SELECT id FROM build WHERE state <> 'finished' AND NOT cancel_requested AND NOT {_WANTED}
ORDER BY id FOR NO KEY UPDATE
""")  # noqa: S608 - put together from constants
_DROP = text(f"""
UPDATE build SET cancel_requested = true WHERE id = ANY(cast(:ids AS bigint[])) AND NOT {_WANTED}
""")  # noqa: S608 - as above
_CANCELLED = text(f"SELECT id FROM build WHERE cancel_requested AND {_NOT_HELD} ORDER BY id")  # noqa: S608 - as above

_STALLED = text("""
WITH waiting (task, entity, since) AS (
    SELECT 'handle_event', id, received_at FROM event WHERE handled_at IS NULL
    UNION ALL
    SELECT 'plan', id, created_at FROM run WHERE state = 'planning'
    UNION ALL
    SELECT 'run_comment_commands', id, created_at FROM heard WHERE state = 'pending'
    UNION ALL
    SELECT 'analyse', id, executed_at FROM build WHERE state = 'executed'
    UNION ALL
    SELECT 'vote', run.id, greatest(run.created_at, max(build.finished_at))
    FROM run LEFT JOIN run_build ON run_build.run_id = run.id LEFT JOIN build ON build.id = run_build.build_id
    WHERE run.state = 'running'
    GROUP BY run.id
    HAVING coalesce(bool_and(build.state = 'finished'), true)
)
SELECT task, entity FROM waiting
WHERE since < now() - make_interval(secs => :older_than) AND NOT EXISTS (
    SELECT FROM setback s
    WHERE s.task = waiting.task AND s.entity = waiting.entity AND (s.is_dead OR s.next_at > now())
)
ORDER BY since, entity LIMIT 500
""")
# As many builds of a pool as it has idle machines; one where none was seen, since it may just have come.
# A machine that something hindered lately is not idle.
_IDLE = text("""
WITH seen AS (
    SELECT pool, count(*) AS machines, count(*) FILTER (WHERE NOT EXISTS (
        SELECT FROM lease l WHERE l.machine = machine.name AND l.expires_at > clock_timestamp()
    ) AND (obstacle = '' OR last_seen_at <= now() - make_interval(secs => :hindered))) AS idle
    FROM machine WHERE last_seen_at > now() - make_interval(secs => :seen_within) GROUP BY pool
), waiting AS (
    SELECT pool, id, row_number() OVER (PARTITION BY pool ORDER BY priority, id) AS place
    FROM build
    WHERE state = 'queued' AND NOT cancel_requested AND not_before <= now() AND deadline_at > now()
      AND created_at < now() - make_interval(secs => :older_than)
)
SELECT pool, id FROM waiting LEFT JOIN seen USING (pool)
WHERE place <= CASE WHEN machines IS NULL THEN 1 ELSE idle END
ORDER BY pool, place
""")
_POOLS = text(
    "SELECT DISTINCT pool FROM machine WHERE last_seen_at > now() - interval '10 minutes' ORDER BY pool"
)


class Watch(Session):
    """Builds, runs and events that nothing woke."""

    def requeue_lost_builds(self, max_attempts: int) -> Sequence[int]:
        """Builds whose machine fell silent: queued again, or given up (those are returned).

        A build that is given up stays as it is, and is returned each time, until it is finished.
        """
        with self._begin() as connection:
            expired = connection.execute(_EXPIRED).scalars().all()
            values = {"ids": list(expired), "max_attempts": max_attempts}
            queued = connection.execute(_REQUEUE, values).scalars().all()
            connection.execute(_FORGET_LEASES, {"ids": list(queued)})
            return connection.execute(_GIVEN_UP, values).scalars().all()

    def overdue_builds(self) -> Sequence[int]:
        """Unfinished builds past their deadline that no machine holds."""
        with self._begin() as connection:
            return connection.execute(_OVERDUE).scalars().all()

    def drop_unwanted_builds(self) -> None:
        """Ask for the end of builds that no unfinished run wants, nor one that is being planned may want."""
        with self._begin() as connection:
            # Locked before the question is put again: what adopts one now waits, or was here before us.
            ids = connection.execute(_UNWANTED).scalars().all()
            if ids:
                connection.execute(_DROP, {"ids": list(ids)})

    def cancelled_builds(self) -> Sequence[int]:
        """Builds that nobody wants any more and that no machine holds."""
        with self._begin() as connection:
            return connection.execute(_CANCELLED).scalars().all()

    def stalled(self, older_than: float) -> Sequence[tuple[Task, int]]:
        """(task, entity) of everything that has waited so many seconds for its step, the longest first.

        What failed is left out until it may be tried again.
        """
        with self._begin() as connection:
            found = connection.execute(_STALLED, {"older_than": older_than}).all()
        return [(Task(row.task), row.entity) for row in found]

    def idle_pools(self, older_than: float) -> Sequence[tuple[str, int]]:
        """(pool, build) where builds have waited so many seconds and no machine is known to be busy.

        A machine that said what hinders it is asked again after :data:`HINDERED_SECONDS`.
        """
        values = {
            "older_than": older_than,
            "seen_within": SEEN_WITHIN_SECONDS,
            "hindered": HINDERED_SECONDS,
        }
        with self._begin() as connection:
            return [(row.pool, row.id) for row in connection.execute(_IDLE, values)]

    def pools(self) -> Sequence[str]:
        """The pools in which a machine was seen within the last minutes."""
        with self._begin() as connection:
            return connection.execute(_POOLS).scalars().all()
