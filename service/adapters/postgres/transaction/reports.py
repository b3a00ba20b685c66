"""Reports that other CIs sent with API tokens, in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.ports.records import SentReport
from service.ports.store import Reports

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

    from service.ports.records import NewReport


class PostgresReports(Connected, Reports):
    """Rows of the table ``report``."""

    @override
    def claim_report(self, report: NewReport) -> SentReport | None:
        new = insert(t.report).values(token_id=report.token_id, key=report.key, digest=report.digest)
        # An insert that conflicts with one of an open transaction waits for the end of that transaction.
        if self._execute(new.on_conflict_do_nothing().returning(t.report.c.key)).first():
            return None
        sent = self._execute(select(t.report.c.digest, t.report.c.is_news).where(_is(report))).one()
        return SentReport(sent.digest, sent.is_news)

    @override
    def answer_report(self, report: NewReport, *, is_news: bool) -> None:
        self._execute(update(t.report).where(_is(report)).values(is_news=is_news))


def _is(report: NewReport) -> ColumnElement[bool]:
    return (t.report.c.token_id == report.token_id) & (t.report.c.key == report.key)
