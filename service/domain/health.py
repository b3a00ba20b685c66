"""When the service counts as degraded, and the sentences that say so."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime


LISTEN: Final = "listen"  # the part that listens to a stream of events
DISCONNECTED: Final = "disconnected"  # how its note begins while it cannot


@dataclass(frozen=True, slots=True)
class Patience:
    """How many seconds something may wait before people are told."""

    event: float = 60.0  # an event is planned within seconds; a minute means that nobody works
    queue: float = 3600.0  # as long as a few builds before it may take
    machine: float = 120.0  # a busy machine renews its lease every few seconds
    review: float = 300.0  # several attempts of the relay
    listen: float = 60.0  # a sign of life comes every ten seconds
    heartbeats: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({"schedule": 60.0, "reconcile": 300.0})
    )


def degradations(condition: Condition, patience: Patience) -> tuple[str, ...]:
    """One sentence for everything that is not as it should be; empty when all is well."""
    return tuple(
        sentence
        for part in (_events, _reviews, _abandoned_steps, _queues, _heartbeats)
        for sentence in part(condition, patience)
    )


def _events(condition: Condition, patience: Patience) -> Iterator[str]:
    waiting = _age(condition, condition.oldest_unhandled_event_at)
    if waiting > patience.event:
        yield f"Events are not being handled: the oldest has waited {_in_words(waiting)}."


def _reviews(condition: Condition, patience: Patience) -> Iterator[str]:
    waiting = _age(condition, condition.oldest_unsent_review_at)
    if waiting > patience.review:
        count = condition.unsent_reviews
        votes = "One vote has" if count == 1 else f"{count} votes have"
        why = f": {plain(condition.why_unsent)}" if condition.why_unsent else ""
        yield f"{votes} not reached the review server, the oldest for {_in_words(waiting)}{why}."


def _abandoned_steps(condition: Condition, _: Patience) -> Iterator[str]:
    if count := condition.abandoned_steps:
        yield (
            "One step was given up after repeated failures."
            if count == 1
            else (f"{count} steps were given up after repeated failures.")
        )


def _queues(condition: Condition, patience: Patience) -> Iterator[str]:
    for queue in condition.queues:
        if not queue.waiting:
            continue
        builds = "one build waits" if queue.waiting == 1 else f"{queue.waiting} builds wait"
        if queue.machine_seen_at is None:
            yield f"Pool {queue.pool} has no machine: {builds}."
        elif (silent := _age(condition, queue.machine_seen_at)) > patience.machine:
            yield f"No machine of pool {queue.pool} was seen for {_in_words(silent)}: {builds}."
        elif (waiting := _age(condition, queue.oldest_at)) > patience.queue:
            yield f"In pool {queue.pool} {builds}, the oldest for {_in_words(waiting)}."


def _heartbeats(condition: Condition, patience: Patience) -> Iterator[str]:
    beats = {heartbeat.part: heartbeat.beat_at for heartbeat in condition.heartbeats}
    for part, allowed in patience.heartbeats.items():
        if part not in beats:
            yield f"The {part} has not run yet."
        elif (silent := _age(condition, beats[part])) > allowed:
            yield f"The {part} has not run for {_in_words(silent)}."
    yield from _listening(condition, patience)


def _listening(condition: Condition, patience: Patience) -> Iterator[str]:
    """Of a stream of events, where one is listened to: without it changes are heard of a minute later."""
    for heartbeat in condition.heartbeats:
        if heartbeat.part != LISTEN:
            continue
        if (silent := _age(condition, heartbeat.beat_at)) > patience.listen:
            yield f"Nothing has listened to the review server's events for {_in_words(silent)}."
        elif heartbeat.note.startswith(DISCONNECTED):
            yield f"The stream of the review server's events is {plain(heartbeat.note)}."


def _age(condition: Condition, moment: datetime | None) -> float:
    return 0.0 if moment is None else (condition.now - moment).total_seconds()


def _in_words(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}s"
    return f"{seconds:.0f} seconds"


@dataclass(frozen=True, slots=True)
class PoolQueue:
    """What waits for the machines of a pool. ``machine_seen_at`` is the last sign of life of any of them."""

    pool: str
    waiting: int
    oldest_at: datetime | None
    machine_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The last sign of life of a part of the service."""

    part: str
    beat_at: datetime
    note: str


@dataclass(frozen=True, slots=True)
class Condition:
    """How the service stands at ``now``, on the database's clock."""

    now: datetime
    oldest_unhandled_event_at: datetime | None
    unsent_reviews: int
    oldest_unsent_review_at: datetime | None
    abandoned_steps: int
    queues: tuple[PoolQueue, ...]
    heartbeats: tuple[Heartbeat, ...]
    why_unsent: str = ""  # what the oldest unsent review last met
