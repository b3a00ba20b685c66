"""Store contract: builds, and their pairs, results and evidence."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.building.findings import Finding
from service.domain.measuring.listing import Listing
from service.domain.measuring.metric import Better
from service.domain.project.job_kinds import JobKind
from service.domain.runs.slowdown import Slowdown
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind, SeriesKey, Side
from service.domain.verdict.calibration.evidence import RECALLED, Session
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.verdict import StoredComparison, StoredPair, StoredResult
from tests.support.store_samples import (
    BUILD,
    change,
    check_run,
    compared,
    named,
    post_submit_run,
    queue,
    start,
)

if TYPE_CHECKING:
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.upkeep import Upkeep
    from service.ports.store import Store
    from tests.contract.store.sites import StoreSite

UNIT: Final = ("s", "lower")
QUIET: Final = Session((0.5, -0.25, 0.0), Verdict.SAME)
ALARM: Final = Session((0.125,) * 4, Verdict.SLOWER)
SLOWDOWNS: Final = (
    Slowdown("BM_a", "cpu_time", Better.LOWER, 0.3, 0.25, 0.35, "perf", "executor"),
    Slowdown("BM_ü", "items", Better.HIGHER, 0.3, 0.0, math.inf),
)
FINDINGS: Final = (Finding("lib/a.cc", 3, "error: ‘x’"), Finding("lib/b.cc", 7, "fatal error: y"))


def key(benchmark: str = "BM_a", metric: str = "cpu_time") -> SeriesKey:
    return SeriesKey("review", "kv_engine", "master", "perf", "cv-perf", "executor", benchmark, metric)


def locked(store: Store, build_id: int) -> BuildRecord:
    with store.transaction() as tx:
        return tx.builds.lock(build_id)


class TestBuilds:
    def test_a_build_is_queued_as_it_was_planned(self, store: Store) -> None:
        [build_id] = queue(store)
        build = locked(store, build_id)
        assert (build.job, build.number, build.kind) == ("cv-perf", 1, JobKind("benchmark"))
        assert (build.state, build.attempt, build.outcome) == (BuildState.QUEUED, 0, None)
        assert (build.is_voting, build.spec, build.machine) == (True, BUILD.spec, "")
        assert (build.external_number, build.url, build.findings) == (None, "", ())

    def test_builds_are_numbered_per_job(self, store: Store) -> None:
        with store.transaction() as tx:
            runs = [start(tx, post_submit_run(revision * 40)) for revision in "abc"]
            builds = [tx.builds.add(run, 0, named(job)) for run, job in zip(runs, "xyx", strict=True)]
            assert [tx.builds.lock(build).number for build in builds] == [1, 1, 2]

    def test_an_unneeded_job_is_finished_at_once(self, store: Store) -> None:
        causes = ("no matching files changed",)
        [build_id] = queue(store, named("lint", outcome=Outcome.NOT_BUILT, causes=causes))
        build = locked(store, build_id)
        assert (build.state, build.outcome, build.causes) == (BuildState.FINISHED, Outcome.NOT_BUILT, causes)

    def test_a_build_of_another_ci_runs_from_the_beginning_and_shares_nothing(self, store: Store) -> None:
        [build_id] = queue(store, named("linux", kind=JobKind("external"), sequence=""))
        build = locked(store, build_id)
        assert (build.state, build.is_external, build.sequence_id) == (BuildState.RUNNING, True, None)

    def test_builds_of_equal_trees_and_configuration_share_a_sequence(self, store: Store) -> None:
        builds = queue(store, named("a"), named("b"), named("c", sequence="e" * 64))
        first, second, other = (locked(store, build).sequence_id for build in builds)
        assert first == second != other

    def test_the_builds_of_a_run_come_in_their_order(self, store: Store) -> None:
        with store.transaction() as tx:
            run = start(tx, check_run(tx.changes.upsert(change()).patch_set_id))
            for position, job in ((2, "c"), (0, "a"), (1, "b")):
                tx.builds.add(run, position, named(job))
            assert [build.job for build in tx.builds.of_run(run)] == ["a", "b", "c"]
            assert tx.builds.of_run(run + 1) == []

    @pytest.mark.parametrize("number", [0, 1])
    def test_an_unknown_build_is_not_found(self, store: Store, number: int) -> None:
        with store.transaction() as tx, pytest.raises(NotFound):
            tx.builds.lock(number)

    def test_finishing_a_build_names_the_unfinished_runs_that_have_it(self, store: Store) -> None:
        [build_id] = queue(store, named("a", sequence="trees"))
        with store.transaction() as tx:
            runs = []
            for patch_set in (2, 3):
                record = tx.changes.upsert(change(patch_set=patch_set, minutes=patch_set))
                runs.append(start(tx, check_run(record.patch_set_id)))
                assert tx.builds.adopt(tx.runs.lock(runs[-1]), 0, "trees", 60.0, 60.0) is not None
            tx.runs.end(1, RunState.CANCELLED)
            assert (
                tx.builds.finish(build_id, Outcome.SLOWER, ["worst BM_a"], ["BM_a"], ["a busy machine"])
                == runs
            )
        build = locked(store, build_id)
        assert (build.state, build.outcome) == (BuildState.FINISHED, Outcome.SLOWER)
        assert (build.causes, build.blamed) == (("worst BM_a",), ("BM_a",))
        assert build.notes == ("a busy machine",)

    def test_a_finished_build_keeps_its_outcome(self, store: Store) -> None:
        [build_id] = queue(store)
        with store.transaction() as tx:
            for outcome in (Outcome.PASSED, Outcome.INFRASTRUCTURE):
                assert tx.builds.finish(build_id, outcome, [outcome]) == [1]
        build = locked(store, build_id)
        assert (build.outcome, build.causes) == (Outcome.PASSED, ("passed",))

    def test_a_machine_loses_the_lease_on_a_finished_build(self, site: StoreSite) -> None:
        queue(site.store)
        build_id = site.claim()
        with site.store.transaction() as tx:
            tx.builds.finish(build_id, Outcome.CANCELLED, [])
        site.wait(60.0)
        assert site.upkeep.requeue_lost_builds(1) == []


class TestAdoption:
    """Adoption of a build by another run, which moves the deadline."""

    def adopt(self, store: Store, sequence: str = "trees", branch: str = "master") -> BuildRecord | None:
        with store.transaction() as tx:
            record = tx.changes.upsert(change(patch_set=2, minutes=1))
            run = start(tx, replace(check_run(record.patch_set_id), branch=branch))
            adopted = tx.builds.adopt(tx.runs.lock(run), 0, sequence, 7200.0, 9000.0)
            assert tx.builds.of_run(run) == ([adopted] if adopted else [])
            return adopted

    @pytest.mark.parametrize(("is_claimed", "seconds"), [(False, 9000.0), (True, 7200.0)])
    def test_an_unfinished_build_goes_on_with_time_left_and_a_queued_one_with_more(
        self, site: StoreSite, *, is_claimed: bool, seconds: float
    ) -> None:
        [build_id] = queue(site.store, named("cv-perf", sequence="trees"))
        if is_claimed:
            assert site.claim() == build_id
            site.wait(23 * 3600.0)
        adopted = self.adopt(site.store)
        assert adopted == locked(site.store, build_id)
        site.wait(seconds - 200.0)
        assert site.upkeep.overdue_builds() == []
        site.wait(400.0)
        assert site.upkeep.overdue_builds() == [build_id]

    def test_a_build_after_the_merge_is_not_adopted(self, store: Store) -> None:
        spec = {**BUILD.spec, "kind": "post-submit"}
        queue(store, named("a", sequence="trees", spec=spec))
        assert self.adopt(store) is None

    def test_the_newest_is_adopted(self, store: Store) -> None:
        _, newest = queue(store, named("a", sequence="trees"), named("b", sequence="trees"))
        adopted = self.adopt(store)
        assert adopted is not None
        assert adopted.id == newest

    @pytest.mark.parametrize("outcome", Outcome)
    def test_a_finished_build_is_reused_if_it_would_end_the_same_again(
        self, store: Store, outcome: Outcome
    ) -> None:
        [build_id] = queue(store, named("cv-perf", sequence="trees"))
        with store.transaction() as tx:
            tx.builds.finish(build_id, outcome, [])
        passing = {Outcome.MISCONFIGURED, Outcome.PARENT_BROKEN, Outcome.INFRASTRUCTURE}
        passing |= {Outcome.CANCELLED, Outcome.NOT_BUILT}
        assert (self.adopt(store) is None) == (outcome in passing)

    def test_builds_of_another_sequence_or_branch_are_left_alone(self, store: Store) -> None:
        queue(store, named("a", sequence="trees"), named("b", sequence=""))
        assert self.adopt(store, "other trees") is None

    @pytest.mark.parametrize("sequence", ["trees", ""])
    def test_a_build_of_another_branch_is_left_alone(self, store: Store, sequence: str) -> None:
        queue(store, named("cv-perf", sequence=sequence))
        assert self.adopt(store, sequence, branch="release") is None

    def test_a_cancelled_build_is_not_revived(self, store: Store, upkeep: Upkeep) -> None:
        queue(store, named("cv-perf", sequence="trees"))
        with store.transaction() as tx:
            tx.runs.cancel(tx.changes.upsert(change()).change_id, keep_patch_set=None)
        upkeep.drop_unwanted_builds()
        assert self.adopt(store) is None


class TestPairs:
    @pytest.fixture
    def build(self, store: Store) -> BuildRecord:
        [build_id] = queue(store)
        return locked(store, build_id)

    def test_a_new_sequence_has_nothing(self, store: Store, build: BuildRecord) -> None:
        assert build.sequence_id is not None
        with store.transaction() as tx:
            for sequence in (build.sequence_id, 99):
                assert list(tx.measurements.stored_pairs(sequence)) == []
                assert tx.measurements.listings(sequence) == ()
                assert tx.measurements.disturbed_pairs(sequence) == {}

    def test_pairs_come_in_order_of_variant_and_number(self, site: StoreSite, build: BuildRecord) -> None:
        pairs = [StoredPair(0, "a0"), StoredPair(2, "a2"), StoredPair(0, "a1", 1), StoredPair(1, "b", 1)]
        for number in (3, 0, 2, 1):
            site.record_pair(build.id, pairs[number], is_disturbed=number == 1)
        assert build.sequence_id is not None
        with site.store.transaction() as tx:
            assert tx.measurements.stored_pairs(build.sequence_id) == pairs
            assert tx.measurements.disturbed_pairs(build.sequence_id) == {0: False, 2: True}

    def test_listings_are_those_of_the_sequence(self, site: StoreSite, build: BuildRecord) -> None:
        listings = (Listing("executor", ("BM_a",), ("BM_a",)),)
        site.fix_listings(build.id, listings)
        assert build.sequence_id is not None
        with site.store.transaction() as tx:
            assert tx.measurements.listings(build.sequence_id) == listings


class TestMeasurements:
    @pytest.fixture
    def build(self, store: Store) -> BuildRecord:
        [build_id] = queue(store)
        return locked(store, build_id)

    def keep(self, store: Store, build: BuildRecord, *rows: StoredComparison) -> None:
        results = [StoredResult(row.series, side, (1.5, None)) for row in rows for side in Side]
        with store.transaction() as tx:
            units = {row.series: UNIT for row in rows}
            tx.measurements.store_results(build, RunKind.CHECK, units, results, rows)

    def test_each_benchmark_that_more_pairs_may_decide_is_named_once(
        self, store: Store, build: BuildRecord
    ) -> None:
        rows = [
            compared(key("BM_b"), Verdict.UNDECIDED),
            compared(key("BM_b", "real_time"), Verdict.UNDECIDED),
            compared(key("BM_a"), Verdict.UNDECIDED, Reason(ReasonKind.MORE_PAIRS, (20.0,))),
            compared(key("BM_slower"), Verdict.SLOWER),
            compared(key("BM_counted", INSTRUCTIONS.name), Verdict.UNDECIDED),
            compared(key("BM_moved"), Verdict.UNDECIDED, Reason(ReasonKind.LAYOUT_REFUTED, (1.0, 1.1))),
        ]
        self.keep(store, build, *rows)
        with store.transaction() as tx:
            assert tx.measurements.unresolved_benchmarks(build.id) == ["BM_a", "BM_b"]
            assert tx.measurements.unresolved_benchmarks(99) == []

    def test_storing_results_again_replaces_them(self, store: Store, build: BuildRecord) -> None:
        self.keep(store, build, compared(key("BM_a"), Verdict.UNDECIDED))
        self.keep(store, build, compared(key("BM_b"), Verdict.UNDECIDED))
        with store.transaction() as tx:
            assert tx.measurements.unresolved_benchmarks(build.id) == ["BM_b"]

    def test_a_result_of_an_unknown_series_is_refused(self, store: Store, build: BuildRecord) -> None:
        result = StoredResult(key("BM_b"), Side.BASE, (1.0,))
        with store.transaction() as tx, pytest.raises(KeyError):
            tx.measurements.store_results(build, RunKind.CHECK, {key(): UNIT}, [result], [])

    def test_a_build_keeps_the_findings_stored_last(self, store: Store, build: BuildRecord) -> None:
        with store.transaction() as tx:
            for findings in (FINDINGS[1:], FINDINGS):
                tx.measurements.store_findings(build.id, findings)
            assert tx.builds.lock(build.id).findings == FINDINGS
            again = tx.builds.repeat(tx.builds.lock(build.id), None, 60.0)
            assert tx.builds.lock(again).findings == ()

    def test_a_build_keeps_the_slow_downs_stored_last(self, store: Store, build: BuildRecord) -> None:
        assert build.slowdowns is None
        with store.transaction() as tx:
            for slowdowns in (SLOWDOWNS[1:], SLOWDOWNS):
                tx.measurements.store_slowdowns(build.id, slowdowns)
            assert tx.builds.lock(build.id).slowdowns == SLOWDOWNS
            again = tx.builds.repeat(tx.builds.lock(build.id), None, 60.0)
            assert tx.builds.lock(again).slowdowns is None


@pytest.fixture
def machines(site: StoreSite) -> None:
    """Show the machines of the sessions."""
    for name in ("perf-01", "perf-02"):
        site.register(name)


@pytest.mark.usefixtures("machines")
class TestRenamedSeries:
    def store_all(self, store: Store, *names: str) -> None:
        """Store a session of each series, as long as the number of its letter."""
        build_ids = queue(store, *(named(name, sequence=name) for name in names))
        for name, build_id in zip(names, build_ids, strict=True):
            build = replace(locked(store, build_id), machine="perf-01")
            session = Session((0.0,) * (1 + "abc".index(name)), Verdict.SAME)
            with store.transaction() as tx:
                tx.measurements.store_results(build, RunKind.CHECK, {key(name): UNIT}, [], [])
                tx.evidence.store(build, {key(name): session})

    def sessions(self, store: Store) -> dict[str, int]:
        """Return by series how many pairs its history has."""
        with store.transaction() as tx:
            found = tx.evidence.of("perf-01", [key(name) for name in "abc"])
        return {series.benchmark: history.pairs for series, history in found.items()}

    def rename(self, store: Store, **former: str) -> dict[str, int]:
        with store.transaction() as tx:
            tx.measurements.continue_series({key(new): key(old) for new, old in former.items()})
        return self.sessions(store)

    def test_a_renamed_series_continues_the_one_of_its_former_name(self, store: Store) -> None:
        self.store_all(store, "a", "b", "c")
        assert self.rename(store) == {"a": 1, "b": 2, "c": 3}
        assert self.rename(store, b="a") == {"a": 1, "b": 3, "c": 3}
        assert self.rename(store, b="a") == {"a": 1, "b": 3, "c": 3}
        assert self.rename(store, c="b") == {"a": 1, "b": 3, "c": 5}

    def test_a_series_continues_one_other_and_is_continued_by_one(self, store: Store) -> None:
        self.store_all(store, "a", "b", "c")
        self.rename(store, b="a")
        assert self.rename(store, c="a") == {"a": 1, "b": 3, "c": 3}
        assert self.rename(store, b="c") == {"a": 1, "b": 3, "c": 3}

    def test_series_without_a_row_are_left_out(self, store: Store) -> None:
        self.store_all(store, "a", "b")
        assert self.rename(store, b="unknown", unknown="a") == {"a": 1, "b": 2}

    def test_a_benchmark_can_get_its_former_name_back(self, store: Store) -> None:
        self.store_all(store, "a", "b", "c")
        self.rename(store, b="a")
        assert self.rename(store, a="b") == {"a": 3, "b": 2, "c": 3}
        assert self.rename(store, b="a") == {"a": 1, "b": 3, "c": 3}
        self.rename(store, c="b")
        assert self.rename(store, a="c") == {"a": 4, "b": 2, "c": 5}


@pytest.mark.usefixtures("machines")
class TestEvidence:
    def test_branches_share_their_sessions_and_equal_trees_count_once(self, store: Store) -> None:
        other = replace(key(), branch="7.6")
        self.calibrate(store, "1", {key(): QUIET, other: QUIET})
        self.calibrate(store, "2", {other: ALARM})
        self.calibrate(store, "3", {replace(key(), project="magma"): ALARM})
        with store.transaction() as tx:
            found = tx.evidence.of("perf-01", [key(), other])
        shared = (2, len(QUIET.logs) + len(ALARM.logs), 1)
        assert {of: (each.sessions, each.pairs, each.alarms) for of, each in found.items()} == {
            key(): shared,
            other: shared,
        }

    def calibrate(
        self, store: Store, sequence: str, sessions: dict[SeriesKey, Session], machine: str = "perf-01"
    ) -> None:
        with store.transaction() as tx:
            run = start(tx, replace(post_submit_run(), kind=RunKind.CALIBRATION, pool="perf"))
            build = tx.builds.lock(tx.builds.add(run, 0, named("cv-perf", sequence=sequence)))
            build = replace(build, machine=machine)
            tx.measurements.store_results(build, RunKind.CALIBRATION, dict.fromkeys(sessions, UNIT), [], [])
            tx.evidence.store(build, sessions)
            tx.builds.finish(build.id, Outcome.PASSED, [])
            tx.runs.end(run, RunState.FINISHED)

    def test_sessions_of_a_machine_come_newest_first(self, store: Store) -> None:
        self.calibrate(store, "1", {key(): QUIET, key("BM_b"): QUIET})
        self.calibrate(store, "2", {key(): ALARM})
        self.calibrate(store, "3", {key(): QUIET}, "perf-02")
        with store.transaction() as tx:
            found = tx.evidence.of("perf-01", [key(), key("BM_unknown")])
            assert tx.evidence.of("perf-01", []) == {}
            own = tx.builds.lock(2).sequence_id
            (without,) = tx.evidence.of("perf-01", [key()], own).values()
        assert set(found) == {key()}
        assert (without.newest, without.sessions, without.alarms) == ((QUIET,), 1, 0)
        assert found[key()].newest == (ALARM, QUIET)
        assert (found[key()].sessions, found[key()].pairs, found[key()].alarms) == (2, 7, 1)

    def test_a_build_that_continues_a_session_replaces_it_on_its_first_machine(self, store: Store) -> None:
        self.calibrate(store, "1", {key(): QUIET})
        self.calibrate(store, "1", {key(): ALARM})
        self.calibrate(store, "1", {key(): QUIET}, "perf-02")
        with store.transaction() as tx:
            assert tx.evidence.of("perf-01", [key()])[key()].newest == (ALARM,)
            assert tx.evidence.of("perf-02", [key()]) == {}

    def test_sessions_beyond_the_newest_are_counted(self, store: Store) -> None:
        for number in range(RECALLED + 2):
            self.calibrate(store, str(number), {key(): QUIET if number else ALARM})
        with store.transaction() as tx:
            history = tx.evidence.of("perf-01", [key()])[key()]
        assert len(history.newest) == RECALLED
        assert (history.sessions, history.pairs, history.alarms) == (RECALLED + 2, 157, 1)
