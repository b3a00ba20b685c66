"""How the A/A evidence of series on machines is read for people."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from service.adapters.postgres.transaction.evidence import SESSIONS, history_of
from service.domain.calibration.evidence import RECALLED, voting_status_of
from service.domain.errors import BadProjectFile
from service.domain.inference.policy import Policy
from service.domain.project.project_file import parse_job
from service.ports.views import SeriesSummary, VotingStatusView

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, Row

# The page is chosen before any session is read; the newest session's build says what the job asks for.
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
_SERIES: Final = slice(0, 11)


def standing_list(connection: Connection, limit: int, after: int) -> Sequence[VotingStatusView]:
    """A page of what is known of series on machines."""
    rows = connection.execute(_MOST_STATUSES, {"limit": limit, "after": after, "recalled": RECALLED})
    policies: dict[int, Policy] = {}
    return [_view(each, policies) for _, each in groupby(rows, key=lambda row: (row.machine, row.id))]


def _view(rows: Iterable[Row[Any]], policies: dict[int, Policy]) -> VotingStatusView:
    found = list(rows)
    newest = found[0]
    if newest.build_id not in policies:
        policies[newest.build_id] = _policy(newest)
    voting_status = voting_status_of(history_of(found), policies[newest.build_id])
    return VotingStatusView(newest.machine, SeriesSummary(*newest[_SERIES]), newest.created_at, voting_status)


def _policy(row: Row[Any]) -> Policy:
    try:
        return parse_job(row.job, dict(row.config or {})).policy
    except BadProjectFile:  # written for another version of the service
        return Policy()
