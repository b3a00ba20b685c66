"""The table of transitions as the tests read it, to check the SQL that moves builds."""

from __future__ import annotations

from service.domain.runs.states import MAX_ATTEMPTS, TRANSITIONS, BuildEvent, BuildState


def state_after(state: BuildState, event: BuildEvent) -> BuildState:
    """Return the state to which an event leads; ValueError if the state has no such event."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise ValueError(f"a build that is {state} cannot be {event}") from None


def after_lost_lease(attempt: int, max_attempts: int = MAX_ATTEMPTS) -> BuildEvent:
    """Return the event of a build whose machine stopped responding in an attempt, counted from 1."""
    return BuildEvent.GIVEN_UP if attempt >= max_attempts else BuildEvent.LEASE_EXPIRED
