"""Builds of other CIs and the reports about them, in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.runs.builds import build_record, ended
from service.domain.runs.external import Notice
from service.domain.runs.states import BuildState
from service.ports.runs.builds import ExternalBuilds, SentReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement

    from service.domain.runs.external import ExternalBuild
    from service.domain.runs.vote import Outcome
    from service.ports.runs.builds import BuildRecord, NewReport


class PostgresExternalBuilds(Connected, ExternalBuilds):
    """Rows of the table ``report``, and those of ``build`` that other CIs report about."""

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

    @override
    def builds_numbered(
        self, instance: str, project: str, job: str, external_number: int
    ) -> Sequence[BuildRecord]:
        found = self._execute(
            select(t.build)
            .where(t.build.c.job == job, t.build.c.external_number == external_number)
            .where(t.build.c.spec["instance"].astext == instance, t.build.c.spec["project"].astext == project)
            .order_by(t.build.c.id)
        )
        return [build_record(row) for row in found.mappings()]

    @override
    def runs_with(self, build_id: int) -> Sequence[int]:
        of_build = t.run_build.c.build_id == build_id
        found = self._execute(select(t.run_build.c.run_id).where(of_build).order_by(t.run_build.c.run_id))
        return found.scalars().all()

    @override
    def record_report(self, build_id: int, reported: ExternalBuild, state: str) -> None:
        named = {"external_number": reported.number, "url": reported.url, "reported": state}
        log = {"log_url": reported.log_url} if reported.log_url else {}
        started = {"started_at": func.now()} if state == Notice.STARTED else {}
        self._execute(update(t.build).where(t.build.c.id == build_id).values(**named, **log, **started))

    @override
    def keep_result(self, build_id: int, outcome: Outcome, causes: Sequence[str]) -> None:
        late = (t.build.c.id == build_id) & (t.build.c.state == BuildState.FINISHED.value)
        self._execute(update(t.build).where(late).values(causes=causes, **ended(outcome)))

    @override
    def store_execution(self, build_id: int, execution: Mapping[str, Any]) -> None:
        self._execute(update(t.build).where(t.build.c.id == build_id).values(execution=execution))


def _is(report: NewReport) -> ColumnElement[bool]:
    return (t.report.c.token_id == report.token_id) & (t.report.c.key == report.key)
