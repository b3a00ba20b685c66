"""Voting statuses: the A/A evidence of series on machines, judged by their jobs' policies."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from service.adapters.postgres.rows import from_row
from service.adapters.postgres.transaction.measurements import SESSIONS, history_of
from service.domain.calibration.evidence import RECALLED, voting_status_of
from service.domain.errors import BadProjectFile
from service.domain.inference.policy import Policy
from service.domain.project.project_file import parse_job
from service.ports.views import Series, SeriesVotingStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

# The page is chosen before any session is read; the newest session's build has the job's policy.
_MOST_STATUSES: Final = text(f"""
WITH chosen AS (
    SELECT m.name AS machine, s.*
    FROM machine AS m JOIN series AS s ON s.machine_class = m.pool
    WHERE EXISTS (SELECT FROM evidence AS e WHERE e.machine = m.name AND e.series_id = s.id)
    ORDER BY m.name, s.job, s.suite, s.id LIMIT :limit OFFSET :after
)
SELECT c.id, c.instance, c.project, c.branch, c.machine_class, c.job, c.suite, c.benchmark, c.metric, c.unit,
       c.better, c.machine, e.created_at, b.id AS build_id, b.spec -> 'config' AS config,
       e.logs, e.verdict, e.sessions, e.pairs, e.alarms
FROM chosen AS c
JOIN LATERAL ({SESSIONS} FROM evidence WHERE series_id = c.id AND machine = c.machine) AS e
    ON e.place <= :recalled
LEFT JOIN build AS b ON b.id = e.build_id AND e.place = 1
ORDER BY c.machine, c.job, c.suite, c.id, e.place
""")  # noqa: S608 - put together from constants


def voting_status_list(connection: Connection, limit: int, after: int) -> Sequence[SeriesVotingStatus]:
    """Return a page of series on machines with their voting status."""
    rows = connection.execute(_MOST_STATUSES, {"limit": limit, "after": after, "recalled": RECALLED})
    policies: dict[int, Policy] = {}
    return [
        _voting_status(list(group), policies)
        for _, group in groupby(rows, key=lambda row: (row.machine, row.id))
    ]


def _voting_status(rows: Sequence[Row[Any]], policies: dict[int, Policy]) -> SeriesVotingStatus:
    newest = rows[0]
    if newest.build_id not in policies:
        policies[newest.build_id] = _policy(newest)
    return SeriesVotingStatus(
        machine=newest.machine,
        series=from_row(Series, newest._mapping),  # noqa: SLF001 - SQLAlchemy's public name for it
        measured_at=newest.created_at,
        voting_status=voting_status_of(history_of(rows), policies[newest.build_id]),
    )


def _policy(row: Row[Any]) -> Policy:
    try:
        return parse_job(row.job, dict(row.config or {})).policy
    except BadProjectFile:  # written for another version of the service
        return Policy()
