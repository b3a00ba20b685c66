"""Regressions in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.access.audit import AuditKind
from service.domain.review.change import PatchSetKind
from service.domain.runs.states import UNFINISHED, RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.anchors import AnchorTries
from service.domain.trunk.regression import Checked, RegressionState, weight_of
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.verdict import Verdict
from service.ports.trunk import (
    JUDGED,
    Branches,
    MeasuredAnchors,
    Regressions,
    SlowerResult,
    SlowerResults,
    change_details,
    given_in,
)
from tests.support.memory.audit import MemoryAudit
from tests.support.memory.state import InMemory, StoredRegression

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from service.domain.trunk.regression import GateSaid, Weight
    from service.domain.values.identity import SeriesKey
    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.access import Author
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.trunk import RegressionChange
    from service.ports.verdict import StoredComparison


class MemoryBranches(InMemory, Branches):
    def followed(self, instance: str) -> Sequence[tuple[str, str]]:
        recent = (
            run
            for run in self._m.runs
            if run.instance == instance
            and run.kind is not RunKind.CALIBRATION
            and self._m.created[run.id] > self._m.clock - 30 * 86400
        )
        return sorted({(run.project, run.branch) for run in recent})

    def measured(
        self, instance: str, project: str, branch: str, revisions: Collection[str]
    ) -> frozenset[str]:
        here = (instance, project, branch, RunKind.POST_SUBMIT)
        runs = [run for run in self._m.runs if (run.instance, run.project, run.branch, run.kind) == here]
        found = {self._m.merged_as.get(run.id) or run.revision for run in runs}
        return frozenset(found.intersection(revisions))

    def anchors(self, key: BranchKey) -> MeasuredAnchors:
        here = (key.pool, key.instance, key.project, key.branch, RunKind.ANCHOR)
        runs = [
            run for run in self._m.runs if (run.pool, run.instance, run.project, run.branch, run.kind) == here
        ]
        tries = {}
        for run in runs:
            own = [each for each in runs if (each.parent, each.revision) == (run.parent, run.revision)]
            tries[str(run.parent), run.revision] = AnchorTries(len(own), any(map(self._is_done, own)))
        ages = (self._m.clock - self._m.created[run.id] for run in runs)
        return MeasuredAnchors(tries, min(ages, default=None))

    def is_measuring(self, pool: str) -> bool:
        return any(
            run.pool == pool and run.kind.is_for_idle_pools and run.state in UNFINISHED
            for run in self._m.runs
        )

    def unfinished(self, instance: str, project: str, branch: str) -> int:
        here = (instance, project, branch, RunKind.POST_SUBMIT)
        return sum(
            (run.instance, run.project, run.branch, run.kind) == here and run.state in UNFINISHED
            for run in self._m.runs
        )

    def _is_done(self, run: RunRecord) -> bool:
        ends = {self._m.builds[build - 1].outcome for number, build in self._m.run_builds if number == run.id}
        return run.state is RunState.FINISHED and ends.isdisjoint({Outcome.CANCELLED, Outcome.INFRASTRUCTURE})


class MemoryRegressions(MemoryAudit, Regressions):
    def slower_results(self, run_id: int) -> SlowerResults:
        check = self._check_before(self._m.runs[run_id - 1])
        found = []
        for build in self._builds_of(run_id):
            for each in self._comparisons(build):
                if each.verdict is Verdict.SLOWER and each.series.metric != INSTRUCTIONS.name:
                    checked = None if check is None else self._checked(check, build.job, each.series)
                    weight = self._weight(build, each)
                    found.append(
                        SlowerResult(
                            series_id=self._series().index(each.series) + 1,
                            build_id=build.id,
                            ratio=each.ratio,
                            low=each.low,
                            high=each.high,
                            weight=weight,
                            checked=checked,
                        )
                    )
        return SlowerResults(tuple(found), check.id if check and found else None)

    def record(
        self, run_id: int, state: RegressionState, results: Sequence[tuple[SlowerResult, GateSaid]]
    ) -> None:
        if all(each.run_id != run_id for each in self._m.regressions):
            self._m.regressions.append(StoredRegression(run_id, state, tuple(results)))

    def change(self, ids: Sequence[int], change: RegressionChange, author: Author) -> None:
        for missing in (each for each in sorted({*ids}) if not 0 < each <= len(self._m.regressions)):
            raise NotFound(f"there is no regression {missing}")
        for each in sorted({*ids}):
            stored = self._m.regressions[each - 1]
            was = {name: str(getattr(stored, name)) for name in JUDGED}
            values = was | given_in(change)
            if values != was:
                state = RegressionState(values["state"])
                self._m.regressions[each - 1] = replace(stored, **{**values, "state": state})  # type: ignore[arg-type]
                details, subject = change_details(was, values, author), f"regression {each}"
                self.record_act(AuditKind.REGRESSION_CHANGED, author.account, subject, details)

    def _series(self) -> list[SeriesKey]:
        return list(dict.fromkeys(key for each in self._m.results.values() for key in each.series))

    def _builds_of(self, run_id: int) -> Iterator[BuildRecord]:
        return (self._m.builds[build - 1] for run, build in self._m.run_builds if run == run_id)

    def _comparisons(self, build: BuildRecord) -> Sequence[StoredComparison]:
        found = self._m.results.get(build.id)
        return () if found is None else found.comparisons

    def _check_before(self, run: RunRecord) -> RunRecord | None:
        if run.patch_set_id is None:
            return None
        merged = self._m.patch_sets[run.patch_set_id - 1]
        before = [
            (number, each)
            for number, each in enumerate(self._m.patch_sets, 1)
            if each.change_id == merged.change_id and each.number <= merged.number
        ]
        other_code = (each.number for _, each in before if each.kind is PatchSetKind.OTHER_CODE)
        first = max(other_code, default=1)
        same = {number for number, each in before if each.number >= first}
        checks = (
            each
            for each in self._m.runs
            if each.kind is RunKind.CHECK and each.state is RunState.FINISHED and each.patch_set_id in same
        )
        return max(checks, key=lambda each: each.id, default=None)

    def _checked(self, check: RunRecord, job: str, series: SeriesKey) -> Checked:
        for build in self._builds_of(check.id):
            for each in self._comparisons(build) if build.job == job else ():
                if each.series == series:
                    return Checked(each.verdict, self._weight(build, each), build.is_voting, build.id)
        return Checked()

    def _weight(self, build: BuildRecord, row: StoredComparison) -> Weight:
        key = (build.job, row.series.suite, row.series.benchmark, row.series.metric)
        votes = build.slowdowns is None or any(each.key == key for each in build.slowdowns)
        return weight_of({each.kind for each in row.reasons}, votes=votes)
