"""Backfills in memory."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from service.domain.runs.states import UNFINISHED, RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.backfill import LinkTries
from service.domain.trunk.spread import FLOOR, LEAST
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.backfill import Backfills, StoredBackfill
from tests.support.memory.branches import MemoryBranches
from tests.support.memory.state import NOW, row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from service.domain.trunk.backfill import Backfill
    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.runs.runs import RunRecord


class MemoryBackfills(MemoryBranches, Backfills):
    def add(self, backfill: Backfill, requested_by: str) -> int:
        number = len(self._m.backfills) + 1
        new = StoredBackfill(
            id=number, backfill=backfill, requested_by=requested_by, created_at=self._moment()
        )
        self._m.backfills.append(new)
        return number

    def list(self) -> Sequence[StoredBackfill]:
        newest = sorted(self._m.backfills, key=lambda each: (each.ended_at is not None, -each.id))
        return newest[:100]

    def waiting(self) -> Sequence[StoredBackfill]:
        return [each for each in self._m.backfills if each.ended_at is None]

    def note(self, backfill_id: int, links: int, left: int, failed: int) -> None:
        stored = self._m.backfills[backfill_id - 1]
        if stored.ended_at is None:
            noted = replace(stored, links=links, left=left, failed=failed)
            self._m.backfills[backfill_id - 1] = noted if left else replace(noted, ended_at=self._moment())

    def cancel(self, backfill_id: int) -> bool:
        stored = row(self._m.backfills, backfill_id, "backfill")
        if stored.ended_at is None:
            self._m.backfills[backfill_id - 1] = replace(stored, ended_at=self._moment())
        return stored.ended_at is None

    def measured_in(
        self, key: BranchKey, jobs: Collection[str], revisions: Collection[str]
    ) -> frozenset[str]:
        here = (key.instance, key.project, key.branch, RunKind.POST_SUBMIT)
        runs = [run for run in self._m.runs if (run.instance, run.project, run.branch, run.kind) == here]
        known = {
            self._m.merged_as.get(run.id) or run.revision
            for run in runs
            if run.state in UNFINISHED or {*jobs} <= {*self._measured_jobs(run.id)}
        }
        return frozenset(known.intersection(revisions))

    def _measured_jobs(self, run_id: int) -> Iterator[str]:
        for build in self._builds_of(run_id):
            if build.outcome is Outcome.NOT_BUILT or self._comparisons(build.id):
                yield build.job

    def tries(self, key: BranchKey) -> Mapping[tuple[str, str], LinkTries]:
        tries: dict[tuple[str, str], LinkTries] = {}
        for run in self._links(key):
            ends = (str(run.parent), run.revision)
            outcomes = {build.outcome for build in self._builds_of(run.id)}
            is_ended = self._is_done(run) or run.state is RunState.REFUSED
            is_measured = self._is_done(run) and outcomes <= {Outcome.PASSED, Outcome.NOT_BUILT}
            before = tries.get(ends, LinkTries(0, 0, is_measured=False))
            tries[ends] = LinkTries(
                before.tries + 1,
                before.failed + (is_ended and not is_measured),
                before.is_measured or is_measured,
            )
        return tries

    def slower(self, key: BranchKey) -> Sequence[tuple[int, int]]:
        found: dict[tuple[int, int], datetime | None] = {}
        narrowed = [each.narrowed for each in self._m.regressions if each.narrowed]
        own = (self._m.runs[number - 1] for _, number, commits in narrowed if number and commits == 1)
        for run in (*self._links(key), *own):
            for build, _, each, sign in self._results_of(run.id) if run.state is RunState.FINISHED else ():
                if each.verdict is not Verdict.SLOWER or not each.ratio or not each.low or not each.high:
                    continue
                low = sign * math.log(each.high if sign < 0 else each.low)
                is_large = sign * math.log(each.ratio) >= LEAST and low >= FLOOR
                if is_large and not self._tries(run.id, self._m.builds[build - 1].job):
                    found[run.id, build] = run.committed_at
        newest = sorted(found, key=lambda ends: ends[0], reverse=True)
        return sorted(newest, key=lambda ends: -(found[ends] or datetime.max.replace(tzinfo=UTC)).timestamp())

    def _links(self, key: BranchKey) -> Iterator[RunRecord]:
        here = (key.pool, key.instance, key.project, key.branch, RunKind.ANCHOR)
        for run in self._m.runs:
            own = (run.pool, run.instance, run.project, run.branch, run.kind)
            if own == here and run.committed_at is not None:
                yield run

    def _moment(self) -> datetime:
        return NOW + timedelta(seconds=self._m.clock)
