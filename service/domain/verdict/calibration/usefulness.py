"""Find from its newest builds what a benchmark can show, and what would let it show more."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum, auto
from statistics import median, median_low
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import BASE_PAIRS
from service.domain.verdict.calibration.control import FAR
from service.domain.verdict.calibration.evidence import (
    TRIMMED_MEAN,
    change_found,
    pairs_needed,
)
from service.domain.verdict.inference.estimate import MIN_PAIRS, TRIMMED_FROM
from service.domain.verdict.inference.verdict import least_budget

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from service.domain.project.policy import Policy
    from service.domain.values.identity import SeriesKey

NEWEST: Final = 20  # builds of each job and branch: enough for a median and for "8 of 10"
DAYS: Final = 30
MANY_PAIRS: Final = 2 * BASE_PAIRS  # beyond BASE_PAIRS, only benchmarks that may still vote −1 go on
HARDLY: Final = math.expm1(FAR)  # a benchmark that finds only larger slow-downs guards hardly anything
MOSTLY: Final = 0.8  # share of builds that are undecided
OFTEN: Final = 0.5  # share of builds that fail, or are undecided
LEAST_CHANGES: Final = 5  # fewer say nothing about a benchmark
_LEAST_BUILDS: Final = 10  # fewer say little about a share


def noise_of(measured: Iterable[tuple[int, float | None]]) -> float | None:
    """Return the standard deviation of a pair's log ratio, the median over builds; None: not measured.

    It is √n times the standard error of n pairs; that of a trimmed mean is :data:`TRIMMED_MEAN` times larger.

    Args:
        measured: the pairs of each build, and the standard error of their estimate (log scale).
    """
    found = [
        error * math.sqrt(pairs) / (1.0 if pairs < TRIMMED_FROM else TRIMMED_MEAN)
        for pairs, error in measured
        if error is not None and pairs >= MIN_PAIRS
    ]
    return median(found) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSeries:
    """A series, summed up over the newest builds of checks and merged commits, one for each change.

    Args:
        id: of the series.
        key: its names.
        policy: of its job, by the newest of these builds.
        is_voting: its job votes.
        family: series of its job, which share the policy's error.
        builds: those that have it, of the :data:`NEWEST` of its job and branch.
        undecided: those in which it is undecided, and more pairs may decide it.
        differed: those in which it is slower or faster.
        failed: those in which it fails on both sides.
        identical: those in which both sides have one program.
        noise: standard deviation of a pair's log ratio by :func:`noise_of`.
        undecided_pairs: pairs of each build in which it is undecided.
        more_pairs: how many more would decide it, of each of these builds that names a number.
        suite_seconds: machine time of its suite's launches in the builds that count.
        suite_builds: how many of these builds have timed launches of the suite.
    """

    id: int
    key: SeriesKey
    policy: Policy
    is_voting: bool
    family: int
    builds: int
    undecided: int
    differed: int
    failed: int
    identical: int
    noise: float | None
    undecided_pairs: Sequence[int] = ()
    more_pairs: Sequence[float] = ()
    suite_seconds: float = 0.0
    suite_builds: int = 0

    @property
    def text(self) -> str:
        """The names that a search looks in."""
        key = self.key
        names = (key.benchmark, key.metric, key.suite, key.job, key.project, key.branch, key.machine_class)
        return " ".join(names)

    @property
    def job(self) -> tuple[str, ...]:
        """Its job, on a branch and a pool."""
        key = self.key
        return key.instance, key.project, key.branch, key.machine_class, key.job

    @property
    def limit(self) -> float:
        """The least slow-down that votes."""
        return self.policy.votes_from(self.key.benchmark)

    @property
    def pairs(self) -> int:
        """The pairs that it gets while it is undecided: a median, or those that the policy intends."""
        return median_low(self.undecided_pairs) if self.undecided_pairs else self.policy.base_pairs

    @property
    def finds_from(self) -> float | None:
        """Smallest slow-down that its pairs find half of the time; None if none, or if noise is unknown."""
        if self.noise is None or self.pairs < least_budget(self.policy, self.family):
            return None
        return math.expm1(change_found(self.noise, self.pairs, self.policy))

    @property
    def pairs_needed(self) -> int | None:
        """Pairs that find half of the slow-downs of the limit; None for more than 1,000, or unknown noise."""
        found = None if self.noise is None else pairs_needed(self.noise, self.policy, math.log1p(self.limit))
        return None if found is None else max(found, least_budget(self.policy, self.family))

    @property
    def is_undecided(self) -> bool:
        """Return whether it is undecided in most builds."""
        return self.builds >= _LEAST_BUILDS and self.undecided >= MOSTLY * self.builds

    @property
    def lacks_time(self) -> bool:
        """Return whether most builds ended before the pairs that each undecided benchmark is to get."""
        return len(self.more_pairs) >= MOSTLY * self.builds and self.pairs < self.policy.base_pairs

    @property
    def is_noisy(self) -> bool:
        """Return whether it is often undecided, and needs :data:`MANY_PAIRS` or more because of noise."""
        is_often = self.builds >= _LEAST_BUILDS and self.undecided >= OFTEN * self.builds
        if not is_often or self.noise is None or self.limit <= self.policy.floor:
            return False
        return change_found(self.noise, MANY_PAIRS, self.policy) > math.log1p(self.limit)


class Order(StrEnum):
    """Orders of a list of series, the first on top."""

    UNDECIDED = auto()
    NOISE = auto()
    NAME = auto()


_KEYS: Final[dict[Order, Callable[[MeasuredSeries], object]]] = {
    Order.UNDECIDED: lambda row: (-row.undecided / max(row.builds, 1), -(row.noise or 0.0), row.id),
    Order.NOISE: lambda row: (row.noise is None, -(row.noise or 0.0), row.id),
    Order.NAME: lambda row: (row.key, row.id),
}


def ordered(rows: Iterable[MeasuredSeries], by: Order) -> list[MeasuredSeries]:
    """Sort series: the least decided or noisiest first, or by name."""
    return sorted(rows, key=_KEYS[by])  # type: ignore[arg-type]


def benchmarks_of(rows: Iterable[MeasuredSeries]) -> Collection[list[MeasuredSeries]]:
    """Put the series of each benchmark together."""
    found: defaultdict[tuple[str, ...], list[MeasuredSeries]] = defaultdict(list)
    for row in rows:
        found[*row.job, row.key.suite, row.key.benchmark].append(row)
    return found.values()


def suites_of(rows: Iterable[MeasuredSeries]) -> list[MeasuredSeries]:
    """Return a series of each suite, that of the suite with the most machine time first."""
    found = {(*row.job, row.key.suite): row for row in rows}
    return sorted(found.values(), key=lambda row: -row.suite_seconds)


class Fault(StrEnum):
    """Faults of benchmarks; one that has several counts for the first."""

    FAILING = auto()
    UNCHANGED = auto()
    UNDECIDED = auto()
    NOISY = auto()


def faults_of(rows: Sequence[MeasuredSeries]) -> Mapping[int, Fault]:
    """Return the fault of each series that has one, which is that of its benchmark.

    ``rows`` has all series of a job: it is not worth its builds only if no suite has other programs.
    """
    of_jobs: defaultdict[tuple[str, ...], list[MeasuredSeries]] = defaultdict(list)
    for row in rows:
        of_jobs[row.job].append(row)
    unchanged = {job for job, series in of_jobs.items() if _is_unchanged(series)}
    found: dict[int, Fault] = {}
    for series in benchmarks_of(rows):
        fault = _fault_of(series, is_unchanged=series[0].job in unchanged)
        if fault:
            found |= {each.id: fault for each in series}
    return found


def _is_unchanged(series: Sequence[MeasuredSeries]) -> bool:
    has_enough = max(each.builds for each in series) >= _LEAST_BUILDS
    return has_enough and all(each.identical == each.builds for each in series)


def _fault_of(series: Sequence[MeasuredSeries], *, is_unchanged: bool) -> Fault | None:
    if max(each.builds for each in series) < LEAST_CHANGES:
        return None
    faults = {
        Fault.FAILING: any(each.failed >= max(LEAST_CHANGES, OFTEN * each.builds) for each in series),
        Fault.UNCHANGED: is_unchanged,
        Fault.UNDECIDED: all(each.is_undecided and each.lacks_time for each in series),
        Fault.NOISY: all(each.is_noisy for each in series),
    }
    return next((fault for fault, has in faults.items() if has), None)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Benchmarks with one fault: how many, and the worst of them."""

    fault: Fault
    benchmarks: int
    worst: MeasuredSeries


_WORST: Final[Mapping[Fault, Callable[[MeasuredSeries], float]]] = {
    Fault.FAILING: lambda row: row.failed / row.builds,
    Fault.UNCHANGED: lambda row: row.identical,
    Fault.UNDECIDED: lambda row: row.undecided / row.builds,
    Fault.NOISY: lambda row: row.noise or 0.0,
}


def suggestions(rows: Iterable[MeasuredSeries], faults: Mapping[int, Fault]) -> list[Suggestion]:
    """List what to fix among rows, at most one suggestion for each fault."""
    faulty: defaultdict[Fault, list[list[MeasuredSeries]]] = defaultdict(list)
    for series in benchmarks_of(row for row in rows if row.id in faults):
        faulty[faults[series[0].id]].append(series)
    return [
        Suggestion(
            fault, len(faulty[fault]), max((row for each in faulty[fault] for row in each), key=_WORST[fault])
        )
        for fault in Fault
        if fault in faulty
    ]
