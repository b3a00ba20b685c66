"""Read what the service did lately, for monitoring: each query reads a bounded number of rows by an index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.schema import IDLE_KINDS
from service.domain.runs.activity import (
    ANALYSE,
    HOUR,
    QUANTILES,
    QUEUE,
    STAGES,
    Activity,
    PoolEvidence,
)
from service.domain.verdict.inference.estimate import MAD_TO_SIGMA
from service.domain.verdict.inference.reasons import OF_CONTROL
from service.domain.wording.build_causes import UNFIT

if TYPE_CHECKING:
    from sqlalchemy import Connection

_MOST_BUILDS: Final = 1000  # of a job in the hour
_MOST_ROWS: Final = 10_000  # decisions and events that are looked at: a busy site has a tenth of them
_MOST_CALIBRATIONS: Final = 10  # of a machine in the week: a daily one, and some repeated ones
_MOST_SERIES: Final = 100  # of a calibration

# The index of a job's finished builds gives those of the hour.
_RECENT: Final = f"""
FROM job_number AS j CROSS JOIN LATERAL (
    SELECT * FROM build
    WHERE job = j.job AND state = 'finished' AND finished_at > now() - make_interval(secs => :hour)
    ORDER BY finished_at DESC LIMIT {_MOST_BUILDS}
) AS b
"""  # noqa: S608 - put together from constants
_BUILDS: Final = text(f"""
SELECT coalesce(b.outcome, '') AS outcome, count(*) AS builds,
       count(*) FILTER (WHERE starts_with(b.causes ->> 0, :unfit)) AS unfit,
       count(*) FILTER (WHERE b.execution IS NOT NULL AND EXISTS (
           SELECT FROM comparison AS c
           WHERE c.build_id = b.id AND c.measured_at = b.created_at AND c.verdict = 'slower'
             AND (c.reasons @> ANY (cast(:of_control AS jsonb[])))
       )) AS withheld
{_RECENT}
GROUP BY 1 ORDER BY 1
""")  # noqa: S608 - put together from constants
# A machine reports what it likes: what is no number of a known stage is left out.
_STAGES: Final = text(f"""
SELECT s.stage, percentile_cont(cast(:quantiles AS float8[])) WITHIN GROUP (ORDER BY s.seconds) AS seconds
FROM (
    SELECT s.*
    {_RECENT}
    -- OFFSET: a report is large, and is read once.
    CROSS JOIN LATERAL (SELECT b.execution -> 'seconds' AS seconds OFFSET 0) AS report
    CROSS JOIN LATERAL (
        SELECT key AS stage,
               CASE WHEN jsonb_typeof(value) = 'number' THEN cast(value AS float8) END AS seconds
        FROM jsonb_each(CASE WHEN jsonb_typeof(report.seconds) = 'object' THEN report.seconds END)
        WHERE key = ANY (cast(:stages AS text[]))
        UNION ALL
        SELECT :queue, extract(epoch FROM b.started_at - b.created_at)
        WHERE b.machine IS NOT NULL AND coalesce(b.spec ->> 'kind', '') NOT IN {IDLE_KINDS}
        UNION ALL
        SELECT :analyse, extract(epoch FROM b.finished_at - b.executed_at)
    ) AS s
) AS s
WHERE s.seconds IS NOT NULL
GROUP BY 1 ORDER BY 1
""")  # noqa: S608 - put together from constants
# Numbers grow with time, so the newest rows are found without an index on it. An event of the minutes before
# a run asked for it; reconciliation also finds changes without one.
_VOTES: Final = text(f"""
WITH voted AS MATERIALIZED (
    SELECT d.run_id, d.number, d.vote, r.created_at, r.patch_set_id
    FROM decision AS d JOIN run AS r ON r.id = d.run_id
    WHERE d.id > (SELECT max(id) FROM decision) - {_MOST_ROWS}
      AND d.created_at > now() - make_interval(secs => :hour) AND r.kind = 'check'
), recent AS MATERIALIZED (
    SELECT instance, change, received_at FROM event
    WHERE id > (SELECT max(id) FROM event) - {_MOST_ROWS} AND change IS NOT NULL
      AND EXISTS (SELECT FROM voted)
), passed AS MATERIALIZED (
    SELECT extract(epoch FROM o.sent_at - coalesce(max(e.received_at), v.created_at)) AS seconds
    FROM voted AS v
    JOIN outbox AS o ON o.dedup_key = concat('run/', v.run_id, '/decision/', v.number)
    JOIN patch_set AS p ON p.id = v.patch_set_id JOIN change AS c ON c.id = p.change_id
    LEFT JOIN recent AS e ON e.instance = c.instance AND e.change = c.number
        AND e.received_at BETWEEN v.created_at - interval '10 minutes' AND v.created_at
    WHERE o.sent_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM decision AS earlier WHERE earlier.run_id = v.run_id AND earlier.number < v.number
    )
    GROUP BY v.run_id, v.created_at, o.sent_at
)
SELECT v.vote, count(*) AS votes,
       (SELECT percentile_cont(cast(:quantiles AS float8[])) WITHIN GROUP (ORDER BY seconds) FROM passed)
           AS until_vote
