"""Notices that wait to be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.connection import ShortTransactions
from service.adapters.postgres.rows import from_row
from service.domain.trunk.notice import Channel, NoticeState, Recipient
from service.domain.values.identity import RunKind
from service.domain.values.text import plain
from service.domain.wording.regressions import UNCERTAIN
from service.ports.trunk import DueNotice, DueNotices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date, datetime

_LONGEST_SENDING: Final = 600  # seconds: far beyond each sender's own limits
_LONGEST_NOTE: Final = 500
# A machine that explains a reported build keeps its lease, five minutes at most.
_DUE: Final = text("""
SELECT n.id, n.regression_id, g.run_id, n.week, n.channel, n.address, n.attempts,
       coalesce(r.instance, n.instance) AS instance, coalesce(r.project, n.project) AS project,
       coalesce(c.is_private, false) AS is_private,
       EXISTS (
           SELECT FROM public_branch AS open
           WHERE (open.instance, open.project, open.branch) = (r.instance, r.project, r.branch)
       ) AS is_public
FROM notice AS n
LEFT JOIN regression AS g ON g.id = n.regression_id LEFT JOIN run AS r ON r.id = g.run_id
LEFT JOIN patch_set AS p ON p.id = r.patch_set_id LEFT JOIN change AS c ON c.id = p.change_id
WHERE n.state = 'waiting' AND n.next_at <= now() AND NOT EXISTS (
    SELECT FROM regressed_result AS x JOIN lease AS l ON l.build_id = x.build_id
    WHERE x.regression_id = g.id AND l.expires_at > clock_timestamp()
)
ORDER BY n.next_at, n.id LIMIT 100
""")
_NOW: Final = text("SELECT now()")
# An owner whom the project file names no more gets no digest, whatever notices there were.
_QUEUE_DIGESTS: Final = text(f"""
WITH merged AS (
    SELECT DISTINCT ON (r.instance, r.project, r.branch, rb.job) r.instance, r.project, rb.build_id
    FROM run AS r JOIN run_build AS rb ON rb.run_id = r.id
    WHERE r.kind = '{RunKind.POST_SUBMIT}' AND r.created_at > now() - interval '30 days'
    ORDER BY r.instance, r.project, r.branch, rb.job, r.id DESC
)
INSERT INTO notice (week, instance, project, channel, address)
SELECT :week, told.* FROM (
    SELECT instance, project, '{Channel.CHAT}' AS channel, '' AS address FROM merged
    UNION
    SELECT m.instance, m.project, '{Channel.MAIL}', owner #>> '{{}}'
    FROM merged AS m JOIN build AS b ON b.id = m.build_id
    CROSS JOIN LATERAL jsonb_path_query(b.spec -> 'config', '$.keyvalue() ? (@.key == "owners" ||
        @.key == "path_owners").value.*[*]') AS owner
) AS told
WHERE NOT EXISTS (SELECT FROM notice AS earlier WHERE earlier.week = :week)
ORDER BY instance, project, channel, address
ON CONFLICT DO NOTHING
""")  # noqa: S608 - put together from constants
_GIVE_UP: Final = text(f"""
UPDATE notice SET state = '{NoticeState.FAILED}', note = :note, changed_at = now()
WHERE state = '{NoticeState.SENDING}' AND changed_at < now() - interval '{_LONGEST_SENDING} seconds'
""")  # noqa: S608 - put together from constants
_BEGIN: Final = text(f"""
UPDATE notice SET state = '{NoticeState.SENDING}', changed_at = now()
WHERE id = :id AND state = '{NoticeState.WAITING}' RETURNING id
""")  # noqa: S608 - put together from constants
_SETTLE: Final = text(f"""
UPDATE notice SET state = :state, note = :note, changed_at = now()
WHERE id = :id AND state IN ('{NoticeState.WAITING}', '{NoticeState.SENDING}')
""")  # noqa: S608 - put together from constants
_POSTPONE: Final = text(f"""
UPDATE notice SET state = '{NoticeState.WAITING}', attempts = attempts + 1, note = :note, changed_at = now(),
    next_at = now() + make_interval(secs => :seconds)
WHERE id = :id AND state IN ('{NoticeState.WAITING}', '{NoticeState.SENDING}')
""")  # noqa: S608 - put together from constants


class PostgresNotices(ShortTransactions, DueNotices):
    """Rows of the table ``notice``."""

    @override
    def queue_digests(self, week_at: Callable[[datetime], date | None]) -> None:
        with self._begin() as connection:
            week = week_at(connection.execute(_NOW).scalar_one())
            if week is not None:
                connection.execute(_QUEUE_DIGESTS, {"week": week})

    @override
    def due_notices(self) -> Sequence[DueNotice]:
        with self._begin() as connection:
            connection.execute(_GIVE_UP, {"note": UNCERTAIN})
            rows = connection.execute(_DUE).mappings().all()
        return [
            from_row(DueNotice, row, recipient=Recipient(Channel(row["channel"]), row["address"]))
            for row in rows
        ]

    @override
    def begin_notice(self, notice_id: int) -> bool:
        return bool(self._all(_BEGIN, id=notice_id))

    @override
    def settle_notice(self, notice_id: int, state: NoticeState, note: str = "") -> None:
        self._do(_SETTLE, id=notice_id, state=state, note=plain(note, _LONGEST_NOTE))

    @override
    def postpone_notice(self, notice_id: int, seconds: float, error: str) -> None:
        self._do(_POSTPONE, id=notice_id, seconds=seconds, note=plain(error, _LONGEST_NOTE))
