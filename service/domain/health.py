"""The conditions under which the service counts as degraded.

The sentences are in :mod:`service.domain.wording.health`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

# The part of a branch whose votes the review server forbids; its trouble is the missing right.
VOTE_ON: Final = "vote on "
LISTEN: Final = "listen"  # the part that listens to a stream of events


@dataclass(frozen=True, slots=True)
class Patience:
    """The number of seconds that something may wait before Benchgate reports it."""

    event: float = 60.0  # an event is planned within seconds; a minute means that no worker handles it
    queue: float = 3600.0  # as long as a few builds before it may take
    machine: float = 120.0  # a busy machine renews its lease every few seconds
    review: float = 300.0  # several attempts of the relay
    right: float = 7 * 86400.0  # seconds for which a missing right is reported, unless a vote is accepted
    listen: float = 60.0  # a sign of life comes every ten seconds
    heartbeats: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({"schedule": 60.0, "reconcile": 300.0})
    )


class DegradationKind(StrEnum):
    """The kinds of degradations, each with the facts that it carries, in their order."""

    EVENTS_WAIT = auto()  # seconds of the oldest
    REVIEWS_UNSENT = auto()  # reviews, seconds of the oldest, its last error
    STEPS_ABANDONED = auto()  # steps
    POOL_WITHOUT_MACHINE = auto()  # pool, builds
    MACHINES_SILENT = auto()  # pool, builds, seconds
    BUILDS_WAIT = auto()  # pool, builds, seconds of the oldest
    NEVER_RAN = auto()  # part
    SILENT = auto()  # part, seconds
    DISCONNECTED = auto()  # the reason
    VOTE_FORBIDDEN = auto()  # the missing right


@dataclass(frozen=True, slots=True)
class Degradation:
    """One degradation, with the facts that :class:`DegradationKind` lists for its kind."""

    kind: DegradationKind
    facts: tuple[float | str, ...]


def degradations(condition: Condition, patience: Patience) -> tuple[Degradation, ...]:
    """List all degradations; none if the service works."""
    return tuple(
        degradation
        for part in (_backlogs, _queues, _heartbeats, _missing_rights)
        for degradation in part(condition, patience)
    )


def _backlogs(condition: Condition, patience: Patience) -> Iterator[Degradation]:
    waiting = _age(condition, condition.oldest_unhandled_event_at)
    if waiting > patience.event:
        yield Degradation(DegradationKind.EVENTS_WAIT, (waiting,))
    waiting = _age(condition, condition.oldest_unsent_review_at)
    if waiting > patience.review:
        facts = (condition.unsent_reviews, waiting, condition.why_unsent)
        yield Degradation(DegradationKind.REVIEWS_UNSENT, facts)
    if condition.abandoned_steps:
        yield Degradation(DegradationKind.STEPS_ABANDONED, (condition.abandoned_steps,))


def _queues(condition: Condition, patience: Patience) -> Iterator[Degradation]:
    for queue in condition.queues:
        facts = queue.pool, queue.waiting
        if not queue.waiting:
            continue
        if queue.machine_seen_at is None:
            yield Degradation(DegradationKind.POOL_WITHOUT_MACHINE, facts)
        elif (silent := _age(condition, queue.machine_seen_at)) > patience.machine:
            yield Degradation(DegradationKind.MACHINES_SILENT, (*facts, silent))
        elif (waiting := _age(condition, queue.oldest_at)) > patience.queue:
            yield Degradation(DegradationKind.BUILDS_WAIT, (*facts, waiting))


def _heartbeats(condition: Condition, patience: Patience) -> Iterator[Degradation]:
    beats = {heartbeat.part: heartbeat for heartbeat in condition.heartbeats}
    # A stream of events is optional: without it, Benchgate finds a change a minute later.
    allowed = {**patience.heartbeats, **({LISTEN: patience.listen} if LISTEN in beats else {})}
    for part, seconds in allowed.items():
        if part not in beats:
            yield Degradation(DegradationKind.NEVER_RAN, (part,))
        elif (silent := _age(condition, beats[part].beat_at)) > seconds:
            yield Degradation(DegradationKind.SILENT, (part, silent))
        elif beats[part].trouble:
            yield Degradation(DegradationKind.DISCONNECTED, (beats[part].trouble,))


def _missing_rights(condition: Condition, patience: Patience) -> Iterator[Degradation]:
    for beat in condition.heartbeats:
        if beat.part.startswith(VOTE_ON) and beat.trouble and _age(condition, beat.beat_at) < patience.right:
            yield Degradation(DegradationKind.VOTE_FORBIDDEN, (beat.trouble,))


def _age(condition: Condition, moment: datetime | None) -> float:
    return 0.0 if moment is None else (condition.now - moment).total_seconds()


@dataclass(frozen=True, slots=True)
class PoolQueue:
    """The builds that wait for a pool, and ``machine_seen_at``, the last sign of life of its machines."""

    pool: str
    waiting: int
    oldest_at: datetime | None
    machine_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The last sign of life of a part of the service, and the ``trouble`` that stops its work."""

    part: str
    beat_at: datetime
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of the service at ``now``, on the database's clock."""

    now: datetime
    oldest_unhandled_event_at: datetime | None
    unsent_reviews: int
    oldest_unsent_review_at: datetime | None
    abandoned_steps: int
    queues: tuple[PoolQueue, ...]
    heartbeats: tuple[Heartbeat, ...]
    why_unsent: str = ""  # the last error of the oldest unsent review
