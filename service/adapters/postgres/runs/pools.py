"""Pools of machines: heartbeats, and calibrations while there is nothing else to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, text
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import ShortTransactions
from service.adapters.postgres.runs.machine_states import IS_CLOSED
from service.adapters.postgres.storable import CleanText
from service.adapters.postgres.verdict.measurements import sessions_on_machine
from service.domain.project.job_kinds import comparing_kinds
from service.domain.verdict.calibration.schedule import (
    AFTER_CANCELLED,
    BETWEEN_REVIEWS,
    BETWEEN_SESSIONS,
    BranchKey,
    IdleJob,
)
from service.ports.runs.upkeep import Calibrations, Heartbeats

if TYPE_CHECKING:
    from collections.abc import Sequence

SEEN_WITHIN_SECONDS: Final = 60  # every machine is asked for two heartbeats in that time

_POOLS = text("SELECT pool FROM machine WHERE last_seen_at > now() - interval '10 minutes' ORDER BY pool")
_BEAT = text("""
INSERT INTO pulse (part, beat_at, note, trouble) VALUES (:part, now(), :note, :trouble)
ON CONFLICT (part) DO UPDATE
SET beat_at = excluded.beat_at, note = excluded.note, trouble = excluded.trouble
""").bindparams(bindparam("note", type_=CleanText), bindparam("trouble", type_=CleanText))
_CLEAR_TROUBLE: Final = text("UPDATE pulse SET trouble = '', note = '' WHERE part = :part AND trouble <> ''")
# Builds of idle machines have their host to themselves, so builds of every pool that it serves wait. For each
# pool as many have to go as builds wait that no machine is free for: of those on hosts that serve the pool,
# the ones that go already, then the youngest. A finished build that is held is still being explained.
_PREEMPT: Final = text(f"""
WITH wanting AS (
    SELECT w.pool, count(*) AS builds FROM build AS w
    WHERE w.state = 'queued' AND NOT w.cancel_requested AND w.not_before <= now()
      AND coalesce(w.spec ->> 'kind', '') NOT IN {t.IDLE_KINDS}
      AND NOT EXISTS (
          SELECT FROM machine AS m
          WHERE m.pool = w.pool AND m.last_seen_at > now() - make_interval(secs => :seen_within)
            AND m.obstacle = '' AND NOT {IS_CLOSED} AND NOT EXISTS (
                SELECT FROM machine AS other
                JOIN lease AS o ON o.machine = other.name AND o.expires_at > clock_timestamp()
                JOIN build AS h ON h.id = o.build_id
                WHERE other.host = m.host
                  AND (other.name = m.name OR w.is_exclusive OR h.is_exclusive)))
    GROUP BY w.pool
), ranked AS (
    SELECT idle.id, wanting.builds, row_number() OVER (
               PARTITION BY wanting.pool ORDER BY idle.cancel_requested DESC, idle.id DESC
           ) AS place
    FROM lease AS l
    JOIN build AS idle ON idle.id = l.build_id AND idle.spec ->> 'kind' IN {t.IDLE_KINDS}
        AND idle.state IN ('running', 'finished')
    JOIN wanting ON wanting.pool = idle.pool OR EXISTS (
        SELECT FROM machine AS own JOIN machine AS beside ON beside.host = own.host
        WHERE own.name = l.machine AND beside.pool = wanting.pool
          AND beside.last_seen_at > now() - make_interval(secs => :seen_within))
)
UPDATE build SET cancel_requested = true
WHERE NOT cancel_requested AND id IN (SELECT id FROM ranked WHERE place <= builds)
RETURNING id
""")  # noqa: S608 - put together from constants
# Of a pool's idle machines the one that was calibrated last is its spare; a machine without another that may
# measure is not. The evidence counted is that of the series with the
# least, among those that the machine's last calibration measured. As for votes, a renamed benchmark also has
# that of its former name. A run of the version before is for any machine.
_IDLE_JOBS: Final = text(f"""
WITH seen AS (
    SELECT m.*, count(*) OVER (PARTITION BY m.pool) AS machines FROM machine AS m
    WHERE m.last_seen_at > now() - make_interval(secs => :seen_within)
      AND m.obstacle = '' AND NOT {IS_CLOSED}
), ranked AS (
    SELECT m.name, m.pool, m.machines, row_number() OVER (PARTITION BY m.pool ORDER BY (
               SELECT max(run.created_at) FROM run
               WHERE run.kind = 'calibration' AND run.pool = m.pool AND run.machine = m.name
                 AND run.created_at > now() - make_interval(secs => :asked_within)
           ) DESC NULLS LAST, m.name) AS place
    FROM seen AS m
    WHERE NOT EXISTS (
          SELECT FROM machine AS beside
          JOIN build AS b
              ON (b.state = 'queued' AND b.pool = beside.pool AND b.for_machine IN ('', beside.name))
              OR (b.state = 'running' AND b.machine = beside.name)
          WHERE beside.host = m.host)
), asked AS (
    SELECT DISTINCT ON (b.pool, r.instance, r.project, r.branch, b.job)
           b.pool, r.instance, r.project, r.branch, b.job, b.spec -> 'config' AS config
    FROM run AS r
    JOIN run_build AS rb ON rb.run_id = r.id
    JOIN build AS b ON b.id = rb.build_id AND b.is_exclusive AND b.kind = ANY(:measured)
    WHERE r.kind = 'check' AND r.created_at > now() - make_interval(secs => :asked_within)
      AND b.pool IN (SELECT pool FROM ranked)
    ORDER BY b.pool, r.instance, r.project, r.branch, b.job, b.id DESC
)
SELECT a.pool, a.instance, a.project, a.branch, a.job, a.config, idle.name AS machine,
       idle.place = 1 AND idle.machines > 1 AS is_spare,
       cast(extract(epoch FROM now() - c.newest) AS double precision) AS since, known.pairs, known.sessions
