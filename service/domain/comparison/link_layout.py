"""Link layout: a small slow-down is the change's only if relinked programs show it too."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from service.domain.comparison.counting_pairs import allowance, counting_pairs, pairs_of
from service.domain.comparison.work_rate import value_per_unit
from service.domain.identity import Side
from service.domain.inference.estimate import estimate
from service.domain.inference.metric import Better
from service.domain.inference.policy import Layout
from service.domain.inference.reasons import Reason, ReasonKind
from service.domain.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from service.domain.comparison.launch import Launch
    from service.domain.inference.estimate import Estimate
    from service.domain.inference.metric import Metric
    from service.domain.inference.policy import Policy
    from service.domain.inference.verdict import ComparedRow, Comparison

    Added = Callable[[ComparedRow], float | None]  # by how much the instructions grew: 0.05 for 5 %

VARIANTS: Final = (1, 2, 3, 4, 5)  # relinks of each side; all must agree: by chance at most 1 in 32 does
PAIRS: Final = 10  # at least, of each variant: two outliers on each side are trimmed
SHARE: Final = 0.5  # of the pairs that found the slow-down: a small one takes many pairs to find again
BELOW: Final = 0.50  # layout alone moves no benchmark further; the largest move in the measurements is 26 %
LEVEL: Final = 0.25  # one-sided, of each variant; unslowed programs pass all five in 1 of 1,024 cases


def pairs_for(found: Comparison) -> int:
    """The pairs of each variant that confirm or refute a comparison."""
    return max(PAIRS, math.ceil(SHARE * found.pairs))


def unknown(_: ComparedRow) -> float | None:
    """Return None: the instructions of a benchmark were not counted."""
    return None


def suspects(rows: Iterable[Comparison], policy: Policy, added: Added = unknown) -> tuple[Comparison, ...]:
    """The comparisons that vote −1 only once relinks confirm them.

    Slower in a time or rate, by so much that it votes, and by an interval whose nearest end is below
    :data:`BELOW`: the estimate may be far above what layout does because the pairs scatter. Alignment, the
    order of functions and what shares a cache set move times without any change of what is executed
    (Mytkowicz and others, "Producing wrong data without doing anything obviously wrong", ASPLOS 2009).

    Args:
        rows: the comparisons of the programs as the project links them.
        policy: may turn the confirmation off.
        added: by which share of the parent's the instructions of an iteration grew, negative if there
            are fewer; None if it is not known. A slow-down of which that makes half or more is no matter
            of layout.
    """
    if policy.layout is Layout.OFF:
        return ()
    return tuple(row for row in rows if _is_suspect(row, policy) and not _is_executed(row, added))


def _is_suspect(found: Comparison, policy: Policy) -> bool:
    is_small = found.worsening >= policy.votes_from(found.row.benchmark) and _may_be_layout(found)
    return found.verdict is Verdict.SLOWER and found.row.metric.is_speed and is_small


def _may_be_layout(found: Comparison) -> bool:
    return found.nearest < math.log1p(BELOW)


def _is_executed(found: Comparison, added: Added) -> bool:
    """Return whether added instructions explain half of it; always false for times per unit of work."""
    share, half = None if found.per else added(found.row), found.worsening / 2
    return share is not None and (share >= half > 0 or share <= half < 0)


def pairs_short(
    suspected: Iterable[Comparison], by_variant: Mapping[int, Sequence[Launch]], variant: int, policy: Policy
) -> dict[str, tuple[str, ...]]:
    """By suite, the benchmarks of which this variant has fewer complete pairs that count than it takes.

    A benchmark that any variant refutes takes no more: all must agree.
    """
    short: dict[str, dict[str, None]] = {}
    for found in suspected:
        is_short = len(_complete(found, by_variant.get(variant, ()))) < pairs_for(found)
        if is_short and all(is_slower for _, is_slower in _relinks(found, by_variant, policy)):
            short.setdefault(found.row.suite, {})[found.row.benchmark] = None
    return {suite: tuple(names) for suite, names in short.items()}


def most_pairs(suspected: Iterable[Comparison]) -> int:
    """The most pairs of a variant that are launched, with those that other work disturbed."""
    pairs = max(map(pairs_for, suspected), default=PAIRS)
    return pairs + allowance(pairs)


def pairs_with(wanted: Mapping[str, Sequence[str]], launches: Iterable[Launch]) -> int:
    """In how many pairs of a variant any of these benchmarks, by suite, was launched."""
    return len({each.pair for each in launches if any(map(each.ran, wanted.get(each.suite, ())))})


def confirm(
    rows: Iterable[Comparison],
    launches: Iterable[Launch],
    policy: Policy,
    added: Added = unknown,
) -> tuple[Comparison, ...]:
    """Make suspects ``undecided`` unless relinked programs of every variant are slower, too.

    A variant is slower if, by its first :func:`pairs_for` complete pairs, the 20 % trimmed mean of the log
    ratios is beyond the floor and its one-sided bound at :data:`LEVEL` (Yuen's, as in
    :func:`service.domain.inference.estimate.estimate`) is above zero. The first variant that is not refutes
    the slow-down, whatever the others are. Disturbed pairs are left out as
    :func:`~service.domain.comparison.counting_pairs.counting_pairs` does for :data:`PAIRS`.

    * **False alarms.** A row is ``slower`` here only if it was before, so the error promised for the pairs
      of the programs as linked holds unchanged, at any level of a variant.
    * **Layout.** Each link of each side has an order of its own. If the change itself costs nothing, base and
      patch can change places: each variant is slower with a probability of at most one half, and all five
      with at most 1/32, however large the effect of layout is, whatever the level.
    * **Power.** A level of 25 % is lenient on purpose: five variants must agree, and layout is excluded by
      their number. Half of the pairs that found a difference at the small error of one look show it again.

    A ``faster`` that layout may explain blocks nobody, so it is not measured again and gets the reason
    ``LAYOUT_POSSIBLE``. A suspect with too few pairs of a variant is ``undecided`` because of
    ``LAYOUT_NOT_CHECKED``: neither a −1 nor a +1 rests on a difference that layout alone may have made. A
    project whose link cannot be varied turns the confirmation off.

    Args:
        rows: the comparisons of the programs as the project links them.
        launches: of all variants.
        policy: as for :func:`suspects`.
        added: as for :func:`suspects`.
    """
    by_variant: dict[int, list[Launch]] = {variant: [] for variant in VARIANTS}
    for launch in launches:
        by_variant.setdefault(launch.variant, []).append(launch)
    rows = tuple(rows)
    suspected = {each.row for each in suspects(rows, policy, added)}
    return tuple(
        _confirm(each, by_variant, policy) if each.row in suspected else _qualified(each, policy, added)
        for each in rows
    )


def _qualified(found: Comparison, policy: Policy, added: Added) -> Comparison:
    is_small = found.verdict is Verdict.FASTER and found.row.metric.is_speed and _may_be_layout(found)
    if policy.layout is Layout.OFF or not is_small or _is_executed(found, added):
        return found
    return found._replace(reasons=(*found.reasons, Reason(ReasonKind.LAYOUT_POSSIBLE)))


def _confirm(found: Comparison, by_variant: Mapping[int, Sequence[Launch]], policy: Policy) -> Comparison:
    relinks = _relinks(found, by_variant, policy)
    ratios = tuple(estimated.ratio for estimated, _ in relinks)
    slower = sum(is_slower for _, is_slower in relinks)
    if slower < len(relinks):
        refuted = Reason(ReasonKind.LAYOUT_REFUTED, (slower, *ratios))
        return found._replace(verdict=Verdict.UNDECIDED, reasons=(refuted,))
    if len(relinks) < len(VARIANTS):
        return found._replace(verdict=Verdict.UNDECIDED, reasons=(Reason(ReasonKind.LAYOUT_NOT_CHECKED),))
    return found._replace(reasons=(Reason(ReasonKind.LAYOUT_CONFIRMED, ratios),))


def _relinks(
    found: Comparison, by_variant: Mapping[int, Sequence[Launch]], policy: Policy
) -> list[tuple[Estimate, bool]]:
    """Of each variant with enough pairs, its estimate and whether it is slower."""
    relinks: list[tuple[Estimate, bool]] = []
    for variant in VARIANTS:
        pairs = _complete(found, by_variant.get(variant, ()))
        if len(pairs) == pairs_for(found):
            estimated = estimate([b for b, _ in pairs], [p for _, p in pairs])
            relinks.append((estimated, _is_slower(estimated, found.row.metric, policy)))
    return relinks


def _is_slower(found: Estimate, metric: Metric, policy: Policy) -> bool:
    sign = 1 if metric.better is Better.LOWER else -1
    is_certain = min(sign * bound for bound in found.bounds(LEVEL)) > 0
    return is_certain and sign * found.centre > math.log1p(policy.floor)


def _complete(found: Comparison, launches: Sequence[Launch]) -> list[tuple[float, float]]:
    """The judged values of base and patch in a variant's first counting pairs that have both.

    Pairs that were launched for other benchmarks, by a later check, take nothing from its allowance.
    """
    row, disturbed = found.row, pairs_of(launches)
    ran = {each.pair for each in launches if each.suite == row.suite and each.ran(row.benchmark)}
    counting = set(counting_pairs({pair: disturbed[pair] for pair in ran}, PAIRS))
    by_pair: dict[int, dict[Side, float]] = {}
    for each in sorted(launches, key=attrgetter("pair")):
        values = each.values.get(row.benchmark, {})
        value = value_per_unit(found.per, row.benchmark, row.metric.name, values)
        if each.pair in counting and each.suite == row.suite and value is not None and value > 0:
            by_pair.setdefault(each.pair, {})[each.side] = value
    both = [(each[Side.BASE], each[Side.PATCH]) for each in by_pair.values() if len(each) == len(Side)]
    return both[: pairs_for(found)]
