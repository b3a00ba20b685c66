"""Decide whether the service is degraded.

The sentences are in :mod:`service.domain.wording.health`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

# Prefix of the part for a branch without the right to vote; its trouble is the missing right.
VOTE_ON: Final = "vote on "
# Parts that exist once per review server, such as ``reconcile core``: see part_of.
LISTEN: Final = "listen"  # listens to a stream of events
RECONCILE: Final = "reconcile"  # polls the review server for updated changes
VISIBILITY: Final = "visibility"  # polls what is public, every half hour
# Parts that note when they did their work last, and have no frequent heartbeat.
BACKUP: Final = "backup"
PRUNE: Final = "prune"  # its note has the days that the schedule uses
TRIES: Final = 3  # failures after which a step is reported with its error; fewer are normal in an outage
_MOST_GROUPS: Final = 5  # groups of failing steps that are reported one by one


SILENT_AFTER: Final = timedelta(minutes=1)
"""A machine that has sent no heartbeat for so long begins no build: it sends one every few seconds."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that something may wait before Benchgate reports it.

    ``listeners`` are the parts that read a configured event stream; heartbeats of others are stale.
    """

    event: float = 60.0  # planning takes seconds; after a minute, no worker handles events
    queue: float = 3600.0  # a few earlier builds may take as long
    hindered: float = 300.0  # other work on a machine may end by itself
    machine: float = 120.0  # a busy machine renews its lease every few seconds
    review: float = 300.0  # several attempts of the relay
    right: float = 7 * 86400.0  # a missing right is reported for so long, unless a vote is accepted
    visibility: float = 86400.0  # polled every half hour; older trouble belongs to a removed server
    listen: float = 60.0  # its heartbeat comes every ten seconds
    heartbeats: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({"schedule": 60.0, RECONCILE: 300.0})
    )
    listeners: Collection[str] = (LISTEN,)

    @classmethod
    def of_intervals(
        cls, reconcile_seconds: float, *, listeners: Collection[str], reconciled: Collection[str]
    ) -> Patience:
        """Allow two intervals and a minute, at least five minutes, for the parts that reconcile."""
        reconcile = max(300.0, 2 * reconcile_seconds + 60.0)
        heartbeats = {"schedule": 60.0, **dict.fromkeys(reconciled, reconcile)}
        return cls(heartbeats=heartbeats, listeners=listeners)

    def limits(self, beats: Collection[str]) -> dict[str, float]:
        """Return how many seconds each configured part may be silent; a listener must be in ``beats``."""
        # The event stream is optional: without it, Benchgate finds a change a minute later.
        listening = {part: self.listen for part in self.listeners if part in beats}
        return {**self.heartbeats, **listening}


class Step(StrEnum):
    """Step of the control plane that is retried when it fails; its value is the name of its task."""

    HANDLE_EVENT = auto()
    PLAN = auto()
    ANALYSE = auto()
    VOTE = auto()
    RUN_COMMENT_COMMANDS = auto()
    DELIVER = auto()
    RECONCILE = auto()
    CALIBRATE = auto()
    FOLLOW = auto()
    USE_IDLE_POOLS = auto()
    READ_BUGS = auto()
    NOTIFY = auto()


PERIODIC: Final = frozenset(
    {
        Step.DELIVER,
        Step.RECONCILE,
        Step.CALIBRATE,
        Step.FOLLOW,
        Step.USE_IDLE_POOLS,
        Step.READ_BUGS,
        Step.NOTIFY,
    }
)
"""Steps that the schedule starts again at their time, however often they failed."""


@dataclass(frozen=True, slots=True)
class FailingStep:
    """A step that failed, with its last error.

    ``change`` is the address of its change, if it has one. ``next_at`` is the time of the next try, None if
    the schedule starts the step again. ``event`` is the type of the event that asks for the step; may be
    empty. ``entity`` is what the step works on; 0 for the steps of the schedule.
    """

    step: Step
    change: str | None
    attempts: int
    error: str
    next_at: datetime | None
    is_dead: bool = False
    event: str = ""
    entity: int = 0


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Equal failures of a step on several changes, with the most attempts and the earliest next try."""

    step: Step
    changes: tuple[str, ...]
    attempts: int
    error: str
    next_at: datetime | None
    is_dead: bool
    event: str = ""


