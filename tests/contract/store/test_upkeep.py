"""Store contract: upkeep of lost builds, stalled work, calibrations, heartbeats."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.project.job_kinds import JobKind
from service.domain.review.change import Person, PostedMessage, Review
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import ChangeKey
from service.domain.verdict.calibration.schedule import ASKED_WITHIN
from service.ports.runs.queue import Task
from service.steps.runs.plan_run import DEADLINE
from tests.contract.store.sites import IDLE_JOB
from tests.support.store_samples import NOON, change, check_run, named, post_submit_run, queue, start

if TYPE_CHECKING:
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.upkeep import Upkeep
    from service.ports.store import Store
    from tests.contract.store.sites import StoreSite

LEASE = 31.0  # seconds after which a silent machine has lost its build


def locked(store: Store, build_id: int) -> BuildRecord:
    with store.transaction() as tx:
        return tx.builds.lock(build_id)


def cancel(site: StoreSite) -> None:
    """Request the end of the builds of run 1."""
    with site.store.transaction() as tx:
        tx.runs.cancel_check(1)
    site.upkeep.drop_unwanted_builds()


class TestLostBuilds:
    def test_a_build_of_a_silent_machine_is_queued_again_with_a_hint(self, site: StoreSite) -> None:
        queue(site.store)
        build = site.claim()
        assert site.upkeep.requeue_lost_builds(3) == []
        assert locked(site.store, build).state is BuildState.RUNNING
        site.wait(LEASE)
        for _ in range(2):
            assert site.upkeep.requeue_lost_builds(3) == []
        found = locked(site.store, build)
        assert (found.state, found.attempt) == (BuildState.QUEUED, 1)
        assert [(hint.task, hint.entity, hint.pool) for hint in site.upkeep.due_hints()] == [
            ("execute", build, "perf")
        ]
        assert site.claim("perf-02") == build
        assert locked(site.store, build).attempt == 2

    def test_a_build_without_attempts_left_is_returned_until_it_is_finished(self, site: StoreSite) -> None:
        queue(site.store)
        build = site.claim()
        site.wait(LEASE)
        for _ in range(2):
            assert site.upkeep.requeue_lost_builds(1) == [build]
            assert locked(site.store, build).state is BuildState.RUNNING
        with site.store.transaction() as tx:
            tx.builds.finish(build, Outcome.INFRASTRUCTURE, [])
        assert site.upkeep.requeue_lost_builds(1) == []
        assert site.upkeep.due_hints() == []

    @pytest.mark.parametrize("max_attempts", [1, 3])
    def test_a_lost_build_is_cancelled_on_request(self, site: StoreSite, max_attempts: int) -> None:
        queue(site.store)
        build = site.claim()
        cancel(site)
        site.wait(LEASE)
        assert site.upkeep.cancelled_builds() == [build]
        assert site.upkeep.requeue_lost_builds(max_attempts) == []
        assert site.upkeep.due_hints() == []
        assert site.upkeep.cancelled_builds() == [build]

    def test_builds_past_their_deadline_are_overdue(self, site: StoreSite) -> None:
        late, external, _ = queue(
            site.store,
            named("late", deadline_seconds=60.0),
            named("external", kind=JobKind("external"), sequence="", deadline_seconds=60.0),
            named("in time", deadline_seconds=120.0),
        )
        assert site.upkeep.overdue_builds() == []
        site.wait(61.0)
        assert site.upkeep.overdue_builds() == [late, external]

    def test_an_executed_build_is_overdue_only_once_its_analysis_is_dead(self, site: StoreSite) -> None:
        queue(site.store, named("a", deadline_seconds=1.0))
        build = site.claim()
        site.complete(build)
        site.wait(DEADLINE)
        assert site.upkeep.overdue_builds() == []
        site.upkeep.record_step_failure(Task.ANALYSE, build, "no such suite", max_attempts=2)
        assert site.upkeep.overdue_builds() == []
        site.upkeep.record_step_failure(Task.ANALYSE, build, "no such suite", max_attempts=2)
        assert site.upkeep.overdue_builds() == [build]

    def test_a_build_has_a_day_from_its_first_claim_and_is_not_overdue_while_it_is_held(
        self, site: StoreSite
    ) -> None:
        queue(site.store, named("a", deadline_seconds=10.0))
        build = site.claim()
        site.wait(DEADLINE - 10.0)
        assert site.upkeep.requeue_lost_builds(3) == []
        assert site.upkeep.overdue_builds() == []
        assert site.claim() == build
        site.wait(20.0)
        assert site.upkeep.overdue_builds() == []
        site.wait(20.0)
        assert site.upkeep.overdue_builds() == [build]

    def test_a_held_build_is_not_cancelled(self, site: StoreSite) -> None:
        queue(site.store, named("a"))
        site.claim()
        cancel(site)
        assert site.upkeep.cancelled_builds() == []

    def test_a_build_that_an_unfinished_run_has_is_wanted(self, site: StoreSite) -> None:
        shared, own = queue(site.store, named("a", sequence="trees"), named("b", sequence="own"))
        with site.store.transaction() as tx:
            other = start(tx, post_submit_run())
            assert tx.builds.adopt(tx.runs.lock(other), 0, "trees", 60.0, 60.0) is not None
        cancel(site)
        for _ in range(2):
            site.upkeep.drop_unwanted_builds()
            assert site.upkeep.cancelled_builds() == [own]
        assert not locked(site.store, shared).cancel_requested

    def test_a_build_waits_for_the_plan_of_a_newer_patch_set(self, site: StoreSite) -> None:
        [build] = queue(site.store)
        with site.store.transaction() as tx:
            new = tx.changes.upsert(change(patch_set=2, minutes=1))
            tx.runs.cancel(new.change_id, keep_patch_set=new.patch_set_id)
            tx.runs.add(check_run(new.patch_set_id))
        site.upkeep.drop_unwanted_builds()
        assert site.upkeep.cancelled_builds() == []
        site.wait(301.0)  # a plan that keeps failing blocks nobody
        site.upkeep.drop_unwanted_builds()
        assert site.upkeep.cancelled_builds() == [build]

    def test_a_build_without_a_change_waits_for_no_plan(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            run = start(tx, post_submit_run())
            build = tx.builds.add(run, 0, named("a"))
            tx.runs.end(run, RunState.CANCELLED)
            tx.runs.add(post_submit_run("3" * 40))
        site.upkeep.drop_unwanted_builds()
        assert site.upkeep.cancelled_builds() == [build]

    def test_a_finished_or_executed_build_is_not_cancelled(self, site: StoreSite) -> None:
        finished, _ = queue(site.store, named("a", priority=9), named("b"))
        site.complete(site.claim())
        with site.store.transaction() as tx:
            tx.builds.finish(finished, Outcome.PASSED, [])
        cancel(site)
        assert site.upkeep.cancelled_builds() == []


class TestStalledWork:
    def stalled(self, site: StoreSite) -> list[tuple[Task, int]]:
        """All that waits after a minute; nothing of it waits already."""
        assert site.upkeep.stalled(30.0) == []
        site.wait(60.0)
        return list(site.upkeep.stalled(30.0))

    def test_an_unhandled_event_is_stalled(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            event = tx.events.add("review", b"d", "patchset-created", 7, b"")
        assert self.stalled(site) == [("handle_event", event)]
        with site.store.transaction() as tx:
            tx.events.mark_handled(event)
        assert site.upkeep.stalled(30.0) == []

    def test_an_unplanned_run_is_stalled(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            run = tx.runs.add(check_run(tx.changes.upsert(change()).patch_set_id))
        assert self.stalled(site) == [("plan", run)]

    def test_an_unanswered_comment_is_stalled(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            message = PostedMessage("m", 1, Person("Bob", account="1"), NOON, "recheck")
            (comment,) = tx.comments.record(tx.changes.upsert(change()), [message])
        assert self.stalled(site) == [("run_comment_commands", comment)]
        with site.store.transaction() as tx:
            tx.comments.answer(comment, "")
        assert site.upkeep.stalled(30.0) == []

    def test_an_unanalysed_build_is_stalled(self, site: StoreSite) -> None:
        queue(site.store)
        site.wait(60.0)
        build = site.claim()
        site.complete(build)
        assert self.stalled(site) == [("analyse", build)]

    def test_an_explanation_that_no_message_tells_is_stalled_for_a_minute(self, site: StoreSite) -> None:
        (build,) = queue(site.store)
        site.explain(build, b"why")
        site.wait(40.0)
        assert site.upkeep.stalled(30.0) == [], "its run is not decided"
        with site.store.transaction() as tx:
            tx.builds.finish(build, Outcome.SLOWER, [])
            tx.runs.end(1, RunState.FINISHED)
        assert site.upkeep.stalled(30.0) == [("analyse", build)]
        site.wait(30.0)
        assert site.upkeep.stalled(30.0) == []
        site.explain(other := queue(site.store, named("other"))[0], b"why")
        with site.store.transaction() as tx:
            tx.runs.end(2, RunState.FINISHED)
            tx.outbox.queue_review(f"run/2/why/{other}", Review(ChangeKey("review", 7), "1" * 40, "told"))
        site.wait(40.0)
        assert site.upkeep.stalled(30.0) == []

    def test_a_run_with_only_finished_builds_is_stalled(self, site: StoreSite) -> None:
        one, two = queue(site.store, named("a"), named("b"))
        site.wait(60.0)
        for build in (one, two):
            assert site.upkeep.stalled(30.0) == []
            with site.store.transaction() as tx:
                tx.builds.finish(build, Outcome.PASSED, [])
        assert self.stalled(site) == [("vote", 1)]

    def test_a_running_run_without_builds_is_stalled(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            run = start(tx, post_submit_run())
        assert self.stalled(site) == [("vote", run)]

    def test_the_longest_wait_comes_first(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            run = tx.runs.add(post_submit_run())
        site.wait(10.0)
        with site.store.transaction() as tx:
            event = tx.events.add("review", b"d", "x", 7, b"")
        assert self.stalled(site) == [("plan", run), ("handle_event", event)]

    def test_a_failed_step_is_left_out_until_it_may_be_tried_again(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            event = tx.events.add("review", b"d", "x", 7, b"")
        site.wait(60.0)
        site.upkeep.record_step_failure(Task.HANDLE_EVENT, event, "the server is away", max_attempts=2)
        assert site.upkeep.stalled(30.0) == []
        site.wait(10.0)
        assert site.upkeep.stalled(30.0) == [("handle_event", event)]
        site.upkeep.record_step_failure(Task.HANDLE_EVENT, event, "a defect", max_attempts=2)
        site.wait(600.0)
        assert site.upkeep.stalled(30.0) == []
        site.upkeep.clear_step_failure(Task.HANDLE_EVENT, event)
        assert site.upkeep.stalled(30.0) == [("handle_event", event)]

    def test_a_pool_is_woken_for_as_many_builds_as_it_has_idle_machines(self, site: StoreSite) -> None:
        _, second, third = queue(site.store, *(named(job, priority=9 - n) for n, job in enumerate("abc")))
        site.wait(60.0)
        site.register("perf-01")
        site.register("perf-02")
        assert site.upkeep.idle_pools(90.0) == []
        assert site.upkeep.idle_pools(30.0) == [("perf", third), ("perf", second)]
        assert site.claim("perf-02") == third
        assert site.upkeep.idle_pools(30.0) == [("perf", second)]
        assert site.claim("perf-01") == second
        assert site.upkeep.idle_pools(30.0) == []

    def test_a_pool_without_a_machine_is_woken_once(self, site: StoreSite) -> None:
        first, _, other = queue(site.store, named("a"), named("b"), named("c", pool="lint"))
        site.register("perf-01")
        site.wait(600.0)
        assert site.upkeep.idle_pools(30.0) == [("lint", other), ("perf", first)]

    def test_a_hindered_machine_is_not_woken_for_ten_seconds(self, site: StoreSite) -> None:
        [build] = queue(site.store)
        site.wait(60.0)
        site.register("perf-01", obstacle="steal of 20 %")
        assert site.upkeep.idle_pools(30.0) == []
        site.wait(11.0)
        assert site.upkeep.idle_pools(30.0) == [("perf", build)]

    def test_a_pool_is_not_woken_for_builds_that_cannot_be_claimed(self, site: StoreSite) -> None:
        queue(site.store, named("a", deadline_seconds=10.0))
        site.wait(60.0)
        assert site.upkeep.idle_pools(30.0) == []
        with site.store.transaction() as tx:
            tx.runs.cancel_check(1)
        queue(site.store, named("b"))
        site.wait(60.0)
        cancelled = site.upkeep.idle_pools(30.0)
        with site.store.transaction() as tx:
            tx.runs.cancel(tx.changes.upsert(change()).change_id, keep_patch_set=None)
        site.upkeep.drop_unwanted_builds()
        assert len(cancelled) == 1
        assert site.upkeep.idle_pools(30.0) == []


class TestBuildsForOneMachine:
    def test_one_whose_machine_takes_none_for_ten_minutes_is_cancelled(self, site: StoreSite) -> None:
        names = ("perf-01", "perf-02", "perf-03")
        _, hindered, unseen = queue(site.store, *(named(name, for_machine=name) for name in names))
        for is_late, cancelled in ((False, []), (True, [hindered, unseen])):
            site.wait(601.0 if is_late else 0.0)
            site.register("perf-01")
            site.register("perf-02", obstacle="steal of 20 %")
            site.upkeep.drop_unwanted_builds()
            assert site.upkeep.cancelled_builds() == cancelled


class TestCalibrations:
    @pytest.fixture(params=["calibration", "anchor"])
    def calibrating(self, site: StoreSite, request: pytest.FixtureRequest) -> int:
        """A calibration or anchor that the pool's only machine holds."""
        queue(site.store, named("idle", spec={"kind": request.param}))
        return site.claim()

    def add(self, store: Store, *, kind: str = "check", pool: str = "perf", job: str = "waiting") -> None:
        with store.transaction() as tx:
            build = named(job, spec={"kind": kind}, pool=pool)
            run = replace(post_submit_run(), branch=job)
            tx.builds.add(start(tx, run), 0, build)

    def test_a_calibration_that_a_build_waits_for_is_asked_to_end_once(
        self, site: StoreSite, calibrating: int
    ) -> None:
        assert site.upkeep.preempt_calibrations() == []
        self.add(site.store)
        assert site.upkeep.preempt_calibrations() == [calibrating]
        assert site.upkeep.preempt_calibrations() == []
        assert locked(site.store, calibrating).cancel_requested

    def test_a_build_that_waits_ends_the_explanation_of_an_anchor_but_not_that_of_a_check(
        self, site: StoreSite
    ) -> None:
        checked, anchor = queue(site.store, *(named(k, spec={"kind": k}) for k in ("check", "anchor")))
        with site.store.transaction() as tx:
            for build in (checked, anchor):
                tx.builds.finish(build, Outcome.PASSED, [])
        site.hold_ended(checked, "perf-00")
        site.hold_ended(anchor)
        assert site.upkeep.preempt_calibrations() == []
        self.add(site.store)
        self.add(site.store, job="second")
        assert site.upkeep.preempt_calibrations() == [anchor]
        assert locked(site.store, anchor).state is BuildState.FINISHED

    def test_a_calibration_goes_on_while_another_machine_is_free(
        self, site: StoreSite, calibrating: int
    ) -> None:
        self.add(site.store)
        site.register("perf-02")
        assert site.upkeep.preempt_calibrations() == []
        site.register("perf-02", obstacle="steal of 20 %")
        assert site.upkeep.preempt_calibrations() == [calibrating]

    def test_only_as_many_as_builds_wait_are_asked_to_end_the_youngest_first(self, site: StoreSite) -> None:
        queue(site.store, *(named(f"idle{n}", spec={"kind": "calibration"}) for n in range(3)))
        held = [site.claim(f"perf-{n:02}") for n in range(3)]
        self.add(site.store)
        assert site.upkeep.preempt_calibrations() == held[2:]
        assert site.upkeep.preempt_calibrations() == []
        self.add(site.store, job="second")
        assert site.upkeep.preempt_calibrations() == held[1:2]

    def test_one_whose_end_is_not_analysed_yet_takes_no_place_of_those_that_can_end(
        self, site: StoreSite
    ) -> None:
        queue(site.store, *(named(f"idle{n}", spec={"kind": "calibration"}) for n in range(2)))
        running, executed = (site.claim(f"perf-{n:02}") for n in range(2))
        site.complete(executed)
        site.hold_ended(executed, "perf-01")
        self.add(site.store)
        assert locked(site.store, executed).state is BuildState.EXECUTED
        assert site.upkeep.preempt_calibrations() == [running]

    def test_a_build_of_another_pool_has_one_on_its_own_host_end(self, site: StoreSite) -> None:
        queue(site.store, *(named(f"idle{n}", spec={"kind": "calibration"}) for n in range(3)))
        held = [site.claim(f"perf-{n:02}") for n in range(3)]
        site.register("lint-01", "lint", host="perf-00")
        self.add(site.store, pool="lint")
        assert site.upkeep.preempt_calibrations() == held[:1]
        assert site.upkeep.preempt_calibrations() == []

    @pytest.mark.parametrize(
        ("kind", "pool"), [("calibration", "perf"), ("anchor", "perf"), ("check", "lint")]
    )
    def test_a_calibration_goes_on_for_another_pool_or_another_calibration(
        self, site: StoreSite, calibrating: int, kind: str, pool: str
    ) -> None:
        self.add(site.store, kind=kind, pool=pool)
        assert site.upkeep.preempt_calibrations() == []

    def test_a_recently_checked_branch_may_be_calibrated(self, site: StoreSite) -> None:
        assert site.upkeep.idle_jobs(ASKED_WITHIN) == []
        site.finish_check()
        assert site.upkeep.idle_jobs(ASKED_WITHIN) == [IDLE_JOB]


