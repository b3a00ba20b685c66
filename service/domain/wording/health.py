"""Sentences of degradations: the part of the service, its problem, and the duration."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.health import LISTEN, DegradationKind, degradations
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.health import Condition, Patience

_PARTS: Final = MappingProxyType({"reconcile": "reconciliation", LISTEN: "listener of the event stream"})


def degradation_sentences(condition: Condition, patience: Patience) -> tuple[str, ...]:
    """Return one sentence for each degradation; none if the service works."""
    return tuple(_SENTENCES[each.kind](*each.facts) for each in degradations(condition, patience))


def _reviews_unsent(reviews: int, seconds: float, error: str) -> str:
    votes = "One vote has" if reviews == 1 else f"{reviews} votes have"
    why = f": {plain(error)}" if error else ""
    return f"{votes} not reached the review server, the oldest for {_duration(seconds)}{why}."


def _waiting(builds: int) -> str:
    return "one build waits" if builds == 1 else f"{builds} builds wait"


def _part(part: str) -> str:
    return f"The {_PARTS.get(part, part)}"


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}s"
    return f"{seconds:.0f} seconds"


# Without a default on purpose: a kind without a sentence is a programming error.
_SENTENCES: Final[Mapping[DegradationKind, Callable[..., str]]] = MappingProxyType(
    {
        DegradationKind.EVENTS_WAIT: lambda seconds: (
            f"Events are not being handled: the oldest has waited {_duration(seconds)}."
        ),
        DegradationKind.REVIEWS_UNSENT: _reviews_unsent,
        DegradationKind.STEPS_ABANDONED: lambda steps: (
            f"Benchgate gave up {'one step' if steps == 1 else f'{steps} steps'} after repeated failures."
        ),
        DegradationKind.POOL_WITHOUT_MACHINE: lambda pool, builds: (
            f"Pool {pool} has no machine: {_waiting(builds)}."
        ),
        DegradationKind.MACHINES_SILENT: lambda pool, builds, seconds: (
            f"No machine of pool {pool} was seen for {_duration(seconds)}: {_waiting(builds)}."
        ),
        DegradationKind.BUILDS_WAIT: lambda pool, builds, seconds: (
            f"In pool {pool} {_waiting(builds)}, the oldest for {_duration(seconds)}."
        ),
        DegradationKind.NEVER_RAN: lambda part: f"{_part(part)} has not run yet.",
        DegradationKind.SILENT: lambda part, seconds: f"{_part(part)} has not run for {_duration(seconds)}.",
        DegradationKind.VOTE_FORBIDDEN: lambda right: f"Benchgate may not vote: {plain(right)}.",
        DegradationKind.DISCONNECTED: lambda trouble: f"{_part(LISTEN)} is {plain(trouble)}.",
    }
)
