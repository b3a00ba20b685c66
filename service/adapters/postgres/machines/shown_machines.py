"""Read machines, the voting statuses of series on them, and the service's condition."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.access.sight import (
    OF_BRANCHES,
    OF_HELD_BUILDS,
    Sighted,
    measured_in_sight,
    visible_branch,
    visible_build,
)
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.runs.activity import activity_of
from service.adapters.postgres.runs.failing_steps import failing_steps
from service.adapters.postgres.runs.machine_states import IS_BUSY, IS_GONE, IS_SILENT, WITH_CLOSURE
from service.adapters.postgres.runs.shown_builds import policy_of
from service.adapters.postgres.storable import LARGEST_BIGINT, clean
from service.adapters.postgres.verdict.measurements import SESSIONS, history_of, sessions_on_machine
from service.domain.machines.closures import Closure
from service.domain.machines.disk import in_sql
from service.domain.runs.health import VOTE_ON, Condition, Heartbeat, PoolQueue
from service.domain.runs.retention import StoredSize
from service.domain.values.identity import BuildName
from service.domain.verdict.calibration.evidence import RECALLED, voting_status_of
from service.domain.wording.health import HIDDEN_RIGHT
from service.domain.wording.standing import PoolMachine, hindrance
from service.ports.machines import Machine
from service.ports.reading import MachineReading
from service.ports.verdict import Series, SeriesVotingStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import RowMapping

    from service.domain.project.policy import Policy
    from service.domain.runs.activity import Activity

_MACHINES: Final = text(f"""
SELECT m.name, m.class AS machine_class, m.pool, m.host, m.first_seen_at, m.last_seen_at, m.environment_id,
       m.obstacle, m.version, {IS_BUSY} AS is_busy, coalesce(e.facts, '{{}}') AS environment, b.job, b.number,
       shut.begins_at, shut.ends_at, shut.reason, shut.closed_by
FROM machine AS m
LEFT JOIN LATERAL (
    SELECT * FROM closure
    WHERE closure.host = m.host AND (ends_at IS NULL OR ends_at > greatest(begins_at, now()))
    ORDER BY begins_at <= now() DESC,
             CASE WHEN begins_at <= now() THEN coalesce(ends_at, 'infinity') END DESC, begins_at, id
    LIMIT 1
) AS shut ON true
LEFT JOIN environment AS e ON e.id = m.environment_id
LEFT JOIN lease AS l ON l.machine = m.name AND l.expires_at > now()
LEFT JOIN build AS b ON b.id = l.build_id AND {visible_build("b.id")}
ORDER BY m.pool, m.name
""")  # noqa: S608 - put together from constants
# Each part reads one partial index or a table of a few rows. Nobody waits for an event that was given up.
_FACTS: Final = text("""
SELECT now() AS now,
       (SELECT min(received_at) FROM event WHERE handled_at IS NULL AND NOT EXISTS (
           SELECT FROM setback WHERE task = 'handle_event' AND entity = event.id AND is_dead
       )) AS oldest_unhandled_event_at,
       (SELECT count(*) FROM outbox WHERE state = 'pending' AND kind = 'review') AS unsent_reviews,
       (SELECT min(created_at) FROM outbox WHERE state = 'pending' AND kind = 'review')
           AS oldest_unsent_review_at,
       (SELECT count(*) FROM setback WHERE is_dead) AS abandoned_steps
""")
# Nobody waits for a calibration. An obstacle keeps machines from builds that are alone there, a closure or a
# full disk from all. A machine of a closed host is neither silent nor busy here: what ends either changes
# nothing. Nor does its heartbeat hide that those of open hosts are silent.
_QUEUES: Final = text(f"""
SELECT coalesce(q.pool, m.pool) AS pool, coalesce(q.waiting, 0) AS waiting, q.oldest_at, m.machine_seen_at,
       CASE WHEN m.are_closed AND q.oldest_at IS NOT NULL THEN greatest(m.hindered_at, q.oldest_at)
            WHEN m.are_hindered AND q.oldest_alone_at IS NOT NULL
            THEN greatest(m.hindered_at, q.oldest_alone_at) END AS hindered_at,
       m.awake AS machines
