from __future__ import annotations

import pytest

from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Permanent, Refused, Transient
from service.domain.wording.health import HIDDEN_ERROR
from service.ports.runs.queue import Task
from service.steps.review.record_failure import DEFECT_ATTEMPTS, TRANSIENT_ATTEMPTS, record_failure
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, LINKS, Service, change_at

FAULT = ValueError("the results are\nodd")


def fail(service: Service, task: Task, times: int, fault: Exception = FAULT) -> list[bool]:
    return [record_failure(service.store, service.store, LINKS, task, 1, fault) for _ in range(times)]


@pytest.fixture
def service() -> Service:
    service = Service()
    service.see(change_at(1))
    return service


def test_a_step_is_given_up_after_the_last_attempt(service: Service) -> None:
    assert fail(service, Task.VOTE, DEFECT_ATTEMPTS) == [False] * (DEFECT_ATTEMPTS - 1) + [True]
    assert service.runs() == [("patch1", RunState.PLANNING)]


def test_an_outage_gets_more_attempts(service: Service) -> None:
    outage = Transient("the git server does not answer")

    assert fail(service, Task.PLAN, TRANSIENT_ATTEMPTS - 1, outage) == [False] * (TRANSIENT_ATTEMPTS - 1)
    assert service.runs() == [("patch1", RunState.PLANNING)]
    assert fail(service, Task.PLAN, 1, outage) == [True]
    assert service.runs() == [("patch1", RunState.REFUSED)]


def test_results_that_cannot_be_analysed_are_an_infrastructure_failure(service: Service) -> None:
    service.plan()
    service.store.update(1, state=BuildState.EXECUTED)
    fail(service, Task.ANALYSE, DEFECT_ATTEMPTS - 1)
    assert service.store.memory.builds[0].state is BuildState.EXECUTED

    fail(service, Task.ANALYSE, 1)
    (build,) = service.store.memory.builds
    assert build.outcome is Outcome.INFRASTRUCTURE
    assert build.causes == ("the results could not be analysed: ValueError: the results are odd",)


def test_a_run_that_cannot_be_planned_is_reported_as_aborted_without_a_vote(service: Service) -> None:
    fail(service, Task.PLAN, DEFECT_ATTEMPTS)

    assert service.runs() == [("patch1", RunState.REFUSED)]
    (review,) = service.store.memory.reviews.values()
    assert review.review.labels == {}
    assert review.review.message == (
        "Build Aborted \n\nthe run could not be planned: ValueError: the results are odd\n\n"
        "https://bench.example.com/runs/1"
    )


def test_after_the_last_attempt_a_comment_gets_a_reply_with_the_error() -> None:
    service = Service()
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.server.say(KEY, "bob", "Patch Set 1:\n\nrecheck")
    service.see(change_at(1, updated=WRITTEN))
    fail(service, Task.RUN_COMMENT_COMMANDS, DEFECT_ATTEMPTS)

    (review,) = service.store.memory.reviews.values()
    assert review.review.message.startswith(
        "the commands of this comment failed: ValueError: the results are odd; write them again later\n\n"
    )


def test_a_meanwhile_planned_run_goes_on(service: Service) -> None:
    service.plan()
    fail(service, Task.PLAN, DEFECT_ATTEMPTS)

    assert service.runs() == [("patch1", RunState.RUNNING)]
    assert service.store.memory.reviews == {}


def test_a_run_that_cannot_be_decided_ends_visibly_without_a_vote(service: Service) -> None:
    service.plan()
    fail(service, Task.VOTE, DEFECT_ATTEMPTS - 1)
    assert service.runs() == [("patch1", RunState.RUNNING)]
    assert service.store.memory.reviews == {}

    fail(service, Task.VOTE, 1)
    assert service.runs() == [("patch1", RunState.REFUSED)]
    (review,) = service.store.memory.reviews.values()
    assert review.review.labels == {}
    assert review.review.message == (
        "Build Aborted \n\nthe vote could not be decided: ValueError: the results are odd; "
        "`recheck` tries again\n\n"
        "https://bench.example.com/runs/1"
    )


def test_a_meanwhile_decided_run_stays_finished(service: Service) -> None:
    service.plan()
    with service.store.transaction() as tx:
        tx.runs.end(1, RunState.FINISHED)
    fail(service, Task.VOTE, DEFECT_ATTEMPTS)

    assert service.runs() == [("patch1", RunState.FINISHED)]
    assert service.store.memory.reviews == {}


@pytest.mark.parametrize("error", [Permanent('Gerrit answers 400: no project:"secret"'), KeyError("secret")])
def test_a_reconciliation_that_fails_for_good_names_nothing_to_everybody(error: Exception) -> None:
    service = Service()
    fail(service, Task.RECONCILE, 1, error)
    (failure,) = service.store.memory.failures.values()
    assert failure.error == f"{type(error).__name__}: {HIDDEN_ERROR}"


def test_a_reconciliation_without_an_answer_says_why() -> None:
    service = Service()
    fail(service, Task.RECONCILE, 1, Refused("Gerrit answers 401: Unauthorized"))
    (failure,) = service.store.memory.failures.values()
    assert failure.error == "Refused: Gerrit answers 401: Unauthorized"