FROM voted AS v GROUP BY 1 ORDER BY 1
""")  # noqa: S608 - put together from constants
# A reinstalled machine begins anew, as on the page of the machines.
_EVIDENCE: Final = text(f"""
SELECT m.pool, count(*) AS calibrations, count(*) FILTER (WHERE s.is_alarm) AS false_alarms,
       {MAD_TO_SIGMA} * percentile_cont(0.5) WITHIN GROUP (ORDER BY s.size) AS noise
FROM machine AS m
CROSS JOIN LATERAL (
    SELECT rb.build_id
    FROM run AS r JOIN run_build AS rb ON rb.run_id = r.id JOIN build AS b ON b.id = rb.build_id
    WHERE r.kind = 'calibration' AND r.pool = m.pool AND r.machine = m.name AND r.state = 'finished'
      AND r.created_at > now() - interval '7 days' AND coalesce(b.environment_id = m.environment_id, true)
    ORDER BY r.created_at DESC LIMIT {_MOST_CALIBRATIONS}
) AS r
CROSS JOIN LATERAL (
    SELECT bool_or(verdict IN ('slower', 'faster')) AS is_alarm,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY each.size) AS size
    FROM (
        SELECT * FROM evidence WHERE build_id = r.build_id AND created_at >= m.since LIMIT {_MOST_SERIES}
    ) AS e
    CROSS JOIN LATERAL (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY log) AS log FROM unnest(e.logs) AS log
    ) AS middle
    CROSS JOIN LATERAL (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(log - middle.log)) AS size
        FROM unnest(e.logs) AS log
    ) AS each
) AS s
WHERE s.is_alarm IS NOT NULL
GROUP BY m.pool ORDER BY m.pool
""")  # noqa: S608 - put together from constants


def activity_of(connection: Connection) -> Activity:
    """Read the activity of the last hour, and the evidence of the last week."""
    hour, quantiles = {"hour": HOUR}, {"quantiles": list(QUANTILES)}
    of_control = [json.dumps([{"kind": kind}]) for kind in sorted(OF_CONTROL)]
    counted = {"unfit": UNFIT, "of_control": of_control}
    builds = connection.execute(_BUILDS, hour | counted).all()
    named = {"stages": list(STAGES), "queue": QUEUE, "analyse": ANALYSE}
    stages = connection.execute(_STAGES, hour | quantiles | named).all()
    votes = connection.execute(_VOTES, hour | quantiles).all()
    return Activity(
        votes={row.vote: row.votes for row in votes},
        outcomes={row.outcome: row.builds for row in builds if row.outcome},
        stages={row.stage: tuple(row.seconds) for row in stages},
        until_vote=tuple(votes[0].until_vote or ()) if votes else (),
        withheld=sum(row.withheld for row in builds),
        unfit=sum(row.unfit for row in builds),
        evidence=tuple(PoolEvidence(*row) for row in connection.execute(_EVIDENCE)),
        database_bytes=connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one(),
    )
