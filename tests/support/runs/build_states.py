"""Table of the transitions of builds, to check the SQL that moves them."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.runs.states import MAX_ATTEMPTS, BuildState

if TYPE_CHECKING:
    from collections.abc import Mapping


class BuildEvent(StrEnum):
    """Events that move a build to another state."""

    CLAIMED = "claimed"
    RELEASED = "released"  # returned to the queue by a worker that shuts down
    LEASE_EXPIRED = "lease expired"
    EXECUTED = "executed"
    GIVEN_UP = "given up"  # attempts used up or deadline passed
    ANALYSED = "analysed"
    REPORTED = "reported"  # by another CI


TRANSITIONS: Final[Mapping[tuple[BuildState, BuildEvent], BuildState]] = MappingProxyType(
    {
        (BuildState.QUEUED, BuildEvent.CLAIMED): BuildState.RUNNING,
        (BuildState.QUEUED, BuildEvent.GIVEN_UP): BuildState.FINISHED,
        (BuildState.RUNNING, BuildEvent.RELEASED): BuildState.QUEUED,
        (BuildState.RUNNING, BuildEvent.LEASE_EXPIRED): BuildState.QUEUED,
        (BuildState.RUNNING, BuildEvent.EXECUTED): BuildState.EXECUTED,
        (BuildState.RUNNING, BuildEvent.GIVEN_UP): BuildState.FINISHED,
        (BuildState.RUNNING, BuildEvent.REPORTED): BuildState.FINISHED,
        (BuildState.EXECUTED, BuildEvent.ANALYSED): BuildState.FINISHED,
        (BuildState.EXECUTED, BuildEvent.GIVEN_UP): BuildState.FINISHED,
    }
)


def state_after(state: BuildState, event: BuildEvent) -> BuildState:
    """Return the state to which an event leads; ValueError if the state has no such event."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise ValueError(f"a build that is {state} cannot be {event}") from None


def after_lost_lease(attempt: int, max_attempts: int = MAX_ATTEMPTS) -> BuildEvent:
    """Return a build's event after its machine stopped responding in an attempt, counted from 1."""
    return BuildEvent.GIVEN_UP if attempt >= max_attempts else BuildEvent.LEASE_EXPIRED