FROM (
    SELECT pool, count(*) AS waiting, min(created_at) AS oldest_at,
           min(created_at) FILTER (WHERE is_exclusive) AS oldest_alone_at
    FROM build
    WHERE state = 'queued' AND NOT cancel_requested
      AND coalesce(spec ->> 'kind', '') NOT IN {t.IDLE_KINDS}
    GROUP BY pool
) AS q
FULL JOIN (
    SELECT pool,
           coalesce(max(last_seen_at) FILTER (WHERE closed_by = ''), max(last_seen_at)) AS machine_seen_at,
           bool_and(obstacle <> '' AND NOT is_busy)
               FILTER (WHERE NOT is_silent AND closed_by = '') AS are_hindered,
           bool_and(closed_by <> '' OR (NOT is_silent AND {in_sql("obstacle")}))
               FILTER (WHERE NOT is_gone) AS are_closed,
           max(since) FILTER (WHERE NOT is_silent) AS hindered_at,
           jsonb_agg(jsonb_build_object(
               'name', name, 'obstacle', obstacle, 'closed_by', closed_by,
               'is_silent', false, 'is_busy', false
           ) ORDER BY name) FILTER (WHERE NOT is_silent) AS awake
    FROM (
        SELECT m.name, m.pool, m.last_seen_at, coalesce(shut.reason, m.obstacle) AS obstacle,
               coalesce(shut.begins_at, m.obstacle_since) AS since, coalesce(shut.closed_by, '') AS closed_by,
               shut.id IS NULL AND {IS_SILENT} AS is_silent, shut.id IS NULL AND {IS_BUSY} AS is_busy,
               shut.id IS NULL AND {IS_GONE} AS is_gone
        FROM {WITH_CLOSURE}
    ) AS m
    GROUP BY pool
) AS m ON m.pool = q.pool
ORDER BY 1
""")  # noqa: S608 - put together from constants
# A branch with forbidden votes is a part; its name and its trouble name the branch.
_HEARTBEATS: Final = text("""
SELECT CASE WHEN named.is_shown THEN part ELSE :vote_on END AS part, beat_at,
       CASE WHEN named.is_shown OR trouble = '' THEN trouble ELSE :hidden_right END AS trouble
FROM pulse CROSS JOIN LATERAL (
    SELECT NOT starts_with(part, :vote_on) OR cast(:sees_all AS boolean) OR EXISTS (
        SELECT FROM public_branch AS open
        WHERE part = concat(cast(:vote_on AS text), open.instance, ' ', open.project, ' ', open.branch)
    ) AS is_shown
) AS named
ORDER BY pulse.part
""")
# Each machine's series are walked in the order of an index, from the last page's end until the page is full.
# As for votes, a renamed benchmark also has the sessions of its former name, and all branches share theirs.
# The policy is that of the newest build which measured this branch and which the viewer sees.
_OWN: Final = f"""
FROM evidence AS e JOIN build AS b ON b.id = e.build_id
WHERE e.machine = m.name AND e.series_id = ANY (ARRAY[c.id, c.continues]) AND e.created_at >= m.since
  AND coalesce(b.environment_id = m.environment_id, true) AND {measured_in_sight("e.build_id")}
"""
_MOST_STATUSES: Final = text(f"""
WITH past AS MATERIALIZED (
    SELECT s.job, s.suite, s.id FROM series AS s WHERE s.id = :after_series AND {visible_branch("s")}
), chosen AS MATERIALIZED (
    SELECT m.name, page.* FROM machine AS m
    LEFT JOIN past ON m.name = :after_machine
    CROSS JOIN LATERAL (
        SELECT c.job, c.suite, c.id FROM series AS c
        WHERE c.machine_class = m.pool
          AND (c.job, c.suite, c.id)
            > (coalesce(past.job, ''), coalesce(past.suite, ''), coalesce(past.id, 0))
          AND (cast(:series AS bigint[]) IS NULL OR c.id = ANY(cast(:series AS bigint[])))
          AND {visible_branch("c")} AND EXISTS (SELECT {_OWN} OFFSET 0)
        ORDER BY c.job, c.suite, c.id LIMIT :limit
    ) AS page
    WHERE m.name >= :after_machine
    ORDER BY m.name, page.job, page.suite, page.id LIMIT :limit
)
SELECT c.id, c.instance, c.project, c.branch, c.machine_class, c.job, c.suite, c.benchmark, c.metric, c.unit,
       c.better, m.name AS machine, own.created_at, own.build_id,
       CASE WHEN e.place = 1 THEN own.config END AS config,
       e.logs, e.verdict, e.sessions, e.pairs, e.alarms
