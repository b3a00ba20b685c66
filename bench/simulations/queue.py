"""``python -m bench.simulations.queue [BUILDS]``: compare orders of the queue of a pool of ten machines.

Engineers push changes with up to three builds: lint, tests and benchmarks. Now and then one of them pushes
thirty changes together; half of these stacks are pushed again five minutes later. Forty commits are merged
together, by one person or by many. The same builds go through the queue in every order.
"""

from __future__ import annotations

import heapq
import sys
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from service.domain.runs.turn import turn_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.random import Generator

MACHINES: Final = 10
ENGINEERS: Final = {"large": 190, "small": 10}
JOBS: Final = ((1.0, 0.35), (0.8, 1.2), (0.3, 4.0))  # share of changes that have it, and relative seconds
STACK: Final = 30  # changes
STACK_EVERY: Final = 600  # builds
REPUSHED_AFTER: Final = 300.0
MERGED: Final = 40  # commits of a burst
MERGED_EVERY: Final = 2000  # builds
MERGED_SHARE: Final = 0.1  # of the changes, one at a time
ASKED_SHARE: Final = 0.05
LAST: Final = 1e9  # added to the key of what nobody waits for


@dataclass(slots=True)
class Queued:
    """A build. ``stack`` numbers the changes that were pushed together; 0: pushed alone."""

    number: int
    arrives: float
    owner: str
    project: str
    usual: float
    seconds: float
    is_merged: bool = False
    is_asked: bool = False
    stack: int = 0
    dropped_at: float = np.inf
    begins: float = np.nan


class Order(Protocol):
    """Decide the place of a build in the queue: the smallest key is next."""

    def key(self, build: Queued, pool: Pool) -> float:
        """Return the key of a build that arrives."""


@dataclass(slots=True)
class Pool:
    """Unfinished builds of the pool, by owner."""

    now: float = 0.0
    work: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # usual seconds, unfinished
    waiting: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    started: float = 0.0  # the key of the last build that began

    def owners(self, build: Queued) -> int:
        """Count the owners of the build's project that have unfinished builds, with its own."""
        return len(self.waiting[build.project].keys() | {build.owner})

    def enter(self, build: Queued) -> None:
        """Count a build that arrives."""
        self.work[build.owner] += build.usual
        self.waiting[build.project][build.owner] += 1

    def leave(self, build: Queued) -> None:
        """Count a build no more that ended or was dropped."""
        self.work[build.owner] -= build.usual
        owners = self.waiting[build.project]
        owners[build.owner] -= 1
        if not owners[build.owner]:
            del owners[build.owner]


class ByNumber:
    """First come, first served, and merged commits last: the order before."""

    def key(self, build: Queued, _pool: Pool) -> float:
        """Return the number of the build."""
        return build.number + LAST * build.is_merged


class ByTurn:
    """The order of the service."""

    def key(self, build: Queued, pool: Pool) -> float:
        """Return the build's turn."""
        return self._turn(build, pool, 1)

    @staticmethod
    def _turn(build: Queued, pool: Pool, share: int) -> float:
        work, usual = pool.work[build.owner] * share, build.usual * share
        return build.arrives + turn_ahead(work, usual, is_asked=build.is_asked, is_merged=build.is_merged)


class ByTurnOfProject(ByTurn):
    """Turns, where the owners of a project share one machine."""

    def key(self, build: Queued, pool: Pool) -> float:
        """Return the build's turn, as many times as far ahead as the project has owners."""
        return self._turn(build, pool, pool.owners(build))


class StartTimeFair:
    """Start-time fair queuing by owners: fair at any load, but a build may be overtaken without end."""

    def __init__(self) -> None:
        self._finish: dict[str, float] = defaultdict(float)

    def key(self, build: Queued, pool: Pool) -> float:
        """Return the virtual time at which the build begins."""
        start = max(pool.started, self._finish[build.owner])
        self._finish[build.owner] = start + build.usual
        return start + LAST * build.is_merged


