"""Runs in memory: their life and their history."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from service.domain.review.change import ChangeStatus
from service.domain.runs.states import UNFINISHED, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind
from service.ports.runs.history import RunHistory
from service.ports.runs.runs import RunRecord, Runs
from tests.support.memory.state import InMemory, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.building.spec import BuildSpec
    from service.domain.values.identity import ChangeKey
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import NewRun
    from tests.support.memory.state import Memory


class MemoryRuns(InMemory, Runs):
    def add(self, run: NewRun) -> int | None:
        change = ref = None
        if run.patch_set_id is not None:
            patch_set = self._m.patch_sets[run.patch_set_id - 1]
            change, ref = self._m.change_ids[patch_set.change_id - 1], patch_set.ref
        for other in self._m.runs:
            if other.kind is run.kind and _is_same(other, run):
                if run.kind is RunKind.POST_SUBMIT:
                    self.give_to_change(run, run.revision)
                return None
        number = len(self._m.runs) + 1
        self._m.created[number] = self._m.clock
        self._m.runs.append(
            RunRecord(
                id=number,
                kind=run.kind,
                state=RunState.PLANNING,
                instance=run.instance,
                project=run.project,
                branch=run.branch,
                revision=run.revision,
                parent=run.parent,
                previous_id=run.previous_id,
                label="Verified",
                patch_set_id=run.patch_set_id,
                change=change,
                ref=ref,
                pool=run.pool,
                machine=run.machine,
                committed_at=run.committed_at,
            )
        )
        return number

    def give_to_change(self, run: NewRun | RunRecord, commit: str) -> bool:
        here = (RunKind.POST_SUBMIT, run.instance, run.project, run.branch, commit, None)
        for each in self._m.runs:
            own = (each.kind, each.instance, each.project, each.branch, each.revision, each.patch_set_id)
            if own == here and run.patch_set_id is not None:
                patch_set = self._m.patch_sets[run.patch_set_id - 1]
                change = self._m.change_ids[patch_set.change_id - 1]
                given = replace(each, patch_set_id=run.patch_set_id, change=change, ref=patch_set.ref)
                self._m.runs[each.id - 1] = given
                return True
        return False

    def lock(self, run_id: int) -> RunRecord:
        run = row(self._m.runs, run_id, "run")
        return replace(run, is_outdated=_is_outdated(self._m, run))

    def start(
        self,
        run_id: int,
        *,
        tree: str,
        parent: str | None,
        parent_tree: str | None,
        label: str,
        merged_as: str = "",
    ) -> None:
        run = self.lock(run_id)
        if run.state is RunState.PLANNING:
            self._m.merged_as[run_id] = merged_as
            self._m.runs[run_id - 1] = replace(run, state=RunState.RUNNING, parent=parent, label=label)
            self._m.planned.add(run_id)
            self._m.trees[run_id] = tree, parent_tree

    def end(self, run_id: int, state: RunState, reason: str = "") -> None:
        run = self.lock(run_id)
        if run.state in UNFINISHED:
            self._m.runs[run_id - 1] = replace(run, state=state)
            self._m.reasons[run_id] = reason
            self._m.ended[run_id] = self._m.clock

    def cancel(self, change_id: int, *, keep_patch_set: int | None, reason: str = "") -> None:
        change = self._m.change_ids[change_id - 1]
        for run in self._m.runs:
            if run.kind is RunKind.CHECK and run.change == change and run.patch_set_id != keep_patch_set:
                self.end(run.id, RunState.CANCELLED, reason)

    def cancel_check(self, run_id: int) -> None:
        run = self.lock(run_id)
        if run.state in UNFINISHED:
            self._m.runs[run_id - 1] = replace(run, state=RunState.CANCELLED, is_called_off=True)

    def follow(self, previous: RunRecord, comment_id: int | None, *, is_planned: bool = True) -> int:
        number = len(self._m.runs) + 1
        state = RunState.RUNNING if is_planned else RunState.PLANNING
        self._m.runs.append(
            replace(previous, id=number, state=state, is_called_off=False, previous_id=previous.id)
        )
        self._m.created[number] = self._m.clock
        if is_planned:
            self._m.planned.add(number)
        return number


class MemoryRunHistory(InMemory, RunHistory):
    def runs_of(self, patch_set_id: int) -> Sequence[RunRecord]:
        return [run for run in self._m.runs if run.patch_set_id == patch_set_id]

    def newest_check(self, patch_set_id: int) -> RunRecord | None:
        runs = [run for run in self.runs_of(patch_set_id) if run.kind is RunKind.CHECK]
        return next((run for run in reversed(runs) if not run.is_called_off), None)

    def newest_run(self, change: ChangeKey, kind: RunKind, revision: str) -> RunRecord | None:
        runs = [
            run
            for run in self._m.runs
            if (run.change, run.kind) == (change, kind)
            and revision in {run.revision, self._m.merged_as.get(run.id)}
        ]
        return replace(runs[-1], is_outdated=_is_outdated(self._m, runs[-1])) if runs else None

    def checks_of(self, instance: str, revision: str) -> tuple[tuple[RunState, bool], ...]:
        wanted = (instance, revision, RunKind.CHECK)
        runs = [run for run in self._m.runs if (run.instance, run.revision, run.kind) == wanted]
        return tuple((run.state, run.id in self._m.planned) for run in runs)

    def last_durations(self, run: RunRecord, count: int) -> Sequence[float]:
        branch = (run.kind, run.instance, run.project, run.branch)
        newest_first = (
            each
            for each in reversed(self._m.runs)
            if (each.kind, each.instance, each.project, each.branch) == branch
            and each.state is RunState.FINISHED
        )
        return [self._m.ended[each.id] - self._m.created[each.id] for each in islice(newest_first, count)]

    def builds_of(self, run: RunRecord, job: str) -> Sequence[BuildRecord]:
        wanted = (run.patch_set_id, run.kind, run.revision)
        runs = {each.id for each in self._m.runs if (each.patch_set_id, each.kind, each.revision) == wanted}
        ids = {build for number, build in self._m.run_builds + self._m.replaced if number in runs}
        return [build for build in self._m.builds if build.id in ids and build.job == job]

    def tests_on_base(self, spec: BuildSpec) -> str:
        for build in reversed(self._m.builds):
            if build.job == spec.job.name and build.outcome in {Outcome.PASSED, Outcome.FAILED}:
                runs = {number for number, each in self._m.run_builds if each == build.id}
                is_base = any(self._is_base(run, spec) for run in self._m.runs if run.id in runs)
                if is_base and build.report.tests:
                    return build.report.tests
        return ""

    def _is_base(self, run: RunRecord, spec: BuildSpec) -> bool:
        tree, _ = self._m.trees.get(run.id, (None, None))
        is_here = run.kind in {RunKind.CHECK, RunKind.POST_SUBMIT} and run.branch == spec.branch
        is_equal = spec.base is not None and tree == spec.base.tree
        return is_here and is_equal and (run.instance, run.project) == (spec.instance, spec.project)


def _is_same(other: RunRecord, run: NewRun) -> bool:
    """Return whether an unfinished run of the same kind excludes this one."""
    if run.kind is RunKind.POST_SUBMIT:
        commit = (run.instance, run.project, run.branch, run.revision)
        return (other.instance, other.project, other.branch, other.revision) == commit
    keys = ("pool", "machine") if run.kind.is_for_idle_pools else ("patch_set_id",)
    return other.state in UNFINISHED and all(getattr(other, key) == getattr(run, key) for key in keys)


def _is_outdated(memory: Memory, run: RunRecord) -> bool:
    if run.kind is not RunKind.CHECK or run.change is None or run.patch_set_id is None:
        return False
    patch_set = memory.patch_sets[run.patch_set_id - 1]
    numbers = [each.number for each in memory.patch_sets if each.change_id == patch_set.change_id]
    is_open = memory.changes[run.change].status is ChangeStatus.NEW
    return not is_open or patch_set.number < max(numbers)