FROM asked AS a
JOIN ranked AS idle ON idle.pool = a.pool
CROSS JOIN LATERAL (
    SELECT max(run.created_at) FILTER (
               WHERE NOT cut.is_cancelled OR run.created_at > now() - make_interval(secs => :after_cancelled)
           ) AS newest,
           max(b.id) FILTER (WHERE b.has_evidence) AS build_id
    FROM run
    CROSS JOIN LATERAL (
        SELECT run.state = 'cancelled' OR EXISTS (
            SELECT FROM run_build JOIN build ON build.id = run_build.build_id
            WHERE run_build.run_id = run.id AND build.outcome = 'cancelled'
        ) AS is_cancelled
    ) AS cut
    LEFT JOIN LATERAL (
        SELECT build.id, EXISTS (SELECT FROM evidence AS e WHERE e.build_id = build.id) AS has_evidence
        FROM run_build JOIN build ON build.id = run_build.build_id
        WHERE run_build.run_id = run.id AND build.job = a.job
    ) AS b ON true
    WHERE run.kind = 'calibration' AND run.pool = a.pool AND run.instance = a.instance
      AND run.project = a.project AND run.machine IN ('', idle.name)
      AND run.created_at > now() - make_interval(secs => 2 * :between_reviews)
      AND (run.branch = a.branch OR b.id IS NOT NULL)
) AS c
CROSS JOIN LATERAL (
    SELECT coalesce(min(e.pairs), 0) AS pairs, coalesce(min(e.sessions), 0) AS sessions
    FROM (
        SELECT ARRAY[s.id, s.continues] AS names FROM evidence AS e JOIN series AS s ON s.id = e.series_id
        WHERE e.build_id = c.build_id AND c.newest BETWEEN now() - make_interval(secs => :between_reviews)
                                                      AND now() - make_interval(secs => :between_sessions)
    ) AS last
    JOIN machine AS m ON m.name = idle.name
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(cardinality(logs)), 0) AS pairs, count(*) AS sessions
        FROM {sessions_on_machine("last.names")}
    ) AS e
) AS known
ORDER BY a.pool, a.instance, a.project, a.branch, a.job, idle.name
""")  # noqa: S608 - put together from constants


class PostgresPools(ShortTransactions, Calibrations, Heartbeats):
    """Machines in the table ``machine`` with their builds, parts of the service in ``pulse``."""

    @override
    def pools(self) -> Sequence[str]:
        return [row.pool for row in self._all(_POOLS)]

    @override
    def beat(self, part: str, note: str = "", trouble: str = "") -> None:
        self._do(_BEAT, part=part, note=note, trouble=trouble)

    @override
    def clear_trouble(self, part: str) -> None:
        self._do(_CLEAR_TROUBLE, part=part)

    @override
    def preempt_calibrations(self) -> Sequence[int]:
        return sorted(row.id for row in self._all(_PREEMPT, seen_within=SEEN_WITHIN_SECONDS))

    @override
    def idle_jobs(self, asked_within: float) -> Sequence[IdleJob]:
        rows = self._all(
            _IDLE_JOBS,
            seen_within=SEEN_WITHIN_SECONDS,
            asked_within=asked_within,
            after_cancelled=AFTER_CANCELLED,
            between_sessions=BETWEEN_SESSIONS,
            between_reviews=BETWEEN_REVIEWS,
            measured=comparing_kinds(),
        )
        return [
            IdleJob(
                branch=BranchKey(row.pool, row.instance, row.project, row.branch),
                job=row.job,
                config=row.config or {},
                since=row.since,
                pairs=int(row.pairs),
                sessions=row.sessions,
                machine=row.machine,
                is_spare=row.is_spare,
            )
            for row in rows
        ]
