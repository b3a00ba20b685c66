"""How machines and the state of the service are read for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.domain.health import Condition, Heartbeat, PoolQueue
from service.ports.views import MachineView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_MACHINES: Final = text("""
SELECT m.name, m.class, m.pool, m.first_seen_at, m.last_seen_at, m.environment_id, m.obstacle,
       e.facts, b.job, b.number
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
_PULSES: Final = text("SELECT part, beat_at, note FROM pulse ORDER BY part")


def machine_list(connection: Connection) -> Sequence[MachineView]:
    """All machines by pool and name."""
    return [
        MachineView(
            name=row["name"],
            machine_class=row["class"],
            pool=row["pool"],
            first_seen_at=row["first_seen_at"],
            last_seen_at=row["last_seen_at"],
            environment_id=row["environment_id"],
            environment=row["facts"] or {},
            build=None if row["job"] is None else (row["job"], row["number"]),
            obstacle=row["obstacle"],
        )
        for row in connection.execute(_MACHINES).mappings()
    ]


def condition(connection: Connection) -> Condition:
    """The facts that tell whether the service is well."""
    facts = connection.execute(_FACTS).mappings().one()
    queues = tuple(PoolQueue(*row) for row in connection.execute(_QUEUES))
    pulses = tuple(Heartbeat(*row) for row in connection.execute(_PULSES))
    return Condition(**facts, queues=queues, heartbeats=pulses)
