"""Machines, and the condition of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.reading.snapshots import LARGEST_BIGINT, Snapshots
from service.adapters.postgres.reading.voting_status import voting_status_list
from service.adapters.postgres.rows import from_row
from service.domain.health import Condition, Heartbeat, PoolQueue
from service.domain.identity import BuildName
from service.ports.reading import MachineReading
from service.ports.views import Machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.views import SeriesVotingStatus

_MACHINES: Final = text("""
SELECT m.name, m.class AS machine_class, m.pool, m.first_seen_at, m.last_seen_at, m.environment_id,
       m.obstacle, coalesce(e.facts, '{}') AS environment, b.job, b.number
FROM machine AS m
LEFT JOIN environment AS e ON e.id = m.environment_id
LEFT JOIN lease AS l ON l.machine = m.name AND l.expires_at > now()
LEFT JOIN build AS b ON b.id = l.build_id
ORDER BY m.pool, m.name
""")
# Each part reads one partial index or a table of a few rows.
_FACTS: Final = text("""
SELECT now() AS now,
       (SELECT min(received_at) FROM event WHERE handled_at IS NULL) AS oldest_unhandled_event_at,
       (SELECT count(*) FROM outbox WHERE state = 'pending' AND kind = 'review') AS unsent_reviews,
       (SELECT min(created_at) FROM outbox WHERE state = 'pending' AND kind = 'review')
           AS oldest_unsent_review_at,
       coalesce((SELECT last_error FROM outbox WHERE state = 'pending' AND kind = 'review'
                 ORDER BY created_at LIMIT 1), '') AS why_unsent,
       (SELECT count(*) FROM setback WHERE is_dead) AS abandoned_steps
""")
# Nobody waits for a calibration.
_QUEUES: Final = text("""
SELECT coalesce(q.pool, m.pool) AS pool, coalesce(q.waiting, 0) AS waiting, q.oldest_at, m.machine_seen_at
FROM (
    SELECT pool, count(*) AS waiting, min(created_at) AS oldest_at FROM build
    WHERE state = 'queued' AND NOT cancel_requested AND spec ->> 'kind' IS DISTINCT FROM 'calibration'
    GROUP BY pool
) AS q
FULL JOIN (
    SELECT pool, max(last_seen_at) AS machine_seen_at FROM machine GROUP BY pool
) AS m ON m.pool = q.pool
ORDER BY 1
""")
_HEARTBEATS: Final = text("SELECT part, beat_at, trouble FROM pulse ORDER BY part")


class PostgresMachines(Snapshots, MachineReading):
    """Machines, their voting statuses and the service's condition, from the database."""

    @override
    def machines(self) -> Sequence[Machine]:
        with self._snapshot() as connection:
            rows = connection.execute(_MACHINES).mappings().all()
        return [
            from_row(Machine, row, build=None if row["job"] is None else BuildName(row["job"], row["number"]))
            for row in rows
        ]

    @override
    def voting_statuses(self, limit: int, after: int = 0) -> Sequence[SeriesVotingStatus]:
        with self._snapshot() as connection:
            return voting_status_list(connection, limit, min(after, LARGEST_BIGINT))

    @override
    def condition(self) -> Condition:
        with self._snapshot() as connection:
            facts = connection.execute(_FACTS).mappings().one()
            queues = tuple(PoolQueue(*row) for row in connection.execute(_QUEUES))
            heartbeats = tuple(Heartbeat(*row) for row in connection.execute(_HEARTBEATS))
        return Condition(**facts, queues=queues, heartbeats=heartbeats)
