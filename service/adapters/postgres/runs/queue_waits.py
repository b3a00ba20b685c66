"""Read how long queued builds are expected to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.domain.runs.expected_wait import expected_wait
from service.domain.runs.states import BuildState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection, RowMapping

# The median of the job's last builds of this kind of run; fewer than three say nothing.
_UNFINISHED: Final = text("""
SELECT b.id, b.pool, b.state, cast(extract(epoch FROM now() - b.started_at) AS float) AS so_far, usual.seconds
FROM build AS b CROSS JOIN LATERAL (
    SELECT CASE WHEN count(*) >= 3 THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) END AS seconds
    FROM (
        SELECT cast(extract(epoch FROM d.finished_at - d.started_at) AS float) AS seconds FROM build AS d
        WHERE d.job = b.job AND d.spec ->> 'kind' = b.spec ->> 'kind' AND d.pool = b.pool
          AND d.state = 'finished' AND d.result <> 'ABORTED' AND d.started_at IS NOT NULL
        ORDER BY d.number DESC LIMIT 5
    ) AS last
) AS usual
WHERE b.pool = ANY(cast(:pools AS text[])) AND b.state IN ('queued', 'running') AND NOT b.cancel_requested
ORDER BY b.priority, b.id
""")
_MACHINES: Final = text("""
SELECT pool, count(*) AS machines FROM machine
WHERE pool = ANY(cast(:pools AS text[])) AND obstacle = '' AND last_seen_at > now() - interval '1 minute'
GROUP BY pool
""")


def expected_waits(connection: Connection, builds: Iterable[RowMapping]) -> Mapping[int, float | None]:
    """Return the expected seconds until queued builds begin, by id; None: not known.

    ``builds`` are rows with place and pool; those without a place are left out.
    """
    pools = sorted({each["pool"] for each in builds if each["place"] is not None})
    if not pools:
        return {}
    machines = {row.pool: row.machines for row in connection.execute(_MACHINES, {"pools": pools})}
    rows = connection.execute(_UNFINISHED, {"pools": pools}).all()
    found: dict[int, float | None] = {}
    for pool in pools:
        own = [row for row in rows if row.pool == pool]
        running = [(row.seconds, row.so_far or 0.0) for row in own if row.state == BuildState.RUNNING]
        queued = [row for row in own if row.state == BuildState.QUEUED]
        usual = [row.seconds for row in queued]
        for place, row in enumerate(queued):
            found[row.id] = expected_wait(running, usual[:place], machines.get(pool, 0))
    return found
