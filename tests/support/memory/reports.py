"""Builds of other CIs and the reports about them in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from service.domain.runs.states import BuildState
from service.ports.runs.builds import ExternalBuilds, SentReport
from tests.support.memory.state import InMemory, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.runs.external import ExternalBuild
    from service.domain.runs.vote import Outcome
    from service.ports.runs.builds import BuildRecord, NewReport


class MemoryExternalBuilds(InMemory, ExternalBuilds):
    def claim_report(self, report: NewReport) -> SentReport | None:
        sent = self._m.reports.get((report.token_id, report.key))
        if sent is None:
            self._m.reports[report.token_id, report.key] = SentReport(report.digest, is_news=False)
        return sent

    def answer_report(self, report: NewReport, *, is_news: bool) -> None:
        self._m.reports[report.token_id, report.key] = SentReport(report.digest, is_news)

    def builds_numbered(
        self, instance: str, project: str, job: str, external_number: int
    ) -> Sequence[BuildRecord]:
        named = [
            each for each in self._m.builds if (each.job, each.external_number) == (job, external_number)
        ]
        keys = ("instance", "project")
        return [each for each in named if tuple(map(each.spec.get, keys)) == (instance, project)]

    def runs_with(self, build_id: int) -> Sequence[int]:
        return sorted(run for run, number in self._m.run_builds if number == build_id)

    def record_report(self, build_id: int, reported: ExternalBuild, state: str) -> None:
        build = row(self._m.builds, build_id, "build")
        log = reported.log_url or build.log_url
        named = replace(build, external_number=reported.number, url=reported.url, log_url=log, reported=state)
        self._m.put_build(named)

    def keep_result(self, build_id: int, outcome: Outcome, causes: Sequence[str]) -> None:
        build = row(self._m.builds, build_id, "build")
        if build.state is BuildState.FINISHED:
            self._m.put_build(replace(build, outcome=outcome, causes=tuple(causes)))

    def store_execution(self, build_id: int, execution: Mapping[str, Any]) -> None:
        self._m.put_build(replace(row(self._m.builds, build_id, "build"), execution=execution))
