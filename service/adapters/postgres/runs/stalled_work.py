"""Find work that does not go on: lost builds, lost hints, and failed steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, text
from typing_extensions import override

from service.adapters.postgres.connection import ShortTransactions
from service.adapters.postgres.runs.machine_states import IS_CLOSED
from service.adapters.postgres.runs.pools import SEEN_WITHIN_SECONDS
from service.adapters.postgres.schema import UNFINISHED_RUN
from service.adapters.postgres.storable import CleanText
from service.ports.runs.queue import Task
from service.ports.runs.upkeep import LostBuilds, StalledWork, StepFailure, StepFailures

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_WAIT_SECONDS: Final = 300

_RECORD = text("""
INSERT INTO setback AS s (task, entity, attempts, next_at, is_dead, last_error)
VALUES (:task, :entity, 1, now() + interval '2 s', :max_attempts <= 1, :error)
ON CONFLICT (task, entity) DO UPDATE SET
    attempts = s.attempts + 1,
    next_at = now() + make_interval(secs => least(power(2, least(s.attempts + 1, 30)), :longest)),
    is_dead = s.attempts + 1 >= :max_attempts,
    last_error = excluded.last_error
RETURNING attempts, is_dead
""").bindparams(bindparam("error", type_=CleanText))
_CLEAR = text("DELETE FROM setback WHERE task = :task AND entity = :entity")
# A machine measures for two seconds before it reports that other work hinders it.
HINDERED_SECONDS: Final = 10

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
    SELECT 'analyse', build_id, e.created_at
    FROM explanation AS e JOIN run_build USING (build_id) JOIN run ON run.id = run_id
    -- Not for long, because no message follows if an explanation has nothing to do with the vote.
    WHERE e.created_at > now() - interval '1 minute' AND run.state = 'finished' AND run.kind = 'check'
      AND NOT EXISTS (SELECT FROM outbox WHERE dedup_key = 'run/' || run.id || '/why/' || build_id)
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
# As many builds of a pool as it has idle machines; one if no machine was seen, since one may just have come.
# A machine that something hindered lately is not idle, nor one on a host that is closed or runs an exclusive
# build.
_IDLE = text(f"""
WITH seen AS (
    SELECT pool, count(*) AS machines, count(*) FILTER (WHERE NOT EXISTS (
        SELECT FROM machine beside
        JOIN lease l ON l.machine = beside.name AND l.expires_at > clock_timestamp()
        JOIN build b ON b.id = l.build_id
        WHERE beside.host = m.host AND (beside.name = m.name OR b.is_exclusive)
    ) AND NOT {IS_CLOSED} AND (
        obstacle = '' OR last_seen_at <= now() - make_interval(secs => :hindered))) AS idle
    FROM machine AS m WHERE last_seen_at > now() - make_interval(secs => :seen_within) GROUP BY pool
), waiting AS (
    SELECT pool, id, row_number() OVER (PARTITION BY pool ORDER BY priority, turn, id) AS place
    FROM build
    WHERE state = 'queued' AND NOT cancel_requested AND not_before <= now() AND deadline_at > now()
      AND created_at < now() - make_interval(secs => :older_than)
)
SELECT pool, id FROM waiting LEFT JOIN seen USING (pool)
WHERE place <= CASE WHEN machines IS NULL THEN 1 ELSE idle END
ORDER BY pool, place
""")  # noqa: S608 - put together from constants
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
# A machine died while it explained what it had reported.
_DROP_LEASES = text("""
DELETE FROM lease USING build
WHERE lease.build_id = ANY(cast(:ids AS bigint[])) AND build.id = lease.build_id
  AND build.state IN ('executed', 'finished')
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
# Its only machine is not seen, closed or hindered, and may stay so.
_FORSAKEN = f"""
(state = 'queued' AND for_machine <> '' AND created_at < now() - interval '10 minutes' AND NOT EXISTS (
    SELECT FROM machine AS m
    WHERE m.name = build.for_machine AND m.pool = build.pool
      AND m.last_seen_at > now() - interval '10 minutes' AND m.obstacle = '' AND NOT {IS_CLOSED}
))
"""
_UNWANTED = text(f"""
SELECT id FROM build WHERE state <> 'finished' AND NOT cancel_requested AND (NOT {_WANTED} OR {_FORSAKEN})
ORDER BY id FOR NO KEY UPDATE
""")  # noqa: S608 - put together from constants
_DROP = text(f"""
UPDATE build SET cancel_requested = true
WHERE id = ANY(cast(:ids AS bigint[])) AND (NOT {_WANTED} OR {_FORSAKEN})
""")  # noqa: S608 - as above
_CANCELLED = text(f"SELECT id FROM build WHERE cancel_requested AND {_NOT_HELD} ORDER BY id")  # noqa: S608 - as above


class PostgresStalledWork(ShortTransactions, LostBuilds, StalledWork, StepFailures):
    """Builds with machines' leases on them, rows that wait for a step, and the table ``setback``.

    The wait of a step doubles with each failure, up to 300 s.
    """

    @override
    def requeue_lost_builds(self, max_attempts: int) -> Sequence[int]:
        with self._begin() as connection:
            expired = connection.execute(_EXPIRED).scalars().all()
            values = {"ids": list(expired), "max_attempts": max_attempts}
            queued = connection.execute(_REQUEUE, values).scalars().all()
            connection.execute(_FORGET_LEASES, {"ids": list(queued)})
            connection.execute(_DROP_LEASES, {"ids": list(expired)})
            return connection.execute(_GIVEN_UP, values).scalars().all()

    @override
    def overdue_builds(self) -> Sequence[int]:
        return [row.id for row in self._all(_OVERDUE)]

    @override
    def drop_unwanted_builds(self) -> None:
        with self._begin() as connection:
            # Locked before they are checked again: a run that adopts one now waits, or adopted it before.
            ids = connection.execute(_UNWANTED).scalars().all()
            if ids:
                connection.execute(_DROP, {"ids": list(ids)})

    @override
    def cancelled_builds(self) -> Sequence[int]:
        return [row.id for row in self._all(_CANCELLED)]

    @override
    def stalled(self, older_than: float) -> Sequence[tuple[Task, int]]:
        return [(Task(row.task), row.entity) for row in self._all(_STALLED, older_than=older_than)]

    @override
    def idle_pools(self, older_than: float) -> Sequence[tuple[str, int]]:
        values = {"seen_within": SEEN_WITHIN_SECONDS, "hindered": HINDERED_SECONDS}
        return [(row.pool, row.id) for row in self._all(_IDLE, older_than=older_than, **values)]

    @override
    def record_step_failure(self, task: Task, entity: int, error: str, *, max_attempts: int) -> StepFailure:
        step = {"task": task, "entity": entity, "longest": LONGEST_WAIT_SECONDS}
        [row] = self._all(_RECORD, error=error, max_attempts=max_attempts, **step)
        return StepFailure(row.attempts, row.is_dead)

    @override
    def clear_step_failure(self, task: Task, entity: int) -> None:
        self._do(_CLEAR, task=task, entity=entity)
