"""Store contract: runs, their history, and builds that run again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.building.spec import BuildSpec, Revision
from service.domain.project.job_kinds import JobKind
from service.domain.project.project_file import parse_job
from service.domain.runs.external import ExternalBuild
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeKey, RunKind
from service.ports.runs.queue import Task
from tests.support.store_samples import change, check_run, named, post_submit_run, queue, start

if TYPE_CHECKING:
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import NewRun
    from service.ports.runs.upkeep import Upkeep
    from service.ports.store import Store
    from tests.contract.store.sites import StoreSite

KEY = ChangeKey("review", 7)
REVISION = "1" * 40
ENDS = [RunState.FINISHED, RunState.CANCELLED, RunState.REFUSED]


def calibration_run(pool: str = "perf") -> NewRun:
    return replace(post_submit_run(), kind=RunKind.CALIBRATION, pool=pool)


@pytest.fixture
def patch_set(store: Store) -> int:
    with store.transaction() as tx:
        return tx.changes.upsert(change()).patch_set_id


class TestRuns:
    def test_a_run_of_a_patch_set_names_its_change_and_ref(self, store: Store, patch_set: int) -> None:
        with store.transaction() as tx:
            number = tx.runs.add(check_run(patch_set))
            assert number is not None
            run = tx.runs.lock(number)
        assert (run.kind, run.state, run.change) == (RunKind.CHECK, RunState.PLANNING, KEY)
        assert (run.ref, run.patch_set_id, run.label) == ("refs/changes/07/7/1", patch_set, "Verified")
        assert (run.parent, run.pool, run.is_called_off) == (None, "", False)

    def test_a_run_of_a_branch_names_none(self, store: Store) -> None:
        with store.transaction() as tx:
            run = tx.runs.lock(start(tx, post_submit_run()))
        assert (run.change, run.ref, run.patch_set_id) == (None, None, None)

    @pytest.mark.parametrize("number", [0, 1])
    def test_an_unknown_run_is_not_found(self, store: Store, number: int) -> None:
        with store.transaction() as tx, pytest.raises(NotFound):
            tx.runs.lock(number)

    def test_a_patch_set_has_one_unfinished_check(self, store: Store, patch_set: int) -> None:
        with store.transaction() as tx:
            first = start(tx, check_run(patch_set))
            assert tx.runs.add(check_run(patch_set)) is None
            tx.runs.end(first, RunState.FINISHED)
            assert tx.runs.add(check_run(patch_set)) not in {None, first}

    def test_a_merged_commit_has_one_run_for_good(self, store: Store) -> None:
        with store.transaction() as tx:
            tx.runs.end(start(tx, post_submit_run()), RunState.FINISHED)
            assert tx.runs.add(post_submit_run()) is None
            assert tx.runs.add(replace(post_submit_run(), instance="other")) is not None
            assert tx.runs.add(replace(post_submit_run(), project="other")) is not None
            assert tx.runs.add(replace(post_submit_run(), branch="other")) is not None

    def test_a_pool_has_one_unfinished_calibration(self, store: Store) -> None:
        with store.transaction() as tx:
            first = start(tx, calibration_run())
            assert tx.runs.add(calibration_run()) is None
            assert tx.runs.add(calibration_run("other")) is not None
            tx.runs.end(first, RunState.CANCELLED)
            assert tx.runs.add(calibration_run()) is not None

    def test_a_planned_run_starts_once(self, store: Store, patch_set: int) -> None:
        with store.transaction() as tx:
            number = tx.runs.add(check_run(patch_set))
            assert number is not None
            for label in ("Performance", "Verified"):
                tx.runs.start(number, tree="t", parent="p" * 40, parent_tree="q", label=label)
            run = tx.runs.lock(number)
        assert (run.state, run.parent, run.label) == (RunState.RUNNING, "p" * 40, "Performance")

    @pytest.mark.parametrize("end", ENDS)
    def test_a_run_that_ended_stays_as_it_is(self, store: Store, patch_set: int, end: RunState) -> None:
        with store.transaction() as tx:
            number = start(tx, check_run(patch_set))
            tx.runs.end(number, end, "the first reason")
            for other in ENDS:
                tx.runs.end(number, other)
            tx.runs.start(number, tree="t", parent=None, parent_tree=None, label="Verified")
            tx.runs.cancel_check(number)
            run = tx.runs.lock(number)
        assert (run.state, run.is_called_off) == (end, False)

    def test_a_new_patch_set_cancels_the_checks_of_the_others(self, store: Store) -> None:
        with store.transaction() as tx:
            old, new = (
                tx.changes.upsert(change()),
                tx.changes.upsert(change(patch_set=2, minutes=1)),
            )
            runs = [start(tx, check_run(each.patch_set_id)) for each in (old, new)]
            merged = start(tx, replace(post_submit_run(), patch_set_id=old.patch_set_id))
            other = start(tx, check_run(tx.changes.upsert(change(8)).patch_set_id))
            tx.runs.cancel(new.change_id, keep_patch_set=new.patch_set_id)
            states = [tx.runs.lock(run).state for run in (*runs, merged, other)]
            tx.runs.cancel(new.change_id, keep_patch_set=None)
            assert tx.runs.lock(runs[1]).state is RunState.CANCELLED
        assert states == [RunState.CANCELLED, RunState.RUNNING, RunState.RUNNING, RunState.RUNNING]

    def test_a_change_is_found_by_its_key(self, store: Store) -> None:
        with store.transaction() as tx:
            assert tx.changes.lock(KEY) is None
            record = tx.changes.upsert(change())
            assert tx.changes.lock(KEY) == record.change_id
            assert tx.changes.lock(ChangeKey("other", 7)) is None

    def test_a_person_may_cancel_a_check(self, store: Store, patch_set: int) -> None:
        with store.transaction() as tx:
            number = start(tx, check_run(patch_set))
            tx.runs.cancel_check(number)
            run = tx.runs.lock(number)
        assert (run.state, run.is_called_off) == (RunState.CANCELLED, True)


class TestRunHistory:
    def test_the_runs_of_a_patch_set_come_oldest_first(self, store: Store, patch_set: int) -> None:
        with store.transaction() as tx:
            assert tx.history.runs_of(patch_set) == []
            first = start(tx, check_run(patch_set))
            tx.runs.end(first, RunState.FINISHED)
            second = start(tx, check_run(patch_set))
            start(tx, check_run(tx.changes.upsert(change(8)).patch_set_id))
            assert [run.id for run in tx.history.runs_of(patch_set)] == [first, second]
            assert tx.history.runs_of(patch_set)[0] == tx.runs.lock(first)

    def test_the_newest_check_is_the_last_that_no_person_cancelled(
        self, store: Store, patch_set: int
    ) -> None:
        with store.transaction() as tx:
            assert tx.history.newest_check(patch_set) is None
            first = start(tx, check_run(patch_set))
            tx.runs.end(first, RunState.CANCELLED)
            tx.runs.cancel_check(start(tx, check_run(patch_set)))
            start(tx, replace(post_submit_run(), patch_set_id=patch_set))
            assert tx.history.newest_check(patch_set) == tx.runs.lock(first)

    def test_the_newest_run_is_of_the_change_the_kind_and_the_revision(
        self, store: Store, patch_set: int
    ) -> None:
        with store.transaction() as tx:
            assert tx.history.newest_run(KEY, RunKind.CHECK, REVISION) is None
            first = start(tx, check_run(patch_set, REVISION))
            assert tx.history.newest_run(KEY, RunKind.CHECK, REVISION) == tx.runs.lock(first)
            tx.runs.end(first, RunState.FINISHED)
            second = start(tx, check_run(patch_set, REVISION))
            assert tx.history.newest_run(KEY, RunKind.CHECK, REVISION) == tx.runs.lock(second)
            assert tx.history.newest_run(KEY, RunKind.CHECK, "2" * 40) is None
            assert tx.history.newest_run(KEY, RunKind.POST_SUBMIT, REVISION) is None
            assert tx.history.newest_run(ChangeKey("review", 8), RunKind.CHECK, REVISION) is None

    def test_the_checks_of_a_commit_say_whether_they_were_planned(self, store: Store, patch_set: int) -> None:
        with store.transaction() as tx:
            assert tx.history.checks_of("review", REVISION) == ()
            start(tx, check_run(patch_set, REVISION))
            assert tx.runs.add(check_run(tx.changes.upsert(change(8)).patch_set_id, REVISION)) is not None
            start(tx, check_run(tx.changes.upsert(change(9)).patch_set_id, "2" * 40))
            start(tx, post_submit_run(REVISION))
            found = tx.history.checks_of("review", REVISION)
            assert tx.history.checks_of("other", REVISION) == ()
        assert sorted(found) == [(RunState.PLANNING, False), (RunState.RUNNING, True)]

    def test_a_job_lists_its_builds_in_all_runs_of_a_revision_with_replaced_ones(self, store: Store) -> None:
        first, _ = queue(store, named("a"), named("b"))
        with store.transaction() as tx:
            second = tx.builds.repeat(tx.builds.lock(first), None, 60.0)
            tx.builds.put(1, 0, "a", second, None)
            tx.runs.end(1, RunState.FINISHED)
            following = tx.runs.follow(tx.runs.lock(1), None)
            third = tx.builds.repeat(tx.builds.lock(first), None, 60.0)
            tx.builds.put(following, 0, "a", third, None)
            patch_set = tx.changes.upsert(change(patch_set=2, minutes=1)).patch_set_id
            tx.builds.add(start(tx, check_run(patch_set, "2" * 40)), 0, named("a"))
            found = tx.history.builds_of(tx.runs.lock(following), "a")
        assert [build.id for build in found] == [first, second, third]


class TestReruns:
    @pytest.fixture
    def builds(self, store: Store) -> list[int]:
        """The builds of run 1."""
        return queue(store, named("a", sequence="trees a"), named("b", sequence="trees b"))

    def test_a_run_that_follows_has_the_same_revision_and_no_builds(
        self, store: Store, builds: list[int]
    ) -> None:
        with store.transaction() as tx:
            tx.runs.end(1, RunState.FINISHED)
            first = tx.runs.lock(1)
            following = tx.runs.follow(first, None)
            followed = replace(first, id=following, state=RunState.RUNNING, previous_id=1)
            assert tx.runs.lock(following) == followed
            assert tx.builds.of_run(following) == []
            assert first.patch_set_id is not None
            assert tx.history.newest_check(first.patch_set_id) == tx.runs.lock(following)

    def test_a_run_that_could_not_be_planned_is_followed_by_one_to_plan(
        self, store: Store, patch_set: int
    ) -> None:
        with store.transaction() as tx:
            start(tx, check_run(patch_set))
            tx.runs.end(1, RunState.REFUSED)
            following = tx.runs.lock(tx.runs.follow(tx.runs.lock(1), None, is_planned=False))
            assert (following.state, following.patch_set_id) == (RunState.PLANNING, patch_set)
            assert tx.runs.add(check_run(patch_set)) is None

    def test_a_repeated_build_has_the_next_number_and_begins_anew(
        self, site: StoreSite, builds: list[int]
    ) -> None:
        with site.store.transaction() as tx:
            tx.runs.cancel_check(1)
        site.upkeep.drop_unwanted_builds()
        with site.store.transaction() as tx:
            tx.builds.finish(builds[0], Outcome.SLOWER, ["slower"], ["BM_a"])
            tx.external.record_report(builds[0], ExternalBuild("linux", 5, "http://ci"), "STARTED")
            first = tx.builds.lock(builds[0])
            again = tx.builds.lock(tx.builds.repeat(first, None, 60.0))
        assert (again.job, again.number, again.state) == ("a", 2, BuildState.QUEUED)
        assert (again.spec, again.sequence_id) == (first.spec, first.sequence_id)
        assert (again.is_voting, again.cancel_requested) == (first.is_voting, False)
        assert (again.outcome, again.causes, again.blamed, again.attempt) == (None, (), (), 0)
        assert (again.external_number, again.url, again.machine) == (None, "", "")

    def repeat(self, store: Store, build_id: int, config: dict[str, Any]) -> tuple[BuildSpec, BuildRecord]:
        """Repeat a build with another configuration of its job."""
        patch = Revision(REVISION, "t" * 40, "ref", "unreviewed")
        job = parse_job("a", config)
        spec = BuildSpec(RunKind.CHECK, "review", "kv_engine", "master", None, patch, job)
        with store.transaction() as tx:
            return spec, tx.builds.lock(tx.builds.repeat(tx.builds.lock(build_id), spec, 60.0))

    def test_a_repeated_build_may_do_something_else(
        self, store: Store, upkeep: Upkeep, builds: list[int]
    ) -> None:
        suites = [{"name": "bench", "program": "build/bench"}]
        config = {"kind": "benchmark", "pool": "lint", "build": {}, "suites": suites}
        spec, again = self.repeat(store, builds[0], config)
        with store.transaction() as tx:
            sequence = tx.builds.lock(builds[0]).sequence_id
            tx.outbox.queue_task(Task.EXECUTE, again.id)
        assert (again.spec, again.number) == (spec.to_mapping(), 2)
        assert again.sequence_id not in {None, sequence}
        assert [hint.pool for hint in upkeep.due_hints()] == ["lint"]

    def test_a_repeated_build_may_become_another_cis_and_shares_nothing_then(
        self, store: Store, builds: list[int]
    ) -> None:
        _, again = self.repeat(store, builds[0], {"kind": "external"})
        assert (again.state, again.is_external, again.sequence_id) == (BuildState.RUNNING, True, None)

    def test_a_repeated_build_of_another_ci_is_not_queued(self, store: Store) -> None:
        [build] = queue(store, named("linux", kind=JobKind("external"), sequence=""))
        with store.transaction() as tx:
            again = tx.builds.lock(tx.builds.repeat(tx.builds.lock(build), None, 60.0))
        assert again.state is BuildState.RUNNING

    def test_a_taken_build_is_in_both_runs(self, store: Store, builds: list[int]) -> None:
        with store.transaction() as tx:
            tx.runs.end(1, RunState.FINISHED)
            following = tx.runs.follow(tx.runs.lock(1), None)
            tx.builds.take(following, 0, builds[1])
            assert [build.id for build in tx.builds.of_run(following)] == [builds[1]]
            assert [build.id for build in tx.builds.of_run(1)] == builds

    def test_a_new_build_takes_the_place_of_another(
        self, store: Store, upkeep: Upkeep, builds: list[int]
    ) -> None:
        with store.transaction() as tx:
            again = tx.builds.repeat(tx.builds.lock(builds[0]), None, 60.0)
            tx.builds.put(1, 2, "a", again, None)
            assert [build.id for build in tx.builds.of_run(1)] == [builds[1], again]
        upkeep.drop_unwanted_builds()
        assert upkeep.cancelled_builds() == [builds[0]]


class TestDurations:
    def test_of_the_last_finished_runs_of_a_branch_newest_first(self, site: StoreSite) -> None:
        for revision, seconds in zip("abcd", (600.0, 60.0, 120.0, 30.0), strict=True):
            with site.store.transaction() as tx:
                run = start(tx, post_submit_run(revision * 40))
            site.wait(seconds)
            with site.store.transaction() as tx:
                tx.runs.end(run, RunState.CANCELLED if revision == "d" else RunState.FINISHED)
        with site.store.transaction() as tx:
            other = start(tx, replace(post_submit_run(), branch="stable"))
            now = tx.runs.lock(start(tx, post_submit_run("e" * 40)))
            durations = tx.history.last_durations(now, 2)
            assert list(durations) == pytest.approx([120, 60], abs=25)  # the test's own time is in them
            assert len(tx.history.last_durations(now, 5)) == 3
            assert tx.history.last_durations(tx.runs.lock(other), 5) == []