ORDERS: Final[Mapping[str, Callable[[], Order]]] = {
    "number (before)": ByNumber,
    "turn": ByTurn,
    "turn, owners of a project share": ByTurnOfProject,
    "start-time fair queuing": StartTimeFair,
}


def builds(rng: Generator, count: int, per_hour: float, load: float) -> list[Queued]:
    """Draw about ``count`` builds, as many an hour, which take this share of the machines' time."""
    end = count / per_hour * 3600
    mean = sum(share * seconds for share, seconds in JOBS) / sum(share for share, _ in JOBS)
    unit = load * MACHINES * 3600 / per_hour / mean
    together = [*_stacks(rng, end, per_hour), *_merges(rng, end, per_hour)]
    burst = [each for change in together for each in _of_change(rng, change, unit)]
    alone = (count - len(burst)) / count * per_hour / sum(share for share, _ in JOBS)
    drawn = [each for change in _changes(rng, end, alone) for each in _of_change(rng, change, unit)]
    in_order = sorted([*drawn, *burst], key=lambda each: each.arrives)
    return [replace(each, number=number) for number, each in enumerate(in_order)]


def _changes(rng: Generator, end: float, per_hour: float) -> Iterator[Queued]:
    """Yield changes pushed or merged one at a time; some engineers push more than others."""
    names = [(project, f"{project}-{n}") for project, people in ENGINEERS.items() for n in range(people)]
    eagerness = rng.lognormal(0.0, 0.7, len(names))
    eagerness /= eagerness.sum()
    at = 0.0
    while (at := at + rng.exponential(3600 / per_hour)) < end:
        project, owner = names[rng.choice(len(names), p=eagerness)]
        is_merged = bool(rng.random() < MERGED_SHARE)
        change = Queued(0, at, f"{owner}, merged" if is_merged else owner, project, 1.0, 1.0)
        is_asked = not is_merged and bool(rng.random() < ASKED_SHARE)
        yield replace(change, is_merged=is_merged, is_asked=is_asked)


def _stacks(rng: Generator, end: float, per_hour: float) -> Iterator[Queued]:
    every = STACK_EVERY / per_hour * 3600
    for number, at in enumerate(np.arange(every, end - 2 * REPUSHED_AFTER, every), 1):
        again = float(at) + REPUSHED_AFTER
        owner = f"large-{rng.integers(ENGINEERS['large'])}"
        change = Queued(0, float(at), owner, "large", 1.0, 1.0, stack=number)
        is_repushed = number % 2 == 0
        for _ in range(STACK):
            yield replace(change, dropped_at=again) if is_repushed else change
            if is_repushed:
                yield replace(change, arrives=again)


def _merges(rng: Generator, end: float, per_hour: float) -> Iterator[Queued]:
    every = MERGED_EVERY / per_hour * 3600
    for number, at in enumerate(np.arange(every / 2, end, every)):
        for _ in range(MERGED):
            owner = 0 if number % 2 else rng.integers(ENGINEERS["large"])
            yield Queued(0, float(at), f"large-{owner}, merged", "large", 1.0, 1.0, is_merged=True)


def _of_change(rng: Generator, change: Queued, unit: float) -> Iterator[Queued]:
    for share, seconds in JOBS:
        if rng.random() < share:
            usual = unit * seconds
            yield replace(change, usual=usual, seconds=usual * rng.lognormal(-0.02, 0.2))


