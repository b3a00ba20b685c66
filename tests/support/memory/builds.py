"""Builds in memory, and what was measured in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from service.domain.runs.states import UNFINISHED, BuildState
from service.domain.runs.turn import UNKNOWN_SECONDS, turn_ahead
from service.domain.runs.vote import LASTING
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.evidence import History
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import NOT_BY_PAIRS, has_kind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.runs.builds import BuildRecord, Builds
from service.ports.verdict import Evidence, Explanations, ImportedValues, Measurements
from tests.support.memory.state import InMemory, Waiting, row
from tests.support.memory.state import Results as StoredResults
from tests.support.runs.build_states import BuildEvent, state_after

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from service.domain.building.findings import Finding
    from service.domain.building.spec import BuildSpec
    from service.domain.measuring.listing import Listing
    from service.domain.runs.slowdown import Slowdown
    from service.domain.runs.vote import Outcome
    from service.domain.values.identity import SeriesKey
    from service.domain.verdict.calibration.evidence import Session
    from service.domain.verdict.trend.imported import ImportedValue
    from service.ports.runs.builds import NewBuild
    from service.ports.runs.runs import RunRecord
    from service.ports.verdict import StoredComparison, StoredPair, StoredResult


class MemoryBuilds(InMemory, Builds):
    def add(self, run_id: int, position: int, build: NewBuild) -> int:
        unfinished = BuildState.RUNNING if build.kind.is_external else BuildState.QUEUED
        is_queued = build.outcome is None and unfinished is BuildState.QUEUED
        number, owner = len(self._m.builds) + 1, self._owner_of(run_id) if is_queued else ""
        turn = self._turn(owner, build.pool, build.spec)
        self._m.builds.append(
            BuildRecord(
                id=number,
                job=build.job,
                number=self._next_number(build.job),
                kind=build.kind,
                state=unfinished if build.outcome is None else BuildState.FINISHED,
                attempt=0,
                is_voting=build.is_voting,
                cancel_requested=False,
                spec=build.spec,
                execution=None,
                outcome=build.outcome,
                causes=tuple(build.causes),
                sequence_id=self._sequence(build.sequence),
                machine="",
                created_at=self._m.now,
            )
        )
        waiting = self._waiting(build.pool, build.priority, build.deadline_seconds, owner, turn)
        self._m.waiting[number] = replace(waiting, for_machine=build.for_machine)
        self._place(run_id, position, number)
        return number

    def adopt(
        self, run: RunRecord, position: int, sequence: str, deadline_seconds: float, queued_seconds: float
    ) -> BuildRecord | None:
        for build in reversed(self._m.builds):
            is_done = build.state is BuildState.FINISHED
            is_fit = build.outcome in LASTING if is_done else not build.cancel_requested
            digest = self._m.sequences[build.sequence_id - 1] if build.sequence_id else ""
            is_here = build.spec.get("branch") == run.branch and build.spec.get("kind") != RunKind.POST_SUBMIT
            if is_fit and is_here and sequence and digest == sequence:
                waiting = self._m.waiting[build.id]
                left = queued_seconds if build.state is BuildState.QUEUED else deadline_seconds
                later = max(waiting.deadline, self._m.clock + left)
                self._m.waiting[build.id] = replace(waiting, deadline=later)
                self._place(run.id, position, build.id)
                return build
        return None

    def of_run(self, run_id: int) -> Sequence[BuildRecord]:
        return [self._m.builds[build - 1] for run, build in self._m.run_builds if run == run_id]

    def lock(self, build_id: int) -> BuildRecord:
        return row(self._m.builds, build_id, "build")

    def finish(
        self,
        build_id: int,
        outcome: Outcome,
        causes: Sequence[str],
        blamed: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Sequence[int]:
        build = self.lock(build_id)
        if build.state is not BuildState.FINISHED:
            event = BuildEvent.ANALYSED if build.state is BuildState.EXECUTED else BuildEvent.GIVEN_UP
            state = state_after(build.state, event)
            self._m.put_build(
                replace(
                    build,
                    state=state,
                    outcome=outcome,
                    causes=tuple(causes),
                    blamed=tuple(blamed),
                    notes=tuple(notes),
                )
            )
        self._m.leases.pop(build_id, None)
        runs = sorted(run for run, number in self._m.run_builds if number == build_id)
        return [run for run in runs if self._m.runs[run - 1].state in UNFINISHED]

    def take(self, run_id: int, position: int, build_id: int) -> None:
        self._place(run_id, position, build_id)

    def repeat(self, build: BuildRecord, spec: BuildSpec | None, deadline_seconds: float) -> int:
        was = self._m.waiting[build.id]
        kind = build.kind if spec is None else spec.job.kind
        again = replace(
            build,
            id=len(self._m.builds) + 1,
            number=self._next_number(build.job),
            kind=kind,
            state=BuildState.RUNNING if kind.is_external else BuildState.QUEUED,
            attempt=0,
            cancel_requested=False,
            execution=None,
            outcome=None,
            causes=(),
            machine="",
            created_at=self._m.now,
            blamed=(),
            external_number=None,
            url="",
            reported="",
            log_url="",
            findings=(),
            slowdowns=None,
        )
        pool = was.pool
        if spec is not None:
            pool = spec.job.pool
            sequence = self._sequence(spec.shared_sequence)
            again = replace(again, spec=spec.to_mapping(), sequence_id=sequence)
        places = self._m.run_builds + self._m.replaced
        owner = self._owner_of(next(run for run, held in places if held == build.id))
        turn = self._turn(owner, pool, again.spec, is_asked=not again.spec.get("longer"))
        self._m.builds.append(again)
        self._m.waiting[again.id] = self._waiting(pool, was.priority, deadline_seconds, owner, turn)
        return again.id

    def put(self, run_id: int, position: int, job: str, build_id: int, comment_id: int | None) -> None:
        for place in self._m.run_builds:
            run, build = place
            if run == run_id and self._m.builds[build - 1].job == job:
                self._m.run_builds.remove(place)
                self._m.replaced.append(place)
                break
        self._place(run_id, position, build_id)

    def _owner_of(self, run_id: int) -> str:
        run = self._m.runs[run_id - 1]
        merged = "~merged" if run.kind is RunKind.POST_SUBMIT else ""
        if run.change is None:
            return f"{run.instance}~{run.project}~{run.branch}{merged}"
        owner = self._m.changes[run.change].owner
        return f"{run.instance}~{owner.account or owner.shown}{merged}"

    def _turn(self, owner: str, pool: str, spec: Mapping[str, Any], *, is_asked: bool = False) -> float:
        """Return a turn as the service does where no job has run three times."""
        work = sum(
            UNKNOWN_SECONDS
            for each in self._m.builds
            if each.state in {BuildState.QUEUED, BuildState.RUNNING}
            and not each.cancel_requested
            and (self._m.waiting[each.id].pool, self._m.waiting[each.id].owner) == (pool, owner)
            and self._is_wanted(each.id)
        )
        is_merged = spec.get("kind") == RunKind.POST_SUBMIT
        return self._m.clock + turn_ahead(work, None, is_asked=is_asked, is_merged=is_merged)

    def _is_wanted(self, build_id: int) -> bool:
        runs = [self._m.runs[run - 1] for run, build in self._m.run_builds if build == build_id]
        return not runs or any(run.state in UNFINISHED for run in runs)

    def _waiting(self, pool: str, priority: int, deadline_seconds: float, owner: str, turn: float) -> Waiting:
        now = self._m.clock
        return Waiting(pool, priority, now + deadline_seconds, now, now, owner, turn)

    def _next_number(self, job: str) -> int:
        return 1 + sum(build.job == job for build in self._m.builds)

    def _sequence(self, digest: str) -> int | None:
        if not digest:
            return None
        if digest not in self._m.sequences:
            self._m.sequences.append(digest)
        return self._m.sequences.index(digest) + 1

    def _place(self, run_id: int, position: int, build_id: int) -> None:
        self._m.positions[run_id, build_id] = position
        self._m.run_builds.append((run_id, build_id))
        self._m.run_builds.sort(key=lambda place: (place[0], self._m.positions[place], place[1]))


class MemoryMeasurements(InMemory, Measurements, ImportedValues):
    def stored_pairs(self, sequence_id: int) -> Sequence[StoredPair]:
        pairs = self._m.pairs.get(sequence_id, ())
        return sorted(pairs, key=lambda pair: (pair.variant, pair.pair))

    def listings(self, sequence_id: int) -> Sequence[Listing]:
        return self._m.listings.get(sequence_id, ())

    def disturbed_pairs(self, sequence_id: int) -> Mapping[int, bool]:
        as_built = [each.pair for each in self._m.pairs.get(sequence_id, ()) if not each.variant]
        return {pair: (sequence_id, pair) in self._m.disturbed for pair in as_built}

    def store_results(
        self,
        build: BuildRecord,
        kind: RunKind,
        series: Mapping[SeriesKey, tuple[str, str]],
        results: Sequence[StoredResult],
        comparisons: Sequence[StoredComparison],
    ) -> None:
        used = {each.series for each in results} | {each.series for each in comparisons}
        if unknown := used - series.keys():
            raise KeyError(unknown)
        assert len({each.series for each in comparisons}) == len(comparisons), "one comparison per series"
        self._m.results[build.id] = StoredResults(series, results, comparisons)

    def replace_imported(
        self,
        of: SeriesKey,
        commit: str,
        series: Mapping[SeriesKey, tuple[str, str]],
        values: Mapping[SeriesKey, ImportedValue],
    ) -> int:
        if unknown := values.keys() - series.keys():
            raise KeyError(unknown)
        before = self._m.imported.copy()
        self.remove_imported(of, commit)
        self._m.imported |= {(key, commit): each for key, each in values.items()}
        either = before.keys() | self._m.imported.keys()
        return sum(before.get(at) != self._m.imported.get(at) for at in either)

    def remove_imported(self, of: SeriesKey, commit: str = "") -> int:
        gone = [
            (key, of_commit)
            for key, of_commit in self._m.imported
            if replace(key, benchmark=of.benchmark, metric=of.metric) == of and commit in {"", of_commit}
        ]
        for each in gone:
            del self._m.imported[each]
        return len(gone)

    def count_measured(self, series: Collection[SeriesKey]) -> int:
        measured = {each.series for found in self._m.results.values() for each in found.comparisons}
        return len(measured & set(series))

    def unresolved_benchmarks(self, build_id: int) -> Sequence[str]:
        found = self._m.results.get(build_id)
        rows = [] if found is None else found.comparisons
        return sorted(
            {
                each.series.benchmark
                for each in rows
                if each.verdict is Verdict.UNDECIDED
                and not has_kind(each.reasons, NOT_BY_PAIRS)
                and each.series.metric != INSTRUCTIONS.name
            }
        )

    def store_findings(self, build_id: int, findings: Sequence[Finding]) -> None:
        build = row(self._m.builds, build_id, "build")
        self._m.put_build(replace(build, findings=tuple(findings)))

    def continue_series(self, former: Mapping[SeriesKey, SeriesKey]) -> None:
        stored = {key for each in self._m.results.values() for key in each.series}
        known = self._m.continued
        for new, old in former.items():
            if {new, old} <= stored and new != old and new not in known and old not in known.values():
                known[new] = old
                self._m.continued = without_cycle(known, new)

    def store_slowdowns(self, build_id: int, slowdowns: Sequence[Slowdown]) -> None:
        build = row(self._m.builds, build_id, "build")
        self._m.put_build(replace(build, slowdowns=tuple(slowdowns)))


class MemoryExplanations(InMemory, Explanations):
    def packed_of(self, builds: Sequence[int]) -> Mapping[int, bytes]:
        return {build: packed for build, packed in self._m.explanations.items() if build in builds}


class MemoryEvidence(InMemory, Evidence):
    def store(self, build: BuildRecord, sessions: Mapping[SeriesKey, Session]) -> None:
        assert build.sequence_id is not None
        assert sessions.keys() <= self._m.results[build.id].series.keys(), "results are stored first"
        for key, session in sessions.items():
            machine, _ = self._m.evidence.get((key, build.sequence_id), (build.machine, session))
            if machine == build.machine:
                self._m.evidence[key, build.sequence_id] = (machine, session)

    def of(
        self, machine: str, series: Sequence[SeriesKey], without: int | None = None
    ) -> Mapping[SeriesKey, History]:
        found: dict[SeriesKey, dict[int, Session]] = {}
        for (key, sequence), (where, session) in sorted(
            self._m.evidence.items(), key=lambda each: -each[0][1]
        ):
            for each in series:
                own = [replace(one, branch=key.branch) for one in (each, self._m.continued.get(each)) if one]
                if where == machine and key in own and sequence != without:
                    found.setdefault(each, {}).setdefault(sequence, session)
        return {key: History.of(list(sessions.values())) for key, sessions in found.items()}


def without_cycle(known: dict[SeriesKey, SeriesKey], new: SeriesKey) -> dict[SeriesKey, SeriesKey]:
    """Leave out the link from the last series before a new one to the new one itself."""
    each, seen = new, set()
    while each in known and each not in seen:
        seen.add(each)
        if known[each] == new:
            return {key: value for key, value in known.items() if key != each}
        each = known[each]
    return known
