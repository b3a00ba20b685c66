from __future__ import annotations

import pytest

from service.domain.access.audit import AuditKind
from service.domain.runs.health import Step
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.ports.runs.queue import Task
from service.steps.review.record_failure import DEFECT_ATTEMPTS, record_failure
from service.steps.runs.retry import Retried, retry
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, LINKS, Service, change_at
from tests.support.store_samples import post_submit_run


def give_up(service: Service, task: Task, entity: int = 1) -> None:
    for _ in range(DEFECT_ATTEMPTS):
        record_failure(service.store, service.store, LINKS, task, entity, ValueError("a defect"))


def ask(service: Service, step: Step, entity: int = 1) -> Retried:
    retried = retry(service.store, service.store, step, entity, "ann")
    assert (Task(step), entity) not in service.store.memory.failures
    return retried


@pytest.fixture
def service() -> Service:
    service = Service()
    service.see(change_at(1))
    return service


def test_a_given_up_plan_gets_a_run_that_is_planned(service: Service) -> None:
    give_up(service, Task.PLAN)
    assert ask(service, Step.PLAN) is Retried.BEGUN_ANEW
    service.plan(2)
    assert service.runs() == [("patch1", RunState.REFUSED), ("patch1", RunState.RUNNING)]
    assert [build.state for build in service.store.memory.builds] == [BuildState.QUEUED]


def test_a_given_up_vote_is_decided_from_the_builds_that_are_there(service: Service) -> None:
    service.plan()
    with service.store.transaction() as tx:
        tx.builds.finish(1, Outcome.PASSED, [])
    give_up(service, Task.VOTE)
    assert ask(service, Step.VOTE) is Retried.BEGUN_ANEW
    service.vote(2)
    *_, last = service.store.memory.reviews.values()
    assert last.review.labels == {"Performance": 1}
    assert len(service.store.memory.builds) == 1


def test_a_build_whose_analysis_was_given_up_runs_again(service: Service) -> None:
    service.plan()
    service.store.update(1, state=BuildState.EXECUTED)
    give_up(service, Task.ANALYSE)
    service.vote()
    assert ask(service, Step.ANALYSE) is Retried.BEGUN_ANEW
    assert [build.state for build in service.store.memory.builds] == [BuildState.FINISHED, BuildState.QUEUED]
    assert service.runs() == [("patch1", RunState.FINISHED), ("patch1", RunState.RUNNING)]


def test_a_given_up_event_is_due_again() -> None:
    service = Service()
    with service.store.transaction() as tx:
        event = tx.events.add("gerrit", b"d", "patchset-created", 7, b"")
    give_up(service, Task.HANDLE_EVENT, event)
    service.store.wait(10.0)
    assert service.store.stalled(5.0) == []
    assert ask(service, Step.HANDLE_EVENT, event) is Retried.DUE
    assert service.store.stalled(5.0) == [(Task.HANDLE_EVENT, event)]


def test_a_step_that_waits_for_its_next_try_is_due_at_once(service: Service) -> None:
    record_failure(service.store, service.store, LINKS, Task.PLAN, 1, ValueError("a defect"))
    assert ask(service, Step.PLAN) is Retried.DUE
    assert service.runs() == [("patch1", RunState.PLANNING)]


def test_an_outdated_patch_set_is_not_checked_again(service: Service) -> None:
    give_up(service, Task.PLAN)
    service.see(change_at(2))
    assert ask(service, Step.PLAN) is Retried.FORGOTTEN
    assert service.runs() == [("patch1", RunState.REFUSED), ("patch2", RunState.PLANNING)]


def test_a_second_retry_and_one_after_a_recheck_start_nothing(service: Service) -> None:
    give_up(service, Task.PLAN)
    assert [ask(service, Step.PLAN), ask(service, Step.PLAN)] == [Retried.BEGUN_ANEW, Retried.FORGOTTEN]
    assert len(service.runs()) == 2


def test_a_check_that_a_person_called_off_is_not_begun_again(service: Service) -> None:
    give_up(service, Task.PLAN)
    with service.store.transaction() as tx:
        tx.runs.cancel_check(tx.runs.follow(tx.runs.lock(1), None))
    assert ask(service, Step.PLAN) is Retried.FORGOTTEN
    assert service.runs() == [("patch1", RunState.REFUSED), ("patch1", RunState.CANCELLED)]


def test_a_merged_commit_keeps_its_only_run(service: Service) -> None:
    with service.store.transaction() as tx:
        tx.runs.add(post_submit_run())
    give_up(service, Task.PLAN, 2)
    assert ask(service, Step.PLAN, 2) is Retried.NOT_REPEATED


def test_what_is_gone_and_an_answered_comment_are_forgotten() -> None:
    service = Service()
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.server.say(KEY, "bob", "Patch Set 1:\n\nrecheck")
    service.see(change_at(1, updated=WRITTEN))
    give_up(service, Task.RUN_COMMENT_COMMANDS)
    assert ask(service, Step.RUN_COMMENT_COMMANDS) is Retried.FORGOTTEN
    assert ask(service, Step.HANDLE_EVENT, 99) is Retried.FORGOTTEN


def test_the_audit_log_says_who_retried_what(service: Service) -> None:
    give_up(service, Task.PLAN)
    ask(service, Step.PLAN)
    entry = service.store.memory.audit[-1]
    assert (entry.kind, entry.actor, entry.subject) == (AuditKind.STEP_RETRIED, "ann", "plan 1")
    assert entry.details == {"effect": "begun anew"}