FROM chosen
JOIN series AS c ON c.id = chosen.id
JOIN machine AS m ON m.name = chosen.name
JOIN LATERAL (
    SELECT e.created_at, e.build_id, b.spec -> 'config' AS config
    {_OWN}
    ORDER BY e.created_at DESC, e.sequence_id DESC LIMIT 1
) AS own ON true
JOIN LATERAL ({SESSIONS} FROM {sessions_on_machine("ARRAY[c.id, c.continues]")}) AS e ON e.place <= :recalled
ORDER BY m.name, c.job, c.suite, c.id, e.place
""")  # noqa: S608 - put together from constants
_SIZES: Final = text("""
SELECT name, cast(sum(records) AS bigint) AS records, cast(sum(database_bytes) AS bigint) AS database_bytes,
       cast(sum(artifacts) AS bigint) AS artifacts, cast(sum(artifact_bytes) AS bigint) AS artifact_bytes
FROM stored_size GROUP BY name ORDER BY sum(database_bytes + artifact_bytes) DESC, name
""")


class PostgresMachineReading(Sighted, MachineReading):
    """Machines, their voting statuses and the service's condition, from the database."""

    @override
    def machines(self) -> Sequence[Machine]:
        sight = self._sight(OF_HELD_BUILDS)
        with self._begin() as connection:
            rows = connection.execute(_MACHINES, sight).mappings().all()
        return [
            from_row(
                Machine,
                row,
                build=None if row["job"] is None else BuildName(row["job"], row["number"]),
                closure=None if row["begins_at"] is None else from_row(Closure, row),
            )
            for row in rows
        ]

    @override
    def voting_statuses(
        self,
        limit: int,
        after: tuple[str, int] | None = None,
        series: Collection[int] | None = None,
    ) -> Sequence[SeriesVotingStatus]:
        machine, last = after or ("", 0)
        values: dict[str, Any] = {"limit": limit, "recalled": RECALLED, **self._sight(OF_BRANCHES)}
        values |= {"after_machine": clean(machine), "after_series": min(last, LARGEST_BIGINT)}
        values["series"] = None if series is None else list(series)
        with self._begin() as connection:
            rows = connection.execute(_MOST_STATUSES, values).mappings().all()
        policies: dict[int, Policy] = {}
        return [
            _voting_status(list(group), policies)
            for _, group in groupby(rows, key=itemgetter("machine", "id"))
        ]

    @override
    def condition(self) -> Condition:
        sight = self._sight_of(())
        heard = {"vote_on": VOTE_ON, "hidden_right": HIDDEN_RIGHT, "sees_all": sight["sees_all"]}
        with self._begin() as connection:
            facts = connection.execute(_FACTS).mappings().one()
            queues = tuple(map(_queue, connection.execute(_QUEUES).mappings()))
            heartbeats = tuple(Heartbeat(*row) for row in connection.execute(_HEARTBEATS, heard))
            failing = failing_steps(connection, sight)
        return Condition(**facts, queues=queues, heartbeats=heartbeats, failing_steps=failing)

    @override
    def activity(self) -> Activity:
        with self._begin() as connection:
            return activity_of(connection)

    @override
    def stored_sizes(self) -> Sequence[StoredSize]:
        with self._begin() as connection:
            return [from_row(StoredSize, row) for row in connection.execute(_SIZES).mappings()]


def _queue(row: RowMapping) -> PoolQueue:
    facts = dict(row)
    machines = [PoolMachine(**each) for each in facts.pop("machines") or ()]
    why = "" if facts["hindered_at"] is None else hindrance(machines)
    return PoolQueue(**facts, hindrance=why)


def _voting_status(rows: Sequence[RowMapping], policies: dict[int, Policy]) -> SeriesVotingStatus:
    newest = rows[0]
    build_id = newest["build_id"]
    if build_id not in policies:
        policies[build_id] = policy_of(newest["job"], newest["config"])
    return SeriesVotingStatus(
        machine=newest["machine"],
        series=from_row(Series, newest),
        measured_at=newest["created_at"],
        voting_status=voting_status_of(history_of(rows), policies[build_id]),
    )
