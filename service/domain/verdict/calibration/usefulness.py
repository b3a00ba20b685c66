"""Decide from its newest builds what a suite costs, and which benchmarks are not worth their time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum, auto
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from service.domain.verdict.calibration.evidence import change_found, pairs_needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from service.domain.project.policy import Policy
    from service.domain.values.identity import SeriesKey

NEWEST: Final = 20  # builds of each job and branch: enough for a median and for "8 of 10"
DAYS: Final = 30
MANY_PAIRS: Final = 60  # twice the pairs after which only benchmarks that may still vote −1 go on
MOSTLY: Final = 0.8  # share of builds that are undecided
OFTEN: Final = 0.5  # share of builds that fail
COSTLY: Final = 0.1  # share of the time of all benchmarks
_TIMES_AVERAGE: Final = 5  # of few benchmarks each takes a tenth
_LEAST_BUILDS: Final = 10  # fewer say little about a share
_LEAST_FAILING: Final = 3  # builds
_MUCH: Final = 0.4  # of the time of all benchmarks
_FEW: Final = 0.2  # of all benchmarks: only so few stand out


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSeries:
    """A series, summed up over the newest builds of checks and merged commits.

    Args:
        id: of the series.
        key: its names.
        policy: of its job, by the newest of these builds.
        is_voting: its job votes.
        builds: those that have it, of the :data:`NEWEST` of its job and branch.
        undecided: those in which it is undecided.
        differed: those in which it is slower or faster.
        failed: those in which it fails, on the patch's side or on both.
        identical: those in which both sides have one program.
        noise: standard deviation of a pair's log ratio, the median over builds; None: not measured in pairs.
        seconds: of its launches in the last :data:`DAYS` days. All that a suite measures share the time of
            its launches by their pairs, and a job's other builds are taken to cost as much as the newest.
    """

    id: int
    key: SeriesKey
    policy: Policy
    is_voting: bool
    builds: int
    undecided: int
    differed: int
    failed: int
    identical: int
    noise: float | None
    seconds: float

    @property
    def text(self) -> str:
        """The names that a search looks in."""
        key = self.key
        names = (key.benchmark, key.metric, key.suite, key.job, key.project, key.branch, key.machine_class)
        return " ".join(names)

    @property
    def limit(self) -> float:
        """The least slow-down that votes."""
        return self.policy.votes_from(self.key.benchmark)

    @property
    def pairs_needed(self) -> int | None:
        """Pairs that find a slow-down of the limit; None for more than 1,000, and without known noise."""
        return None if self.noise is None else pairs_needed(self.noise, self.policy, math.log1p(self.limit))

    @property
    def is_noisy(self) -> bool:
        """Return whether a slow-down of the limit takes more than :data:`MANY_PAIRS`, because of noise."""
        if self.noise is None or self.limit <= self.policy.floor:  # no number of pairs finds it then
            return False
        return change_found(self.noise, MANY_PAIRS, self.policy) > math.log1p(self.limit)


class Order(StrEnum):
    """Orders of a list of series, the first on top."""

    COST = auto()
    NOISE = auto()
    UNDECIDED = auto()
    NAME = auto()


_KEYS: Final[dict[Order, Callable[[MeasuredSeries], object]]] = {
    Order.COST: lambda row: (-row.seconds, row.id),
    Order.NOISE: lambda row: (row.noise is None, -(row.noise or 0.0), row.id),
    Order.UNDECIDED: lambda row: (-row.undecided / max(row.builds, 1), -row.seconds, row.id),
    Order.NAME: lambda row: (row.key, row.id),
}


def ordered(rows: Iterable[MeasuredSeries], by: Order) -> list[MeasuredSeries]:
    """Sort series: the costliest, noisiest or least decided first, or by name."""
    return sorted(rows, key=_KEYS[by])  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark with the series of its metrics, the costliest first; a launch measures all of them."""

    series: tuple[MeasuredSeries, ...]

    @property
    def seconds(self) -> float:
        """Seconds of all its series."""
        return sum(each.seconds for each in self.series)

    @property
    def builds(self) -> int:
        """Builds of the series that has most."""
        return max(each.builds for each in self.series)

    @property
    def undecided(self) -> int:
        """Builds in which at least one series is undecided: those of the series that has most."""
        return max(each.undecided for each in self.series)

    @property
    def noisiest(self) -> MeasuredSeries:
        """The series with the largest noise."""
        return ordered(self.series, Order.NOISE)[0]

    @property
    def fails(self) -> bool:
        """Return whether it fails in at least half of its builds."""
        return any(each.failed >= max(_LEAST_FAILING, OFTEN * each.builds) for each in self.series)

    @property
    def is_unchanged(self) -> bool:
        """Return whether every build had one program on both sides."""
        return self.builds >= _LEAST_BUILDS and all(each.identical == each.builds for each in self.series)

    @property
    def is_undecided(self) -> bool:
        """Return whether it is undecided in most builds, and no build found a difference."""
        has_found = any(each.differed for each in self.series)
        return self.builds >= _LEAST_BUILDS and self.undecided >= MOSTLY * self.builds and not has_found

    @property
    def is_noisy(self) -> bool:
        """Return whether any of its series is noisy."""
        return any(each.is_noisy for each in self.series)