def served(queued: Sequence[Queued], order: Order) -> list[Queued]:
    """Let the builds through the queue; return them with the moments at which they begin."""
    pool = Pool()
    waiting: list[tuple[float, int]] = []
    ends: list[tuple[float, int]] = []
    found = {each.number: replace(each) for each in queued}
    arrivals = iter(found.values())
    dropped = sorted(
        (each for each in found.values() if each.dropped_at < np.inf), key=lambda each: -each.dropped_at
    )
    following = next(arrivals, None)
    while following is not None or ends or waiting:
        pool.now = min(ends[0][0] if ends else np.inf, following.arrives if following else np.inf)
        while ends and ends[0][0] <= pool.now:
            pool.leave(found[heapq.heappop(ends)[1]])
        while dropped and dropped[-1].dropped_at <= pool.now:
            if np.isnan((gone := dropped.pop()).begins):
                pool.leave(gone)
                gone.begins = np.inf
        while following is not None and following.arrives <= pool.now:
            key = order.key(following, pool)
            pool.enter(following)
            heapq.heappush(waiting, (key, following.number))
            following = next(arrivals, None)
        while waiting and len(ends) < MACHINES:
            key, number = heapq.heappop(waiting)
            if np.isnan(found[number].begins):
                pool.started = max(pool.started, key % LAST)
                found[number].begins = pool.now
                heapq.heappush(ends, (pool.now + found[number].seconds, number))
    return [each for each in found.values() if each.begins < np.inf]


SCENES: Final = ((5000.0, 0.5), (5000.0, 0.9), (5000.0, 1.2), (150.0, 0.9))  # builds an hour, and load
COLUMNS: Final = (
    "one change beside a stack",
    "the same without stacks",
    "a change of the stack",
    "asked again",
    "merged",
    "of the small project",
    "longest check",
    "longest of all",
)


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds that builds waited in one order, by number."""

    queued: Sequence[Queued]

    def of(self, numbers: frozenset[int] | None = None, /, **fields: object) -> list[float]:
        """Return the waits of builds with these numbers, None: all, whose fields have these values."""
        return [
            each.begins - each.arrives
            for each in self.queued
            if (numbers is None or each.number in numbers)
            and all(getattr(each, name) == value for name, value in fields.items())
        ]


def beside_stacks(served_by_number: Sequence[Queued]) -> frozenset[int]:
    """Return the numbers of builds pushed alone that arrive while a stack waits, first come first served."""
    until: dict[int, float] = defaultdict(float)
    for each in served_by_number:
        until[each.stack] = max(until[each.stack], each.begins)
    spans = {(each.arrives, until[each.stack]) for each in served_by_number if each.stack}
    return frozenset(
        each.number
        for each in served_by_number
        if not (each.stack or each.is_merged or each.is_asked)
        and any(start <= each.arrives < end for start, end in spans)
    )


def main(count: int) -> None:
    """Print a table for each load: median and 95 % of the waits, in the mean seconds of a build."""
    for per_hour, load in SCENES:
        rng = np.random.default_rng(1)
        queued = builds(rng, count, per_hour, load)
        unit = float(np.mean([each.seconds for each in queued]))
        first = served(queued, ByNumber())
        numbers = beside_stacks(first)
        say = sys.stdout.write
        say(f"\n{per_hour:.0f} builds an hour, load {load:.0%}, a build takes {unit:.0f} s\n\n")
        say(f"| order | {' | '.join(COLUMNS)} |\n|{'---|' * (1 + len(COLUMNS))}\n")
        for name, order in ORDERS.items():
            waits = Waits(served(queued, order()))
            without = Waits(served([each for each in queued if not each.stack], order()))
            groups = (
                waits.of(numbers),
                without.of(numbers),
                [wait for stack in range(1, 1000, 2) for wait in waits.of(stack=stack)],
                waits.of(is_asked=True, stack=0),
                waits.of(is_merged=True),
                waits.of(project="small", is_merged=False),
            )
            cells = [" / ".join(f"{np.quantile(each, q) / unit:.1f}" for q in (0.5, 0.95)) for each in groups]
            longest = [f"{max(each) / unit:.1f}" for each in (waits.of(is_merged=False), waits.of())]
            say(f"| {name} | {' | '.join([*cells, *longest])} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
