from __future__ import annotations

import itertools

import pytest

from service.domain.runs.states import MAX_ATTEMPTS, TRANSITIONS, BuildEvent, BuildState
from tests.support.runs.build_states import after_lost_lease, state_after


def test_a_build_that_goes_well_passes_all_states() -> None:
    state = BuildState.QUEUED
    for event in (BuildEvent.CLAIMED, BuildEvent.EXECUTED, BuildEvent.ANALYSED):
        state = state_after(state, event)

    assert state is BuildState.FINISHED


@pytest.mark.parametrize("state", [each for each in BuildState if each is not BuildState.FINISHED])
def test_every_unfinished_build_can_be_given_up(state: BuildState) -> None:
    assert state_after(state, BuildEvent.GIVEN_UP) is BuildState.FINISHED


@pytest.mark.parametrize("event", BuildEvent)
def test_nothing_moves_a_finished_build(event: BuildEvent) -> None:
    with pytest.raises(ValueError, match=f"a build that is finished cannot be {event}"):
        state_after(BuildState.FINISHED, event)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(BuildState, BuildEvent)))
def test_only_the_table_moves_builds(state: BuildState, event: BuildEvent) -> None:
    if (state, event) in TRANSITIONS:
        assert state_after(state, event) is TRANSITIONS[state, event]
    else:
        with pytest.raises(ValueError, match="cannot be"):
            state_after(state, event)


def test_a_build_whose_machines_die_is_given_up_after_the_last_attempt() -> None:
    found = [after_lost_lease(attempt) for attempt in range(1, MAX_ATTEMPTS + 2)]

    assert found == [BuildEvent.LEASE_EXPIRED] * (MAX_ATTEMPTS - 1) + [BuildEvent.GIVEN_UP] * 2