class TestStepFailures:
    def test_failures_are_counted_per_task_and_entity(self, upkeep: Upkeep) -> None:
        for attempt in range(1, 4):
            failure = upkeep.record_step_failure(Task.PLAN, 1, "away", max_attempts=3)
            assert (failure.attempts, failure.is_dead) == (attempt, attempt == 3)
        for task, entity in ((Task.PLAN, 2), (Task.VOTE, 1)):
            assert not upkeep.record_step_failure(task, entity, "away", max_attempts=3).is_dead

    def test_each_failure_says_how_many_attempts_there_are(self, upkeep: Upkeep) -> None:
        assert upkeep.record_step_failure(Task.PLAN, 1, "a defect", max_attempts=1).is_dead
        assert not upkeep.record_step_failure(Task.PLAN, 1, "away", max_attempts=200).is_dead

    def test_a_step_that_succeeded_begins_anew(self, upkeep: Upkeep) -> None:
        upkeep.record_step_failure(Task.PLAN, 1, "away", max_attempts=3)
        for _ in range(2):
            upkeep.clear_step_failure(Task.PLAN, 1)
        assert upkeep.record_step_failure(Task.PLAN, 1, "away", max_attempts=3).attempts == 1

    def test_the_wait_doubles_up_to_five_minutes(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            event = tx.events.add("review", b"d", "x", 7, b"")
        for wait in (2, 4, 8, 16, 32, 64, 128, 256, 300, 300):
            site.upkeep.record_step_failure(Task.HANDLE_EVENT, event, "away", max_attempts=99)
            site.wait(wait - 1.5)
            assert site.upkeep.stalled(0.0) == []
            site.wait(1.6)
            assert site.upkeep.stalled(0.0) == [("handle_event", event)]


class TestHeartbeats:
    def test_every_recently_seen_machine_has_its_pool_listed(self, site: StoreSite) -> None:
        assert site.upkeep.pools() == []
        for machine, pool in (("perf-01", "perf"), ("lint-01", "lint"), ("perf-02", "perf")):
            site.register(machine, pool)
        assert site.upkeep.pools() == ["lint", "perf", "perf"]
        site.wait(590.0)
        site.register("perf-01")
        site.wait(11.0)
        assert site.upkeep.pools() == ["perf"]

    def test_a_part_has_its_last_sign_of_life(self, site: StoreSite) -> None:
        site.upkeep.beat("schedule")
        for note in ("3 changes", "5 changes"):
            site.upkeep.beat("reconcile", note)
        assert site.beats() == {"schedule": "", "reconcile": "5 changes"}

    def test_a_trouble_is_cleared_only_if_there_was_one(self, site: StoreSite) -> None:
        site.upkeep.beat("vote on kv", "may not vote", "may not vote")
        site.upkeep.clear_trouble("vote on kv")
        site.upkeep.clear_trouble("vote on docs")
        assert site.beats() == {"vote on kv": ""}
