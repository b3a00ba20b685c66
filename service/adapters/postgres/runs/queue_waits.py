"""Read what queued builds wait for, and how long."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.runs.machine_states import (
    IS_BUSY,
    IS_GONE,
    IS_SILENT,
    WITH_CLOSURE,
    obstacle_to,
)
from service.adapters.postgres.runs.turns import usual_seconds
from service.adapters.postgres.schema import TURN_ORDER
from service.domain.runs.expected_waits import expected_waits
from service.domain.runs.states import BuildState
from service.domain.wording.standing import PoolMachine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

# Where none is stored, the usual duration is the one of now: the job had not run often, or the version before
# added the build.
_UNFINISHED: Final = text(f"""
WITH unfinished AS MATERIALIZED (
    SELECT id, job, pool, state, is_exclusive, usual, priority, turn,
           CASE WHEN usual IS NULL THEN spec ->> 'kind' END AS run_kind,
           cast(extract(epoch FROM now() - started_at) AS float) AS so_far
    FROM build
    WHERE pool = ANY(cast(:pools AS text[])) AND state IN ('queued', 'running') AND NOT cancel_requested
), known AS MATERIALIZED (
    SELECT late.*, found.seconds
    FROM (SELECT DISTINCT job, pool, run_kind FROM unfinished WHERE usual IS NULL) AS late
    CROSS JOIN LATERAL ({usual_seconds("late.job", "late.pool", "late.run_kind")}) AS found
)
SELECT b.id, b.pool, b.state, b.is_exclusive, coalesce(b.usual, known.seconds) AS usual, b.so_far
FROM unfinished AS b LEFT JOIN known USING (job, pool, run_kind)
ORDER BY {TURN_ORDER.format("b")}
""")  # noqa: S608 - put together from constants
_MACHINES: Final = text(f"""
SELECT m.pool, build.is_exclusive, m.name, {obstacle_to("build.is_exclusive")} AS obstacle,
       {IS_SILENT} AS is_silent, {IS_BUSY} AS is_busy, coalesce(shut.closed_by, '') AS closed_by
FROM {WITH_CLOSURE} CROSS JOIN (VALUES (true), (false)) AS build (is_exclusive)
WHERE m.pool = ANY(cast(:pools AS text[])) AND (shut.id IS NOT NULL OR NOT {IS_GONE})
ORDER BY m.name
""")  # noqa: S608 - put together from constants


@dataclass(frozen=True, slots=True)
class Queues:
    """Machines that queued builds wait for, and how long.

    ``waits`` are the expected seconds until they begin, by id; None: not known. ``machines`` are those of a
    pool, with what keeps them from a build that is exclusive, or from one that is not.
    """

    waits: Mapping[int, float | None]
    machines: Mapping[tuple[str, bool], Sequence[PoolMachine]]


def queues_of(connection: Connection, builds: Iterable[RowMapping]) -> Queues:
    """Read what builds wait for: rows with place and pool. Those without a place are left out."""
    pools = sorted({each["pool"] for each in builds if each["place"] is not None})
    waits: dict[int, float | None] = {}
    machines: defaultdict[tuple[str, bool], list[PoolMachine]] = defaultdict(list)
    if not pools:
        return Queues(waits, machines)
    for row in connection.execute(_MACHINES, {"pools": pools}):
        machine = PoolMachine(
            row.name, row.obstacle, is_silent=row.is_silent, is_busy=row.is_busy, closed_by=row.closed_by
        )
        machines[row.pool, row.is_exclusive].append(machine)
    unfinished = connection.execute(_UNFINISHED, {"pools": pools}).all()
    for pool in pools:
        own = [row for row in unfinished if row.pool == pool]
        running = [(row.usual, row.so_far or 0.0) for row in own if row.state == BuildState.RUNNING]
        queued = [row for row in own if row.state == BuildState.QUEUED]
        able = {
            is_exclusive: sum(not (each.obstacle or each.is_silent) for each in machines[pool, is_exclusive])
            for is_exclusive in (True, False)
        }
        found = expected_waits(running, [(row.usual, row.is_exclusive) for row in queued], able)
        waits |= {row.id: wait for row, wait in zip(queued, found, strict=True)}
    return Queues(waits, machines)