def part_of(name: str, instance: str, *, has_several: bool) -> str:
    """Name the part of the service that does something for one review server."""
    return f"{name} {instance}" if has_several else name


def failure_groups(steps: Sequence[FailingStep]) -> tuple[FailureGroup, ...]:
    """Group failures by step and error; the group with the most attempts comes first."""
    groups: dict[tuple[Step, str, bool], list[FailingStep]] = {}
    for failing in sorted(steps, key=lambda each: -each.attempts):
        groups.setdefault((failing.step, failing.error, failing.is_dead), []).append(failing)
    return tuple(
        FailureGroup(
            step=step,
            changes=tuple(sorted({each.change for each in group if each.change is not None})),
            attempts=group[0].attempts,
            error=error,
            next_at=min((each.next_at for each in group if each.next_at is not None), default=None),
            is_dead=is_dead,
            event=group[0].event,
        )
        for (step, error, is_dead), group in groups.items()
    )


class DegradationKind(StrEnum):
    """Kinds of degradations; a comment lists the facts of each, in order."""

    EVENTS_WAIT = auto()  # seconds of the oldest
    REVIEWS_UNSENT = auto()  # reviews, seconds of the oldest
    STEP_FAILS = auto()  # a group of failures
    MORE_STEPS_FAIL = auto()  # groups
    POOL_WITHOUT_MACHINE = auto()  # pool, builds
    MACHINES_SILENT = auto()  # pool, builds, seconds
    MACHINES_HINDERED = auto()  # pool, builds, seconds, why
    BUILDS_WAIT = auto()  # pool, builds, seconds of the oldest
    NEVER_RAN = auto()  # part
    SILENT = auto()  # part, seconds
    DISCONNECTED = auto()  # part, the reason
    VOTE_FORBIDDEN = auto()  # the missing right
    VISIBILITY_UNKNOWN = auto()  # part, the reason


@dataclass(frozen=True, slots=True)
class Degradation:
    """A degradation with the facts that :class:`DegradationKind` lists for its kind."""

    kind: DegradationKind
    facts: tuple[float | str | FailureGroup, ...]


def degradations(
    condition: Condition, patience: Patience, uptime: float = math.inf
) -> tuple[Degradation, ...]:
    """List all degradations; none if the service works.

    A part without a heartbeat counts only after ``uptime``, the seconds since the start, exceeds its limit.
    """
    return tuple(
        degradation
        for part in (_backlogs, _failing_steps, _queues, _missing_rights, _unknown_visibility)
        for degradation in part(condition, patience)
    ) + tuple(lack for lack, seconds in _heartbeats(condition, patience) if uptime >= seconds)


def starting(condition: Condition, patience: Patience, uptime: float) -> tuple[Degradation, ...]:
    """List the parts that have no heartbeat and may still be starting."""
    return tuple(lack for lack, seconds in _heartbeats(condition, patience) if uptime < seconds)


def _backlogs(condition: Condition, patience: Patience) -> Iterator[Degradation]:
    waiting = _age(condition, condition.oldest_unhandled_event_at)
    if waiting > patience.event:
        yield Degradation(DegradationKind.EVENTS_WAIT, (waiting,))
    waiting = _age(condition, condition.oldest_unsent_review_at)
    if waiting > patience.review:
        yield Degradation(DegradationKind.REVIEWS_UNSENT, (condition.unsent_reviews, waiting))


def _failing_steps(condition: Condition, patience: Patience) -> Iterator[Degradation]:
    """Yield the failures of steps with several attempts, and of those that silence a part."""
    silent = {_step_of(lack) for lack, _ in _lacking(condition, patience)}
    shown = [
        each
        for each in condition.failing_steps
        if each.attempts >= TRIES or each.is_dead or str(each.step) in silent
    ]
    groups = failure_groups(shown)
    for group in groups[:_MOST_GROUPS]:
        yield Degradation(DegradationKind.STEP_FAILS, (group,))
    if len(groups) > _MOST_GROUPS:
        yield Degradation(DegradationKind.MORE_STEPS_FAIL, (len(groups) - _MOST_GROUPS,))


