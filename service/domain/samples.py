"""What the launches of a build measured, gathered into comparisons row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.gbench import repetition_values
from service.domain.identity import Side
from service.domain.metric import metric_named, own_clock
from service.domain.verdict import Comparison, Row, Verdict, compare

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.gbench import GBenchRun
    from service.domain.project_file import Policy, Suite


_WARNINGS: Final = 3  # of one launch that are kept; the raw file tells the rest


@dataclass(frozen=True, slots=True)
class Launch:
    """One process of one side: a robust value per benchmark and metric, and the errors it reported."""

    pair: int
    side: Side
    suite: str
    values: Mapping[str, Mapping[str, float]]
    errors: Mapping[str, str]
    warnings: tuple[str, ...] = ()  # of the reader, each naming file and row


@dataclass(frozen=True, slots=True)
class Listing:
    """The benchmarks of a suite by side, as the programs list them before the first launch."""

    suite: str
    base: tuple[str, ...]
    patch: tuple[str, ...]

    @property
    def common(self) -> tuple[str, ...]:
        """Those of both sides, in the patch's order."""
        known = set(self.base)
        return tuple(name for name in self.patch if name in known)


def metrics_of(suite: Suite, benchmark: str) -> tuple[str, ...]:
    """What is compared of a benchmark: what the suite names, else the benchmark's own clock."""
    return suite.metrics or (own_clock(benchmark),)


def family_size(suites: Sequence[Suite], listings: Sequence[Listing]) -> int:
    """How many rows can vote: every metric of every benchmark that both sides list."""
    by_name = {suite.name: suite for suite in suites}
    return sum(len(metrics_of(by_name[each.suite], name)) for each in listings for name in each.common)


def read_launch(pair: int, side: Side, suite: Suite, run: GBenchRun) -> Launch:
    """One robust value per benchmark and metric: the best repetition of the launch."""
    names = {row.name for row in run.rows if row.error is None}
    metrics = sorted({metric for name in names for metric in metrics_of(suite, name)})
    values: dict[str, dict[str, float]] = {}
    for metric in metrics:
        best = metric_named(metric, suite.higher_is_better).best
        for name, found in repetition_values(run, metric).items():
            if found and metric in metrics_of(suite, name):
                values.setdefault(name, {})[metric] = best(found)
    errors = {row.name: row.error for row in run.rows if row.error is not None}
    return Launch(pair, side, suite.name, values, errors, tuple(map(str, run.warnings[:_WARNINGS])))


def compare_all(
    suites: Sequence[Suite],
    listings: Sequence[Listing],
    launches: Iterable[Launch],
    policy: Policy,
    schedule: Sequence[int] | None = None,
) -> tuple[Comparison, ...]:
    """A comparison for every row of every suite, in the order of the project file and the listings.

    ``schedule``: see :func:`service.domain.verdict.compare`.
    """
    by_suite: dict[str, list[Launch]] = {suite.name: [] for suite in suites}
    for launch in launches:
        by_suite[launch.suite].append(launch)
    family = family_size(suites, listings)
    by_name = {suite.name: suite for suite in suites}
    return tuple(
        row
        for listing in listings
        for row in _compare_suite(
            by_name[listing.suite], listing, by_suite[listing.suite], policy, family, schedule
        )
    )


def undecided_benchmarks(comparisons: Iterable[Comparison], suite: str) -> tuple[str, ...]:
    """The benchmarks of a suite that more pairs may still decide."""
    names = (c.row.benchmark for c in comparisons if c.row.suite == suite and not c.verdict.is_decided)
    return tuple(dict.fromkeys(names))


def _compare_suite(
    suite: Suite,
    listing: Listing,
    launches: Sequence[Launch],
    policy: Policy,
    family: int,
    schedule: Sequence[int] | None,
) -> Iterable[Comparison]:
    in_base, in_patch = set(listing.base), set(listing.patch)
    errors = {side: _errors(launches, side) for side in Side}
    pairs = 1 + max((launch.pair for launch in launches), default=-1)
    for name in dict.fromkeys((*listing.patch, *listing.base)):
        for metric in metrics_of(suite, name):
            row = Row(suite.name, name, metric_named(metric, suite.higher_is_better))
            if name not in in_base:
                yield Comparison(row, Verdict.NEW)
            elif name not in in_patch:
                yield Comparison(row, Verdict.REMOVED)
            elif name in errors[Side.BASE]:
                yield Comparison(row, Verdict.NEW, reason=f"fails in the parent: {errors[Side.BASE][name]}")
            elif name in errors[Side.PATCH]:
                yield Comparison(row, Verdict.BROKEN, reason=errors[Side.PATCH][name])
            else:
                base, patch = (_values(launches, side, name, metric, pairs) for side in Side)
                yield _one_sided(row, base, patch) or compare(row, base, patch, policy, family, schedule)


def _one_sided(row: Row, base: Sequence[float | None], patch: Sequence[float | None]) -> Comparison | None:
    """The comparison of what only one side ever reports; None where both do, or neither."""
    is_in_base, is_in_patch = (any(value is not None for value in values) for values in (base, patch))
    if is_in_base and not is_in_patch:
        return Comparison(row, Verdict.BROKEN, reason=f"reports no {row.metric.label} any more")
    if is_in_patch and not is_in_base:
        return Comparison(row, Verdict.NEW, reason=f"reports no {row.metric.label} in the parent")
    return None


def _errors(launches: Iterable[Launch], side: Side) -> dict[str, str]:
    return {name: text for each in launches if each.side is side for name, text in each.errors.items()}


def _values(launches: Iterable[Launch], side: Side, name: str, metric: str, pairs: int) -> list[float | None]:
    found: list[float | None] = [None] * pairs
    for launch in launches:
        if launch.side is side:
            found[launch.pair] = launch.values.get(name, {}).get(metric)
    return found
