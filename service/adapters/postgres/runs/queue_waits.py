"""Read how long queued builds are expected to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.runs.machine_states import IS_SILENT, WITH_CLOSURE, obstacle_to
from service.domain.runs.expected_wait import expected_wait
from service.domain.runs.states import BuildState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection, RowMapping

_NEWEST: Final = 50  # builds of a job that are looked at: the specification of each is read
# The median of the job's last builds of this kind of run; fewer than three say nothing.
_UNFINISHED: Final = text(f"""
WITH unfinished AS MATERIALIZED (
    SELECT id, job, pool, spec ->> 'kind' AS kind, state, is_exclusive, priority,
           cast(extract(epoch FROM now() - started_at) AS float) AS so_far
    FROM build
    WHERE pool = ANY(cast(:pools AS text[])) AND state IN ('queued', 'running') AND NOT cancel_requested
)
SELECT id, pool, state, is_exclusive, so_far, usual.seconds
FROM unfinished LEFT JOIN (
    SELECT b.*, CASE WHEN last.builds >= 3 THEN last.seconds END AS seconds
    FROM (SELECT DISTINCT job, pool, kind FROM unfinished) AS b CROSS JOIN LATERAL (
        SELECT count(*) AS builds, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds
        FROM (
            SELECT cast(extract(epoch FROM d.finished_at - d.started_at) AS float) AS seconds
            FROM (SELECT * FROM build WHERE job = b.job ORDER BY number DESC LIMIT {_NEWEST}) AS d
            WHERE d.spec ->> 'kind' = b.kind AND d.pool = b.pool
              AND d.state = 'finished' AND d.result <> 'ABORTED' AND d.started_at IS NOT NULL
            ORDER BY d.number DESC LIMIT 5
        ) AS durations
    ) AS last
) AS usual USING (job, pool, kind)
ORDER BY priority, id
""")  # noqa: S608 - put together from constants
_MACHINES: Final = text(f"""
SELECT m.pool, build.is_exclusive, count(*) AS machines
FROM {WITH_CLOSURE} CROSS JOIN (VALUES (true), (false)) AS build (is_exclusive)
WHERE m.pool = ANY(cast(:pools AS text[])) AND {obstacle_to("build.is_exclusive")} = '' AND NOT {IS_SILENT}
GROUP BY 1, 2
""")  # noqa: S608 - put together from constants


def expected_waits(connection: Connection, builds: Iterable[RowMapping]) -> Mapping[int, float | None]:
    """Return the expected seconds until queued builds begin, by id; None: not known.

    ``builds`` are rows with place and pool; those without a place are left out.
    """
    pools = sorted({each["pool"] for each in builds if each["place"] is not None})
    if not pools:
        return {}
    rows = connection.execute(_MACHINES, {"pools": pools})
    machines = {(row.pool, row.is_exclusive): row.machines for row in rows}
    unfinished = connection.execute(_UNFINISHED, {"pools": pools}).all()
    found: dict[int, float | None] = {}
    for pool in pools:
        own = [row for row in unfinished if row.pool == pool]
        running = [(row.seconds, row.so_far or 0.0) for row in own if row.state == BuildState.RUNNING]
        queued = [row for row in own if row.state == BuildState.QUEUED]
        usual = [row.seconds for row in queued]
        for place, row in enumerate(queued):
            found[row.id] = expected_wait(running, usual[:place], machines.get((pool, row.is_exclusive), 0))
    return found
