"""Branches and their anchors in memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from service.domain.measuring.metric import Better
from service.domain.runs.states import UNFINISHED, RunState
from service.domain.trunk.anchors import AnchorTries
from service.domain.trunk.backfill import first_run_with
from service.domain.trunk.spread import AGAIN, KnownStep, SlowerAnchor
from service.domain.trunk.undecided import LEAST, MOST_TRIES, WITHIN_DAYS, UndecidedResult
from service.domain.values.identity import RunKind
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.branches import Branches, MeasuredAnchors, SlowRanges
from tests.support.memory.measured import Measured

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.runs.runs import RunRecord


class MemoryBranches(Measured, Branches):
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
            run
            for run in self._m.runs
            if (run.pool, run.instance, run.project, run.branch, run.kind) == here
            and (run.committed_at, run.previous_id) == (None, None)
        ]
        tries = {}
        for run in runs:
            own = [each for each in runs if (each.parent, each.revision) == (run.parent, run.revision)]
            tries[str(run.parent), run.revision] = AnchorTries(len(own), any(map(self._is_done, own)))
        ages = (self._m.clock - self._m.created[run.id] for run in runs)
        return MeasuredAnchors(tries, min(ages, default=None))

    def is_measuring(self, pool: str) -> bool:
        return any(
            run.pool == pool and run.kind.is_for_idle_pools and not run.machine and run.state in UNFINISHED
            for run in self._m.runs
        )

    def undecided(self, key: BranchKey) -> Sequence[UndecidedResult]:
        here = (key.instance, key.project, key.branch, RunKind.POST_SUBMIT, RunState.FINISHED)
        found: list[UndecidedResult] = []
        for run in self._m.runs:
            is_private = run.change is not None and self._m.changes[run.change].is_private
            is_old = self._m.created[run.id] < self._m.clock - WITHIN_DAYS * 86400
            if (run.instance, run.project, run.branch, run.kind, run.state) != here or is_private or is_old:
                continue
            longer = [
                each.id for each in self._m.runs if (each.kind, each.previous_id) == (RunKind.LONGER, run.id)
            ]
            builds = [build for number, build in self._m.run_builds if number in {run.id, *longer}]
            measured = [each for each in builds if self._comparisons(each)]
            tries = sum(self._is_done(self._m.runs[each - 1]) for each in longer)
            if tries < MOST_TRIES and measured:
                found += self._undecided(key.pool, run.id, max(measured), tries)
        return sorted(found, key=lambda each: (each.seconds, each.build_id, each.benchmark))

    def _undecided(self, pool: str, run_id: int, build_id: int, tries: int) -> Iterator[UndecidedResult]:
        results = self._m.results[build_id]
        for each in results.comparisons:
            sign = -1 if results.series[each.series][1] == Better.HIGHER else 1
            is_slow = each.ratio is not None and sign * math.log(each.ratio) >= LEAST
            is_timed = each.series.metric != INSTRUCTIONS.name and each.series.machine_class == pool
            for why in each.reasons if is_slow and is_timed and each.verdict is Verdict.UNDECIDED else ():
                if why.kind in {ReasonKind.MORE_PAIRS, ReasonKind.LAYOUT_NOT_CHECKED}:
                    more, seconds = (float(fact) for fact in (*why.facts, 0.0, 0.0)[:2])
                    yield UndecidedResult(
                        run_id, build_id, each.series.benchmark, each.pairs, more, seconds, tries
                    )

    def slow_ranges(self, key: BranchKey) -> SlowRanges:
        here = (key.pool, key.instance, key.project, key.branch, RunKind.ANCHOR, RunState.FINISHED)
        anchors = []
        for run in self._m.runs:
            span = self._range(run)
            if (run.pool, run.instance, run.project, run.branch, run.kind, run.state) != here or span is None:
                continue
            for build, number, each, sign in self._results_of(run.id):
                tries = self._tries(run.id, self._m.builds[build - 1].job)
                if each.verdict is Verdict.SLOWER and each.ratio and each.low and each.high:
                    worse = math.log(each.high if sign < 0 else each.low) * sign
                    anchor = (run.id, build, number, sign * math.log(each.ratio), worse, *span, tries)
                    anchors.append(SlowerAnchor(*anchor))
        series = {each.series_id for each in anchors}
        return SlowRanges(tuple(anchors), tuple(each for each in self._steps() if each.series_id in series))

    def _tries(self, run_id: int, job: str) -> int:
        again = [each for each in self._m.runs if (each.kind, each.previous_id) == (RunKind.LONGER, run_id)]
        own = [each for each in again if job in {build.job for build in self._builds_of(each.id)}]
        return sum(map(self._is_done, own)) if len(own) < AGAIN else len(own)

    def _steps(self) -> Iterator[KnownStep]:
        found: dict[tuple[int, int], KnownStep] = {}
        for run in self._m.runs:
            merged = (
                self._m.runs[run.previous_id - 1] if run.kind is RunKind.LONGER and run.previous_id else run
            )
            if merged.kind is not RunKind.POST_SUBMIT:
                continue
            moment = merged.id
            for _, number, each, sign in self._results_of(run.id):
                if each.verdict in {Verdict.SLOWER, Verdict.FASTER} and each.ratio:
                    step = KnownStep(number, sign * math.log(each.ratio), moment, moment)
                    found[number, merged.id] = step
        yield from found.values()
        for regression in self._m.regressions:
            of = self._m.runs[regression.run_id - 1]
            span = self._range(of) if of.committed_at is None else self._landed(of)
            for result, _ in regression.results if span else ():
                sign = self._signs()[result.series_id]
                if span and result.ratio:
                    yield KnownStep(result.series_id, sign * math.log(result.ratio), *span)

    def _landed(self, run: RunRecord) -> tuple[int, int] | None:
        """Return the first run on the branch that has the commit of a backfill, as begin and end."""
        runs, children = dict[str, int](), dict[str, str]()
        for each in reversed(self._m.runs):
            commit = self._m.merged_as.get(each.id) or each.revision
            if each.kind is RunKind.POST_SUBMIT:
                runs[commit] = each.id
            if (each.kind is RunKind.POST_SUBMIT or each.committed_at) and each.parent:
                children[each.parent] = commit
        found = first_run_with(run.revision, runs, children)
        return None if found is None else (found, found)

    def _range(self, run: RunRecord) -> tuple[int, int] | None:
        """Return the runs on the merged commits of an anchor; None for any other run."""
        merged = {
            self._m.merged_as.get(each.id) or each.revision: each.id
            for each in self._m.runs
            if each.kind is RunKind.POST_SUBMIT
        }
        is_anchor = run.kind is RunKind.ANCHOR and run.committed_at is None and run.previous_id is None
        if not is_anchor or run.parent not in merged or run.revision not in merged:
            return None
        begin, end = merged[run.parent], merged[run.revision]
        return (begin, end) if begin < end else None

    def unfinished(self, instance: str, project: str, branch: str) -> int:
        here = (instance, project, branch, RunKind.POST_SUBMIT)
        return sum(
            (run.instance, run.project, run.branch, run.kind) == here and run.state in UNFINISHED
            for run in self._m.runs
        )
