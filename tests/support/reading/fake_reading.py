"""Read ports over values in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import override

from service.domain.building.logs.stored_log import LogPart, StoredLog
from service.domain.project.job_kinds import JobKind
from service.domain.review.change_search import EVERY_CHANGE
from service.domain.runs.health import PoolQueue
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Result
from service.domain.values.errors import Ambiguous, Transient
from service.domain.values.identity import ChangeAddress, RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.health import failure_sentences
from service.domain.wording.standing import waiting
from service.ports.claims import ClaimedRun
from service.ports.reading import Reading
from service.ports.review.shown import Change, ChangeWithPatchSets, PatchSetDetail
from service.ports.runs.shown import (
    BuildDetail,
    BuildOfRun,
    ExplainedBuild,
    RunWithBuilds,
    Standing,
    leading,
)
from service.ports.verdict import (
    Comparison,
    MeasuredBuild,
    MeasuredPatchSet,
    MeasuredPatchSets,
    Samples,
)
from tests.support.reading.fake_series import FakeSeries
from tests.support.reading.hiding import as_seen
from tests.support.reading.matching import matches
from tests.support.reading.views import healthy, pool_machine, samples_like, tally_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from service.domain.claims.answers import AnsweredClaim
    from service.domain.review.change import ChangeStatus
    from service.domain.review.change_search import ChangeSearch
    from service.domain.runs.activity import Activity
    from service.domain.runs.health import Condition
    from service.domain.runs.retention import StoredSize
    from service.ports.machines import Machine
    from service.ports.reading import Viewer
    from service.ports.review.shown import Cursor
    from service.ports.runs.shown import Build, Run
    from service.ports.verdict import SeriesVotingStatus

T = TypeVar("T")
B = TypeVar("B", bound="Build")


@dataclass
class FakeReading(FakeSeries, Reading):
    """Answers from lists; every method behaves as its port promises."""

    @override
    def seen_by(self, viewer: Viewer | None) -> FakeReading:
        seen = viewer.sees(self.hidden) if viewer and self.hidden else frozenset()
        return replace(as_seen(self, self.hidden - seen), viewer=viewer)

    @override
    def changes(
        self, limit: int, after: Cursor | None = None, search: ChangeSearch = EVERY_CHANGE
    ) -> Sequence[Change]:
        newest = [self._patch_sets_of(row)[-1] for row in self.change_rows]
        matching = [detail.change for detail in newest if matches(detail, search)]
        ordered = sorted(matching, key=lambda row: (row.updated_at, row.id), reverse=True)
        end = None if after is None else (after.updated_at, after.id)
        return [row for row in ordered if end is None or (row.updated_at, row.id) < end][:limit]

    @override
    def change(self, address: ChangeAddress) -> ChangeWithPatchSets:
        details = self._patch_sets_of(self._row_of(address))
        return ChangeWithPatchSets(details[-1].change, tuple(detail.patch_set for detail in details))

    @override
    def patch_set(self, change: ChangeAddress, number: int | None = None) -> PatchSetDetail:
        details = self._patch_sets_of(self._row_of(change))
        wanted = details[-1].patch_set.number if number is None else number
        matching = (detail for detail in details if detail.patch_set.number == wanted)
        found = self.only(matching, f"change {change} has no patch set {number}", change.instance)
        return replace(found, patch_sets=tuple(detail.patch_set for detail in details))

    @override
    def measured_patch_sets(
        self, change: ChangeAddress, limit: int, before: int | None = None
    ) -> MeasuredPatchSets:
        row = self._row_of(change)
        numbers = [detail.patch_set.number for detail in self._patch_sets_of(row)]
        candidates = (self._measured(row, n) for n in reversed(numbers) if before is None or n < before)
        measured = [patch_set for patch_set in candidates if patch_set is not None]
        return MeasuredPatchSets(tuple(measured[:limit]), len(measured[limit:]))

    def _row_of(self, address: ChangeAddress) -> Change:
        rows = [
            row
            for row in self.change_rows
            if row.number == address.number and address.instance in {None, row.instance}
        ]
        if len(rows) > 1:
            raise Ambiguous(address.number, tuple(sorted(f"{row.instance}~{row.number}" for row in rows)))
        return self.only(iter(rows), f"there is no change {address}", address.instance)

    def _patch_sets_of(self, row: Change) -> Sequence[PatchSetDetail]:
        stored = [detail for detail in self.patch_set_rows if detail.change.id == row.id]
        oldest_first = sorted(stored, key=lambda detail: detail.patch_set.number)
        details = [self._with_runs(detail) for detail in oldest_first]
        newest = details[-1]
        run = leading(newest.runs)
        worst = min(newest.builds, key=_rank, default=None)
        change = replace(
            row,
            address=self.shown_address(row.number, row.instance),
            patch_set=newest.patch_set.number,
            revision=newest.patch_set.revision,
            vote=newest.patch_set.vote,
            header=newest.patch_set.header,
            run_id=run.id if run else None,
            run_kind=run.kind if run else None,
            run_state=run.state if run else None,
            standing=newest.patch_set.standing,
            builds=len(newest.builds),
            finished_builds=sum(build.state is BuildState.FINISHED for build in newest.builds),
            undecided=newest.patch_set.undecided,
            cause=next(iter(worst.causes), "") if worst else "",
        )
        return [replace(detail, change=change) for detail in details]

    def _with_runs(self, stored: PatchSetDetail) -> PatchSetDetail:
        address = self.shown_address(stored.change.number, stored.change.instance)
        runs = self._runs_of(stored.change, stored.patch_set.number)
        decisions = tuple(decision for run in runs for decision in run.decisions)
        counting = (d for run in runs if run.run.kind is RunKind.CHECK for d in run.decisions)
        newest = next(counting, None)
        first = leading([run.run for run in runs])
        lead = next((run for run in runs if run.run == first), None)
        builds = lead.builds if lead else ()
        kind, state = (lead.run.kind, lead.run.state) if lead else (None, None)
        standing = Standing.of(kind, state, newest.vote if newest else None, builds)
        return replace(
            stored,
            patch_set=replace(
                stored.patch_set,
                vote=newest.vote if newest else None,
                header=newest.header if newest else "",
                undecided=standing.undecided,
                standing=standing,
            ),
            decisions=decisions,
            runs=tuple(run.run for run in runs),
            builds=builds,
            problems=failure_sentences([each for each in self.failing if each.change == address]),
        )

    def _runs_of(self, change: Change, patch_set: int) -> Sequence[RunWithBuilds]:
        every = map(self._counted, self.runs)
        place = self.shown_address(change.number, change.instance), patch_set
        its = (each for each in every if (each.run.change_address, each.run.patch_set) == place)
        return sorted(its, key=lambda each: each.run.id, reverse=True)

    def _counted(self, run: RunWithBuilds) -> RunWithBuilds:
        return replace(run, run=self.addressed(run.run), builds=tuple(map(self._read, run.builds)))

    def _read(self, build: B) -> B:
        """Fill in what follows from a build's rows, the queue and the machines."""
        return replace(
            build,
            undecided=self._undecided(build),
            tally=tally_of(self.rows.get(build.id, ())),
            place=self._place(build),
            waits=self._waits(build),
        )

    def _undecided(self, build: Build) -> int:
        return sum(row.verdict is Verdict.UNDECIDED for row in self.rows.get(build.id, ()))

    def _place(self, build: Build) -> int | None:
        if build.state is not BuildState.QUEUED:
            return None
        every = {each.id: each for run in self.runs for each in run.builds}.values()
        ahead = [each for each in every if each.id < build.id and each.pool == build.pool]
        return 1 + sum(each.state is BuildState.QUEUED for each in ahead)

    def _waits(self, build: Build) -> str:
        place = self._place(build)
        machines = [pool_machine(each) for each in self.machines() if each.pool == build.pool]
        return waiting(build.pool, place, machines) if place else ""

    def _measured(self, change: Change, number: int) -> MeasuredPatchSet | None:
        for run in self._runs_of(change, number):
            measured = tuple(
                MeasuredBuild(build.job, build.number, tuple(self.rows[build.id]))
                for build in run.builds
                if JobKind(build.kind).may_compare and self.rows.get(build.id)
            )
            if measured and run.run.kind is RunKind.CHECK:
                # Nothing in memory has trees of its own: equal parents have equal ones.
                parent = run.run.parent
                return MeasuredPatchSet(number, run.run.revision, run.run.id, parent, parent, measured)
        return None

    @override
    def run(self, run_id: int) -> RunWithBuilds:
        matching = (self._counted(each) for each in self.runs if each.run.id == run_id)
        return self.only(matching, f"there is no run {run_id}")

    @override
    def build(self, job: str, number: int) -> BuildDetail:
        of_job = [each for each in reversed(self.builds) if each.build.job == job]
        elsewhere = [each for each in of_job if each.build.external_number == number]
        here = [each for each in of_job if each.build.number == number]
        found = sorted(elsewhere + here, key=lambda each: each.build.is_external)
        detail = self.only(iter(found), f"there is no build {job}/{number}")
        build = self._read(detail.build)
        return replace(detail, build=build, runs=tuple(map(self.addressed, detail.runs)))

    @override
    def unfinished_builds(self, limit: int, after: int = 0) -> Sequence[Build]:
        def place(build: Build) -> tuple[str, bool, int]:
            return build.pool, build.state is BuildState.QUEUED, build.id

        found = (self._read(each.build) for each in self.builds)
        unfinished = (each for each in found if each.state is not BuildState.FINISHED)
        return sorted((each for each in unfinished if not each.is_external), key=place)[after:][:limit]

    @override
    def queued_builds(self, limit: int) -> Sequence[Build]:
        queued = [each for each in self.unfinished_builds(len(self.builds)) if each.place]
        of_pools = (group for _, group in groupby(queued, key=attrgetter("pool")))
        return [each for group in of_pools for each in islice(group, limit)]

    @override
    def log(self, job: str, number: int) -> StoredLog:
        build = self.build(job, number).build
        is_finished = build.state is BuildState.FINISHED
        parts = (LogPart(0, 0, self.log_bytes, "log"),) if is_finished else ()
        return self.logs.get(build.id, StoredLog("", parts, is_growing=not is_finished))

    @override
    def comparisons(self, build_id: int, measured_at: datetime) -> Sequence[Comparison]:
        return self.rows.get(build_id, [])

    @override
    def explanations(self, build_id: int, stacks_of: int = 0) -> ExplainedBuild:
        packed = self.explained.get(build_id)
        return ExplainedBuild.of(packed, stacks_of) if packed else ExplainedBuild()

    @override
    def claims(self, run_id: int) -> Sequence[AnsweredClaim]:
        return self.claimed.get(self.run(run_id).run.id, ())

    @override
    def claims_of_runs(self, runs: Collection[int]) -> Mapping[int, Sequence[AnsweredClaim]]:
        seen = (each.run.id for each in self.runs if each.run.id in runs)
        return {run: self.claimed[run] for run in seen if self.claimed.get(run)}

    @override
    def recent_claims(self, since: datetime, limit: int) -> Sequence[ClaimedRun]:
        found: dict[tuple[str, str, int | str], ClaimedRun] = {}
        statuses = {(row.instance, row.number): row.status for row in self.change_rows}
        kinds = (RunKind.CHECK, RunKind.POST_SUBMIT)  # of one change, the merged one is listed
        runs = [self.addressed(each.run) for each in self.runs if each.run.kind in kinds]
        for run in sorted(runs, key=lambda run: (kinds.index(run.kind), run.patch_set or 0, run.id)):
            is_decided = run.state is RunState.FINISHED and self.claimed.get(run.id)
            if is_decided and run.finished_at and run.finished_at >= since:
                status = statuses.get((run.instance, run.change or 0))
                key = run.instance, run.project, run.change or run.revision
                found[key] = _claimed_run(run, run.finished_at, self.claimed[run.id], status)
        return sorted(found.values(), key=lambda each: each.decided_at, reverse=True)[:limit]

    @override
    def samples(self, build_id: int, measured_at: datetime, series_id: int) -> Samples:
        rows = (row for row in self.rows.get(build_id, []) if row.series_id == series_id)
        row = self.only(rows, f"the build holds no samples of series {series_id}")
        base, patch = samples_like(row)
        return Samples(
            series_id=row.series_id,
            suite=row.suite,
            benchmark=row.benchmark,
            metric=row.metric,
            unit=row.unit,
            better=row.better,
            base=base,
            patch=patch,
        )

    @override
    def machines(self) -> Sequence[Machine]:
        return sorted(self.machine_rows, key=lambda machine: (machine.pool, machine.name))

    @override
    def voting_statuses(
        self,
        limit: int,
        after: tuple[str, int] | None = None,
        series: Collection[int] | None = None,
    ) -> Sequence[SeriesVotingStatus]:
        def place(row: SeriesVotingStatus) -> tuple[str, str, str, int]:
            return row.machine, row.series.job, row.series.suite, row.series.id

        wanted = [row for row in self.voting_status_rows if series is None or row.series.id in series]
        rows = sorted(wanted, key=place)
        ends = [index for index, row in enumerate(rows) if (row.machine, row.series.id) == after]
        if after and not ends:
            rows = [row for row in rows if row.machine >= after[0]]
        return rows[ends[0] + 1 if ends else 0 :][:limit]

    @override
    def condition(self) -> Condition:
        if self.is_away:
            raise Transient("the database does not answer")
        return self.state or healthy(queues=self._queues(), failing_steps=tuple(self.failing))

    @override
    def activity(self) -> Activity:
        return self.recent

    @override
    def stored_sizes(self) -> Sequence[StoredSize]:
        return self.sizes

    def _queues(self) -> tuple[PoolQueue, ...]:
        waiting: dict[str, list[datetime]] = {}
        seen: dict[str, datetime] = {}
        for detail in self.builds:
            if detail.build.state is BuildState.QUEUED:
                waiting.setdefault(detail.build.pool, []).append(detail.build.created_at)
        for machine in self.machine_rows:
            seen[machine.pool] = max(machine.last_seen_at, seen.get(machine.pool, machine.last_seen_at))
        return tuple(
            PoolQueue(
                pool, len(waiting.get(pool, ())), min(waiting.get(pool, ()), default=None), seen.get(pool)
            )
            for pool in sorted({*waiting, *seen})
        )


def _claimed_run(
    run: Run, decided_at: datetime, claims: Sequence[AnsweredClaim], status: ChangeStatus | None
) -> ClaimedRun:
    return ClaimedRun(
        run_id=run.id,
        instance=run.instance,
        project=run.project,
        branch=run.branch,
        revision=run.revision,
        subject=run.subject,
        author=run.author,
        decided_at=decided_at,
        is_merged=run.kind is RunKind.POST_SUBMIT,
        change=run.change,
        change_address=run.change_address,
        patch_set=run.patch_set,
        status=status,
        claims=tuple(claims),
    )


# As the page of changes orders builds to name the cause of the worst.
_WORST_FIRST = (Result.FAILURE, Result.ABORTED, Result.UNSTABLE, Result.SUCCESS)


def _rank(build: BuildOfRun) -> int:
    return _WORST_FIRST.index(build.result) if build.result in _WORST_FIRST else len(_WORST_FIRST)
