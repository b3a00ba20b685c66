"""Hold the read ports over values in memory to their contracts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.building.logs.stored_log import LogPart, StoredLog
from service.domain.claims.answers import MeasuredRow, answers
from service.domain.claims.near import explained
from service.domain.claims.values import Claim
from service.domain.project.policy import Policy
from service.domain.runs.health import FailingStep, Step
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Result
from service.domain.values.identity import BuildName, ChangeAddress, ChangeKey, RunKind
from service.domain.verdict.calibration.evidence import History, Session, voting_status_of
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.imported import ImportedValue
from service.ports.runs.shown import RunWithBuilds
from service.ports.verdict import SeriesVotingStatus, SeriesWithPoints
from tests.contract.reading.benchmarks import BenchmarkReadingContract
from tests.contract.reading.builds import BuildReadingContract
from tests.contract.reading.changes import ChangeReadingContract, MeasuredPatchSetsContract
from tests.contract.reading.claims import NOON, ClaimReadingContract
from tests.contract.reading.families import FamilyReadingContract
from tests.contract.reading.machines import MachineReadingContract
from tests.contract.reading.seen_by import ReadingContract
from tests.contract.reading.series import SeriesReadingContract
from tests.contract.reading.site import CHANGE, PARENT
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import (
    NOW,
    build_view,
    change_view,
    comparison,
    decision_view,
    machine_view,
    run_view,
    series_view,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.runs.shown import BuildOfRun


@dataclass
class FakeSite:
    reading: FakeReading = field(default_factory=FakeReading)
    _sessions: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add_change(
        self, number: int = CHANGE, *, minutes: int = 0, patch_sets: int = 1, instance: str = "gerrit"
    ) -> None:
        change = change_view(
            number,
            "Make it faster",
            id=len(self.reading.change_rows) + 1,
            instance=instance,
            updated_at=NOW + timedelta(minutes=minutes),
        )
        for patch_set in range(1, patch_sets + 1):
            shown = replace(change, patch_set=patch_set, revision=f"{number}-{patch_set}")
            add_patch_set(self.reading, shown, [])

    def add_run(
        self,
        patch_set: int = 1,
        *,
        kind: RunKind = RunKind.CHECK,
        state: RunState = RunState.FINISHED,
        parent: str = PARENT,
        change: int = CHANGE,
    ) -> int:
        detail = self.reading.patch_set(ChangeAddress(change), patch_set)
        run = run_view(detail.change, parent)
        run = replace(run, patch_set=patch_set, revision=detail.patch_set.revision, state=state, kind=kind)
        run = replace(run, id=len(self.reading.runs) + 1)
        self.reading.runs.append(RunWithBuilds(run, (), ()))
        return run.id

    def add_build(
        self,
        run: int,
        *causes: str,
        result: Result | None = Result.SUCCESS,
        benchmarks: Sequence[str] = (),
        verdict: Verdict = Verdict.SLOWER,
        pool: str = "perf",
    ) -> BuildName:
        number = len(self.reading.builds) + 1
        build = build_view(
            100 + number,
            number,
            job="perf",
            pool=pool,
            causes=causes,
            result=result,
            state=BuildState.FINISHED if result else BuildState.QUEUED,
            created_at=NOW + timedelta(minutes=number),
        )
        self._place(build, run)
        self.reading.rows[build.id] = [
            comparison(self.add_series(name), name, 0.9, verdict) for name in benchmarks
        ]
        return BuildName(build.job, number)

    def explain(self, build: BuildName, packed: bytes) -> None:
        its = self.reading.build(build.job, build.number).build
        self.reading.explained[its.id] = packed

    def claim(self, run: int, benchmark: str, minutes: int = 0) -> None:
        its = self.reading.runs[run - 1]
        rows = [
            MeasuredRow("perf", *names, row.verdict, row.pairs, row.ratio, row.low, row.high)
            for build in its.builds
            for row in self.reading.rows[build.id]
            for names in [(row.suite, row.benchmark, row.metric)]
        ]
        claim = Claim(3, benchmark, "items_per_second", 100.0, 90.0, 0.9)
        names = [row.benchmark for row in rows]
        self.reading.claimed[run] = explained(answers([claim], rows), lambda: names)
        decided = NOON + timedelta(minutes=minutes)
        self.reading.runs[run - 1] = replace(its, run=replace(its.run, finished_at=decided))

    def spend(self, build: BuildName, seconds: float) -> None:
        its = self.reading.build(build.job, build.number).build
        self.reading.spent[its.id, "executor"] = seconds

    def _place(self, build: BuildOfRun, run: int) -> None:
        its_run = self.reading.runs[run - 1]
        self.reading.runs[run - 1] = replace(its_run, builds=(*its_run.builds, build))

    def fail_to_plan(self, run: int, attempts: int) -> None:
        change = self.reading.run(run).run.change_address
        at = datetime(2026, 11, 21, 12, tzinfo=UTC)
        self.reading.failing.append(FailingStep(Step.PLAN, change, attempts, "no route", at, entity=run))

    def decide(self, run: int, vote: int | None) -> None:
        its_run = self.reading.run(run)
        change = change_view(CHANGE, "", run_id=run, vote=vote, header="Build Failed")
        decision = replace(decision_view(change, ""), number=len(its_run.decisions) + 1)
        self.reading.runs[run - 1] = replace(its_run, decisions=(decision, *its_run.decisions))

    def add_series(self, benchmark: str) -> int:
        for trend in self.reading.trends:
            if trend.series.benchmark == benchmark:
                return trend.series.id
        series = series_view(
            len(self.reading.trends) + 1, benchmark, project="kv", machine_class="perf", job="perf"
        )
        self.reading.trends.append(SeriesWithPoints(series, ()))
        return series.id

    def import_value(self, series: int, commit: str, minutes: int, value: float, position: int = 0) -> None:
        imported = ImportedValue(commit, NOW + timedelta(minutes=minutes), value, position)
        self.reading.trends = [
            replace(each, imported=(*each.imported, imported)) if each.series.id == series else each
            for each in self.reading.trends
        ]

    def rename(self, older: int, newer: int) -> None:
        self.reading.continued[newer] = older
        self._show_sessions()

    def add_log(self, build: BuildName, chunks: Sequence[tuple[int, bytes]], end: tuple[int, bytes]) -> None:
        parts: list[LogPart] = []
        line = 0
        for number, (start, data) in enumerate(chunks):
            parts.append(LogPart(start, line, len(data), f"artifact {number}"))
            line += data.count(b"\n")
        rest = end[1][parts[-1].end - end[0] :]
        parts.append(LogPart(parts[-1].end, line, len(rest), data=rest))
        detail = self.reading.build(build.job, build.number)
        self.reading.logs[detail.build.id] = StoredLog("1", tuple(parts))

    def share(self, build: BuildName, run: int) -> None:
        every = {each.number: each for one in self.reading.runs for each in one.builds}
        self._place(every[build.number], run)

    def hide(self, number: int = CHANGE) -> None:
        rows = self.reading.change_rows
        self.reading.hidden |= {ChangeKey(row.instance, row.number) for row in rows if row.number == number}

    def close(self) -> None:
        self.reading.closed.add(("gerrit", "kv", "master"))

    def add_machine(self, name: str, pool: str = "perf", *, holds: BuildName | None = None) -> None:
        machine = machine_view(name, machine_class="epyc", pool=pool, build=holds)
        self.reading.machine_rows.append(machine)

    def add_session(self, machine: str, benchmark: str) -> None:
        self.add_series(benchmark)
        self._sessions[machine, benchmark] += 1
        self._show_sessions()

    def _show_sessions(self) -> None:
        """Count the sessions of each series on each machine, with those of its former name."""
        session = Session((0.001, -0.001), Verdict.SAME)
        all_series = {trend.series.id: trend.series for trend in self.reading.trends}
        rows: list[SeriesVotingStatus] = []
        for machine in {machine for machine, _ in self._sessions}:
            for series in all_series.values():
                former = all_series.get(self.reading.continued.get(series.id, 0))
                names = {each.benchmark for each in (series, former) if each is not None}
                sessions = sum(self._sessions[machine, name] for name in names)
                if sessions:
                    status = voting_status_of(History.of([session] * sessions), Policy())
                    rows.append(
                        SeriesVotingStatus(
                            machine=machine, series=series, measured_at=NOW, voting_status=status
                        )
                    )
        self.reading.voting_status_rows = rows


@pytest.fixture
def site() -> FakeSite:
    return FakeSite()


class TestFakeReading(
    ChangeReadingContract,
    MeasuredPatchSetsContract,
    BuildReadingContract,
    SeriesReadingContract,
    FamilyReadingContract,
    BenchmarkReadingContract,
    MachineReadingContract,
    ClaimReadingContract,
    ReadingContract,
):
    pass