def benchmarks_of(rows: Iterable[MeasuredSeries]) -> list[Benchmark]:
    """Put the series of each benchmark together, the costliest benchmark first."""
    found: dict[tuple[str, ...], list[MeasuredSeries]] = {}
    for row in ordered(rows, Order.COST):
        key = row.key
        where = (key.instance, key.project, key.branch, key.machine_class)
        found.setdefault((*where, key.job, key.suite, key.benchmark), []).append(row)
    return sorted((Benchmark(tuple(series)) for series in found.values()), key=lambda each: -each.seconds)


@dataclass(frozen=True, slots=True)
class SuiteCost:
    """Machine time of benchmarks, and how few of them take much of it.

    ``few`` is the least number that takes two fifths of the time, 0 if that is more than a fifth of all;
    ``few_share`` is their share of the time, and ``few_undecided`` that of their builds which are undecided.
    """

    benchmarks: int
    seconds: float
    few: int = 0
    few_share: float = 0.0
    few_undecided: float = 0.0


def cost_of(benchmarks: Sequence[Benchmark]) -> SuiteCost:
    """Sum up the cost of benchmarks; the costliest comes first."""
    seconds = sum(each.seconds for each in benchmarks)
    whole = SuiteCost(len(benchmarks), seconds)
    if not seconds:
        return whole
    so_far = accumulate(each.seconds for each in benchmarks)
    few = next(place for place, taken in enumerate(so_far, 1) if taken >= _MUCH * seconds)
    if few > _FEW * len(benchmarks):
        return whole
    costly = benchmarks[:few]
    builds = sum(each.builds for each in costly)
    undecided = sum(each.undecided for each in costly)
    share = sum(each.seconds for each in costly) / seconds
    return SuiteCost(len(benchmarks), seconds, few, share, undecided / builds if builds else 0.0)


class Fault(StrEnum):
    """Faults of benchmarks that are not worth their time; one that has several counts for the first."""

    FAILING = auto()
    UNCHANGED = auto()
    UNDECIDED = auto()
    NOISY = auto()
    COSTLY = auto()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Benchmarks with one fault: how many, their seconds of those of all, and the worst of them."""

    fault: Fault
    benchmarks: int
    seconds: float
    of_seconds: float
    worst: MeasuredSeries


def suggestions(benchmarks: Sequence[Benchmark]) -> list[Suggestion]:
    """Find what to delete or fix, at most one suggestion for each fault, the costliest first."""
    seconds = sum(each.seconds for each in benchmarks)
    large = max(COSTLY * seconds, _TIMES_AVERAGE * seconds / max(len(benchmarks), 1))
    faulty: dict[Fault, list[Benchmark]] = {}
    for each in benchmarks:
        fault = _fault_of(each, large)
        if fault:
            faulty.setdefault(fault, []).append(each)
    found = [
        Suggestion(fault, len(those), sum(each.seconds for each in those), seconds, _worst(fault, those))
        for fault, those in faulty.items()
    ]
    return sorted(found, key=lambda each: (-each.seconds, each.fault))


def _fault_of(each: Benchmark, large: float) -> Fault | None:
    faults = {
        Fault.FAILING: each.fails,
        Fault.UNCHANGED: each.is_unchanged,
        Fault.UNDECIDED: each.is_undecided,
        Fault.NOISY: each.is_noisy,
        Fault.COSTLY: each.seconds > 0 and each.seconds >= large,
    }
    return next((fault for fault, has in faults.items() if has), None)


def _worst(fault: Fault, those: Sequence[Benchmark]) -> MeasuredSeries:
    """Return the noisiest series of noisy benchmarks, else that of the costliest benchmark."""
    if fault is Fault.NOISY:
        return ordered((each.noisiest for each in those), Order.NOISE)[0]
    if fault is Fault.UNDECIDED:
        return max(those[0].series, key=lambda each: each.undecided)
    return those[0].series[0]
