"""Compare the suites of a build, benchmark by benchmark."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from service.domain.measuring.metric import may_join, metric_named, own_clock
from service.domain.values.identity import Side
from service.domain.verdict.comparison.benchmark import JOIN_SHARE, Benchmark, Rule
from service.domain.verdict.comparison.work_rate import canonical_metrics
from service.domain.verdict.inference.exact_counters import EXACT_SHARE, exact_looks
from service.domain.verdict.inference.interim_looks import looks
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from service.domain.measuring.launch import Launch
    from service.domain.measuring.listing import Listing
    from service.domain.project.benchmark import Suite
    from service.domain.project.policy import Policy


def family_size(suites: Sequence[Suite], listings: Sequence[Listing], *, joins: bool = True) -> float:
    """Count the hypotheses that can vote, over the benchmarks that both sides list before the first launch.

    Each metric of a suite counts, but rates count together with the clock that divides them. In a suite
    without metrics, a benchmark counts once for its own clock and, if that is CPU time and ``joins`` is set,
    a quarter more for the real time that may join it. A counter also counts for the error that its exact
    comparison spends.
    """
    by_name = {suite.name: suite for suite in suites}

    def hypotheses(asked: Sequence[str], benchmark: str) -> float:
        if not asked:
            return 1 + JOIN_SHARE if joins and may_join(benchmark) else 1
        canonical = set(canonical_metrics(benchmark, asked).values())
        return sum(1 if metric_named(name).is_speed else 1 + EXACT_SHARE for name in canonical)

    return sum(hypotheses(by_name[each.suite].metrics, name) for each in listings for name in each.common)


def looks_of(
    suites: Sequence[Suite], listings: Sequence[Listing], policy: Policy, most: int
) -> tuple[int, ...]:
    """List the numbers of pairs, up to ``most``, after which rows of these suites may be decided."""
    usual = looks(most)
    if all(metric_named(name).is_speed for suite in suites for name in suite.metrics):
        return usual
    early = exact_looks(policy, family_size(suites, listings))
    return tuple(sorted({*usual, *(n for n in early if n <= usual[-1])}))


def compare_suites(
    suites: Sequence[Suite],
    listings: Sequence[Listing],
    launches: Iterable[Launch],
    policy: Policy,
    schedule: Sequence[int] | None = None,
    *,
    joins: bool | frozenset[tuple[str, str]] = True,
) -> tuple[Comparison, ...]:
    """Compare every row of every suite, in the order of the project file and the listings.

    ``schedule`` is as in ``compare_pairs``; by default it has all looks that the pairs reach, even beyond the
    policy's most. ``joins``: whether real time may join a benchmark that is judged by CPU time, or the suites
    and benchmarks that it joined before, whatever these launches show.
    """
    by_suite: dict[str, list[Launch]] = {suite.name: [] for suite in suites}
    pairs: set[int] = set()
    for launch in launches:
        by_suite[launch.suite].append(launch)
        pairs.add(launch.pair)
    usual = looks(max(policy.max_pairs, len(pairs))) if schedule is None else tuple(schedule)
    may, joined = joins is not False, joins if isinstance(joins, frozenset) else frozenset()
    rule = Rule(policy_for(policy, listings), family_size(suites, listings, joins=may), usual, may, joined)
    by_name = {suite.name: suite for suite in suites}
    return tuple(
        row
        for listing in listings
        for row in _comparisons_of(by_name[listing.suite], listing, by_suite[listing.suite], rule)
    )


def policy_for(policy: Policy, listings: Iterable[Listing]) -> Policy:
    """Apply the renamings in these listings to the policy's entries by benchmark."""
    listings = tuple(listings)
    renamed = [pair for each in listings for pair in each.renamed.items()]
    others = (
        name
        for each in listings
        for names in (each.base, each.patch)
        for name in names
        if name not in each.renamed
    )
    return policy.renaming(renamed, others)


def undecided_benchmarks(comparisons: Iterable[Comparison], suite: str) -> tuple[str, ...]:
    """List the benchmarks of a suite that more pairs may still decide."""
    names = (c.row.benchmark for c in comparisons if c.row.suite == suite and not c.verdict.is_decided)
    return tuple(dict.fromkeys(names))


def _comparisons_of(
    suite: Suite, listing: Listing, launches: Sequence[Launch], rule: Rule
) -> Iterator[Comparison]:
    in_base, in_patch = set(listing.base), set(listing.patch)
    in_order = sorted(launches, key=attrgetter("pair"))
    sides = {side: [launch for launch in in_order if launch.side is side] for side in Side}
    launched = len({launch.pair for launch in launches})
    for name in dict.fromkeys((*listing.patch, *listing.base)):
        asked = suite.metrics or (own_clock(name),)
        metrics = [metric_named(each, suite.higher_is_better, suite.units) for each in asked]
        rows = [ComparedRow(suite.name, name, metric) for metric in metrics]
        if name not in in_base:
            yield from (Comparison(row, Verdict.NEW) for row in rows)
        elif name not in in_patch:
            yield from (Comparison(row, Verdict.REMOVED) for row in rows)
        else:
            base, patch = ({each.pair: each for each in ours if each.ran(name)} for ours in sides.values())
            yield from Benchmark(name, bool(suite.metrics), base, patch, launched).comparisons(rows, rule)
