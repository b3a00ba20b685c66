"""Comparisons of suites: the launches of a build, compared benchmark by benchmark."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from service.domain.comparison.benchmark import Benchmark, Rule
from service.domain.comparison.clock import JOIN_SHARE, may_join, real_per_cpu
from service.domain.comparison.launch import Launch
from service.domain.comparison.work_rate import RATES, canonical_metrics
from service.domain.identity import Side
from service.domain.inference.exact_counters import EXACT_SHARE, exact_looks
from service.domain.inference.interim_looks import looks
from service.domain.inference.metric import metric_named, own_clock
from service.domain.inference.verdict import ComparedRow, Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from service.domain.gbench.reader import GBenchRun, ResultRow
    from service.domain.inference.policy import Policy
    from service.domain.project.benchmark import Suite


_ALWAYS_READ: Final = ("cpu_time", "real_time", *RATES)
_WARNINGS: Final = 3  # of one launch that are kept; all are in the stored output


@dataclass(frozen=True, slots=True)
class Listing:
    """The benchmarks of a suite on each side, as the programs list them before the first launch.

    The base's have the names by which they are compared: ``renamed`` maps each that the patch renames to its
    name in the base.

    ``too_short`` counts the tests that take too little time to be compared; they are left out. So are the
    benchmarks ``not_chosen`` by the filter of the build.
    ``set_up``: the seconds that a launch of the base takes whatever it measures. ``multiple``: how many times
    the usual repetitions a launch makes.
    """

    suite: str
    base: tuple[str, ...]
    patch: tuple[str, ...]
    is_same_program: bool = False
    long: frozenset[str] = frozenset()  # those with few and long repetitions
    renamed: Mapping[str, str] = field(default_factory=dict, hash=False)
    too_short: int = 0
    not_chosen: tuple[str, ...] = ()
    set_up: float = 0.0
    multiple: int = 1

    @staticmethod
    def from_mapping(found: Mapping[str, Any]) -> Listing:
        """Read a stored listing; an old one without a mark for the same program means different programs."""
        is_same = bool(found.get("same_program", False))
        long = frozenset(found.get("long", ()))
        renamed = dict(found.get("renamed", {}))
        return Listing(
            found["suite"],
            tuple(found["base"]),
            tuple(found["patch"]),
            is_same,
            long,
            renamed,
            int(found.get("too_short", 0)),
            not_chosen=tuple(found.get("not_chosen", ())),
            set_up=float(found.get("set_up", 0.0)),
            multiple=int(found.get("multiple", 1)),
        )

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        return {
            "suite": self.suite,
            "patch": list(self.patch),
            "base": list(self.base),
            "same_program": self.is_same_program,
            "long": sorted(self.long),
            **({"renamed": dict(self.renamed)} if self.renamed else {}),
            **({"too_short": self.too_short} if self.too_short else {}),
            **({"not_chosen": list(self.not_chosen)} if self.not_chosen else {}),
            **({"set_up": self.set_up} if self.set_up else {}),
            **({"multiple": self.multiple} if self.multiple > 1 else {}),
        }

    @property
    def common(self) -> tuple[str, ...]:
        """The benchmarks that both sides list, in the patch's order."""
        known = set(self.base)
        return tuple(name for name in self.patch if name in known)


def family_size(suites: Sequence[Suite], listings: Sequence[Listing], *, joins: bool = True) -> float:
    """Count the hypotheses that can vote, before the first launch, over the benchmarks that both sides list.

    Each metric of a suite counts, except that rates count together with the clock by which they are divided.
    If a suite names no metrics, a benchmark counts once for its own clock and, if that is CPU time, a quarter
    more for the real time that may join it; ``joins``: whether it may. A counter also counts for the part of
    the error that its exact comparison spends.
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


def read_launch(pair: int, side: Side, suite: Suite, run: GBenchRun, *, joins: bool = True) -> Launch:
    """Reduce the output of a launch to one robust value per benchmark and metric: the best repetition.

    Both times and the rates are read too, whatever is compared: they show time that a clock does not count,
    and whether an iteration does the same work. ``joins``: whether real time may join a benchmark whose clock
    is CPU time.
    """
    measured = [row for row in run.rows if row.is_measured]
    values: Mapping[str, Mapping[str, float]] = {row.name: row.values for row in measured}
    varying: frozenset[tuple[str, str]] = frozenset()
    if len(values) < len(measured):
        values, varying = _best_repetitions(measured, suite)
    timed: dict[str, float] = {}
    for row in measured:
        timed[row.name] = timed.get(row.name, 0.0) + row.values["real_time"] * row.iterations
    threads = {row.name: row.threads for row in measured if joins and may_join(row.name)}
    return Launch(
        pair=pair,
        side=side,
        suite=suite.name,
        values=values,
        errors={row.name: row.error for row in run.rows if row.error is not None},
        warnings=tuple(map(str, run.warnings[:_WARNINGS])),
        real_per_cpu={
            name: real_per_cpu(name, count, values[name]["real_time"], values[name]["cpu_time"], run.context)
            for name, count in threads.items()
        },
        varying=varying,
        lost=run.lost,
        timed=timed,
    )


def _best_repetitions(
    rows: Iterable[ResultRow], suite: Suite
) -> tuple[Mapping[str, Mapping[str, float]], frozenset[tuple[str, str]]]:
    """Map benchmark and metric to the best value, and list those whose repetitions differ."""
    repetitions: defaultdict[str, list[Mapping[str, float]]] = defaultdict(list)
    for row in rows:
        repetitions[row.name].append(row.values)
    metrics = [
        metric_named(name, suite.higher_is_better) for name in dict.fromkeys((*_ALWAYS_READ, *suite.metrics))
    ]
    best: dict[str, dict[str, float]] = {}
    varying: list[tuple[str, str]] = []
    for name, found in repetitions.items():
        best[name] = {}
        for metric in metrics:
            values = {each[metric.name] for each in found if metric.name in each}
            if values:
                best[name][metric.name] = metric.best(values)
            if len(values) > 1:
                varying.append((name, metric.name))
    return best, frozenset(varying)


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

    ``schedule``: see :func:`service.domain.inference.verdict.compare_pairs`; by default all looks for which
    there are pairs, also beyond the policy's most. ``joins``: whether real time may join a benchmark whose
    clock is CPU time, or by suite and name those that it joined before, whatever these launches show.
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
    """Return the policy by which the benchmarks of these listings are judged."""
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
