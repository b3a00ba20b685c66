from __future__ import annotations

import pytest

from service.domain.run import MAX_ATTEMPTS, BuildState, RunState
from service.domain.vote import Outcome
from service.steps.note_failure import note_failure
from tests.support.changes import LINKS, Service, change_at

FAULT = ValueError("the results are\nodd")


def fail(service: Service, task: str, times: int) -> list[bool]:
    return [note_failure(service.store, service.store, LINKS, task, 1, FAULT) for _ in range(times)]


@pytest.fixture
def service() -> Service:
    service = Service()
    service.see(change_at(1))
    return service


def test_a_step_may_fail_some_times_before_it_is_given_up(service: Service) -> None:
    assert fail(service, "vote", MAX_ATTEMPTS) == [False] * (MAX_ATTEMPTS - 1) + [True]
    assert service.runs() == [("patch1", RunState.PLANNING)]


def test_results_that_cannot_be_analysed_are_no_fault_of_the_change(service: Service) -> None:
    service.plan()
    service.store.update(1, state=BuildState.EXECUTED)
    fail(service, "analyse", MAX_ATTEMPTS - 1)
    assert service.store.memory.builds[0].state is BuildState.EXECUTED

    fail(service, "analyse", 1)
    (build,) = service.store.memory.builds
    assert build.outcome is Outcome.INFRASTRUCTURE
    assert build.causes == ("its results could not be analysed; the operators were told",)


def test_a_run_that_cannot_be_planned_is_told_as_aborted_and_without_a_vote(service: Service) -> None:
    fail(service, "plan", MAX_ATTEMPTS)

    assert service.runs() == [("patch1", RunState.REFUSED)]
    (review,) = service.store.memory.reviews.values()
    assert review.review.labels == {}
    assert review.review.message == (
        "Build Aborted \n\ncould not be planned: ValueError: the results are odd\n\n"
        "https://bench.example.com/runs/1"
    )


def test_a_run_that_was_planned_after_all_goes_on(service: Service) -> None:
    service.plan()
    fail(service, "plan", MAX_ATTEMPTS)

    assert service.runs() == [("patch1", RunState.RUNNING)]
    assert service.store.memory.reviews == {}