def _queues(condition: Condition, patience: Patience) -> Iterator[Degradation]:
    for queue in condition.queues:
        facts = queue.pool, queue.waiting
        if not queue.waiting:
            continue
        if queue.machine_seen_at is None:
            yield Degradation(DegradationKind.POOL_WITHOUT_MACHINE, facts)
        elif (hindered := _age(condition, queue.hindered_at)) > patience.hindered:
            yield Degradation(DegradationKind.MACHINES_HINDERED, (*facts, hindered, queue.hindrance))
        elif (silent := _age(condition, queue.machine_seen_at)) > patience.machine:
            yield Degradation(DegradationKind.MACHINES_SILENT, (*facts, silent))
        elif (waiting := _age(condition, queue.oldest_at)) > patience.queue:
            yield Degradation(DegradationKind.BUILDS_WAIT, (*facts, waiting))


def _heartbeats(condition: Condition, patience: Patience) -> Iterator[tuple[Degradation, float]]:
    """Yield the problem of each part, and how many seconds after the start it begins to count.

    If the step of a part fails, its error is reported instead.
    """
    failing = {str(each.step) for each in condition.failing_steps}
    for lack, seconds in _lacking(condition, patience):
        if _step_of(lack) not in failing:
            yield lack, seconds


def _lacking(condition: Condition, patience: Patience) -> Iterator[tuple[Degradation, float]]:
    beats = {heartbeat.part: heartbeat for heartbeat in condition.heartbeats}
    for part, seconds in patience.limits(beats).items():
        if part not in beats:
            yield Degradation(DegradationKind.NEVER_RAN, (part,)), seconds
        elif (silent := _age(condition, beats[part].beat_at)) > seconds:
            yield Degradation(DegradationKind.SILENT, (part, silent)), seconds
        elif beats[part].trouble:
            yield Degradation(DegradationKind.DISCONNECTED, (part, beats[part].trouble)), 0.0


def _step_of(lack: Degradation) -> str:
    """Name the step that a silent part runs."""
    return str(lack.facts[0]).partition(" ")[0]


def _missing_rights(condition: Condition, patience: Patience) -> Iterator[Degradation]:
    for beat in condition.heartbeats:
        if beat.part.startswith(VOTE_ON) and beat.trouble and _age(condition, beat.beat_at) < patience.right:
            yield Degradation(DegradationKind.VOTE_FORBIDDEN, (beat.trouble,))


def _unknown_visibility(condition: Condition, patience: Patience) -> Iterator[Degradation]:
    for beat in condition.heartbeats:
        is_recent = _age(condition, beat.beat_at) < patience.visibility
        if beat.part.partition(" ")[0] == VISIBILITY and beat.trouble and is_recent:
            yield Degradation(DegradationKind.VISIBILITY_UNKNOWN, (beat.part, beat.trouble))


def _age(condition: Condition, moment: datetime | None) -> float:
    return 0.0 if moment is None else (condition.now - moment).total_seconds()


@dataclass(frozen=True, slots=True)
class PoolQueue:
    """Builds that wait for a pool, and the last heartbeat of its machines.

    ``hindered_at``: since when builds wait while something keeps every machine from them; ``hindrance`` says
    what it is. Silent machines are left out, unless their host is closed.
    """

    pool: str
    waiting: int
    oldest_at: datetime | None
    machine_seen_at: datetime | None
    hindered_at: datetime | None = None
    hindrance: str = ""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Last heartbeat of a part of the service, and the ``trouble`` that stops its work."""

    part: str
    beat_at: datetime
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """State of the service at ``now``, by the database's clock."""

    now: datetime
    oldest_unhandled_event_at: datetime | None
    unsent_reviews: int
    oldest_unsent_review_at: datetime | None
    abandoned_steps: int
    queues: tuple[PoolQueue, ...]
    heartbeats: tuple[Heartbeat, ...]
    failing_steps: tuple[FailingStep, ...] = ()
