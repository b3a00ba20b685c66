"""Work whose hint was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.short_transactions import Session
from service.adapters.postgres.upkeep.heartbeats import SEEN_WITHIN_SECONDS
from service.ports.queue import Task
from service.ports.upkeep import StalledWork

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class PostgresStalledWork(Session, StalledWork):
    """Events, runs, comments and builds that wait for a step."""

    @override
    def stalled(self, older_than: float) -> Sequence[tuple[Task, int]]:
        with self._begin() as connection:
            found = connection.execute(_STALLED, {"older_than": older_than}).all()
        return [(Task(row.task), row.entity) for row in found]

    @override
    def idle_pools(self, older_than: float) -> Sequence[tuple[str, int]]:
        values = {
            "older_than": older_than,
            "seen_within": SEEN_WITHIN_SECONDS,
            "hindered": HINDERED_SECONDS,
        }
        with self._begin() as connection:
            return [(row.pool, row.id) for row in connection.execute(_IDLE, values)]
