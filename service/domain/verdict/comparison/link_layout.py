"""Confirm a slow-down or gain on relinked programs, so that link layout does not explain it.

Each *relink* links both sides with their objects in a new order. If the change only moved code, no order
favours a side, so the sign of each relink's log ratio is random. The signs are tested like those of pairs
(:mod:`service.domain.verdict.inference.signed_ranks`).
"""

from __future__ import annotations

import math
from enum import Enum, auto
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from service.domain.measuring.metric import Better
from service.domain.project.policy import Layout
from service.domain.values.identity import Side
from service.domain.verdict.comparison.counting_pairs import allowance, counting_pairs, pairs_of
from service.domain.verdict.comparison.work_rate import value_per_unit
from service.domain.verdict.inference.estimate import estimate
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.signed_ranks import capped_rank_tail
from service.domain.verdict.inference.verdict import Verdict, by_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from service.domain.measuring.launch import Launch
    from service.domain.project.policy import Policy
    from service.domain.verdict.inference.estimate import Estimate
    from service.domain.verdict.inference.reasons import Fact
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison

    Added = Callable[[ComparedRow], float | None]  # growth of the instructions: 0.05 for 5 %

BATCHES: Final = ((1, 2, 3, 4, 5, 6, 7), (11, 12, 13, 14, 15))
"""Variants that are relinks. Each batch compiles a side once; the second runs only if the first is unclear.

A variant between them is the second opinion: :data:`service.domain.measuring.launch.SECOND`.
"""
VARIANTS: Final = (*BATCHES[0], *BATCHES[1])
LOOKS: Final = {7: 1 / 128, 12: 1 / 128}
"""Numbers of relinks after which their signs are tested, with the share of the error of 1 in 64."""
CAP: Final = 0.5
"""Ranks of relinks above this share of their number all weigh the same.

The cap is higher than for pairs, because links mostly scatter evenly; there is one, because some links move a
time by far more than others (`python -m bench.simulations.layout`).
"""

PAIRS: Final = 8  # per variant at least: with fewer, the trimmed mean drops no outliers
SHARE: Final = 0.25  # of the pairs that found the slow-down: seven variants together have about twice as many
BELOW: Final = 1.00  # layout alone moves no benchmark further; the largest measured move is 57 %


class _Standing(Enum):
    """Answer of the relinks so far about a change."""

    OPEN = auto()
    CONFIRMED = auto()
    REFUTED = auto()


def next_look(relinks: int) -> int:
    """Return the look that more relinks than these lead to."""
    return next(look for look in sorted(LOOKS) if look > relinks)


def pairs_for(found: Comparison) -> int:
    """Compute how many pairs of each variant confirm or refute a comparison."""
    return max(PAIRS, math.ceil(SHARE * found.pairs))


def unknown(_: ComparedRow) -> float | None:
    """Return None: the instructions of a benchmark were not counted."""
    return None


def suspects(rows: Iterable[Comparison], policy: Policy, added: Added = unknown) -> tuple[Comparison, ...]:
    """List the slower and faster rows that relinks must confirm.

    These are times or rates with a change large enough to vote, and the interval's near end below
    :data:`BELOW`; the estimate may be larger, because pairs scatter. Alignment, the order of functions
    and shared cache sets move times without any change of what is executed (Mytkowicz and others, "Producing
    wrong data without doing anything obviously wrong", ASPLOS 2009). A row that has the verdict of another
    metric follows that metric and is not listed.

    Args:
        rows: the comparisons of the programs as the project links them.
        policy: may turn the confirmation off.
        added: relative growth of an iteration's instructions, negative if they shrank; None if unknown. If
            it explains half of a change or more, the change is no layout effect.
    """
    if policy.layout is Layout.OFF:
        return ()
    return tuple(row for row in rows if _is_suspect(row, policy) and not _is_executed(row, added))


def may_be_suspected(rows: Iterable[Comparison], policy: Policy) -> tuple[Comparison, ...]:
    """List the rows that look slower by as much as votes, and must be confirmed if more pairs find that.

    Rows that are decided count only if relinks must confirm them.
    """
    if policy.layout is Layout.OFF:
        return ()
    return tuple(
        row
        for row in rows
        if row.row.metric.is_speed
        and row.worsening >= policy.votes_from(row.row.benchmark)
        and (not row.verdict.is_decided or _is_suspect(row, policy))
    )


def _is_suspect(found: Comparison, policy: Policy) -> bool:
    is_large = abs(found.worsening) >= policy.votes_from(found.row.benchmark)
    return is_large and _may_be_layout(found) and not _judged_by(found)


def _may_be_layout(found: Comparison) -> bool:
    is_change = found.verdict in {Verdict.SLOWER, Verdict.FASTER}
    return is_change and found.row.metric.is_speed and found.nearest < math.log1p(BELOW)


def _is_executed(found: Comparison, added: Added) -> bool:
    """Return whether added instructions explain half of it; never for times per unit of work."""
    share, half = None if found.per else added(found.row), found.worsening / 2
    return share is not None and (share >= half > 0 or share <= half < 0)


def pairs_short(
    suspected: Iterable[Comparison], by_variant: Mapping[int, Sequence[Launch]], variant: int, policy: Policy
) -> dict[str, tuple[str, ...]]:
    """Map each suite to the benchmarks that this variant must still measure.

    Earlier variants left them open, they have too few complete pairs of this one, and it launched them in
    fewer than :func:`most_pairs`.
    """

    def is_short(found: Comparison) -> bool:
        relinks = _relinks(found, by_variant, policy)
        is_next = len(relinks) == VARIANTS.index(variant) and _standing(relinks) is _Standing.OPEN
        return is_next and len(_ran(found, by_variant.get(variant, ()))) < most_pairs(found)

    return by_suite(filter(is_short, suspected))


def left_open(
    suspected: Iterable[Comparison], by_variant: Mapping[int, Sequence[Launch]], policy: Policy
) -> tuple[str, ...]:
    """List the benchmarks that have too few complete pairs to be confirmed or refuted."""
    still = (each for each in suspected if _standing(_relinks(each, by_variant, policy)) is _Standing.OPEN)
    return tuple(sorted({each.row.benchmark for each in still}))


def most_pairs(found: Comparison) -> int:
    """Compute how many pairs of a variant launch a benchmark at most, disturbed ones included."""
    pairs = pairs_for(found)
    return pairs + allowance(pairs)


def confirm(
    rows: Iterable[Comparison],
    launches: Iterable[Launch],
    policy: Policy,
    added: Added = unknown,
) -> tuple[Comparison, ...]:
    """Make suspects ``undecided`` unless relinked programs show the change, too.

    The value of a relink is the 20 % trimmed mean of the log ratios of its first :func:`pairs_for` complete
    pairs, in the direction of the change, minus the floor. After 7 and after 12 relinks, the values are
    tested by capped signed ranks, each time at an error of 1 in 128. So all of seven must show the change, or
    of twelve all but one, or all but the two or three with the smallest values. What twelve cannot confirm
    any more is refuted at once. Disturbed pairs are left out as
    :func:`~service.domain.verdict.comparison.counting_pairs.counting_pairs` does for :data:`PAIRS`.

    * **False alarms.** Only a row that was ``slower`` before can be ``slower`` here, so the error of the
      pairs of the programs as built is unchanged.
    * **Layout.** Each link of each side has a new order. If the change costs at most the floor, base and
      patch are exchangeable, so each value is as likely to be below zero as above by the same size or more:
      relinks confirm with a probability of at most 1/64, however large the effect of layout is.
    * **Power.** A slow-down of 2.5 times the scatter of relinks is confirmed in 99 of 100 cases.

    A ``slower`` that is left open becomes ``undecided`` with ``LAYOUT_NOT_CHECKED``: layout alone may have
    caused it, so it gives neither a −1 nor a +1. One that is refuted does the same, with
    ``LAYOUT_BUILT_AGAIN``, if build commands made any relink of the patch: they may have compiled other code.
    A ``faster`` that is left open, or a change too small to vote, blocks nobody; it stays and gets the reason
    ``LAYOUT_POSSIBLE``. A project that cannot vary its link turns the confirmation off.

    Args:
        rows: the comparisons of the programs as the project links them.
        launches: those of all variants.
        policy: as for :func:`suspects`.
        added: as for :func:`suspects`.
    """
    by_variant: dict[int, list[Launch]] = {variant: [] for variant in VARIANTS}
    for launch in launches:
        by_variant.setdefault(launch.variant, []).append(launch)
    rows = tuple(rows)
    checked = {each.row: _confirm(each, by_variant, policy) for each in suspects(rows, policy, added)}
    return tuple(
        checked.get(each.row) or _followed(each, checked.values()) or _qualified(each, policy, added)
        for each in rows
    )


def _followed(found: Comparison, checked: Iterable[Comparison]) -> Comparison | None:
    """Give a row the result of the metric that it is judged by; None if that was not checked.

    Its own values may differ: the rate of bytes halves if the same work takes half of them.
    """
    if not (labels := _judged_by(found)):
        return None
    key = (found.row.suite, found.row.benchmark)
    for each in checked:
        if (each.row.suite, each.row.benchmark) == key and each.row.metric.label in labels:
            reasons = dict.fromkeys((*each.reasons, *found.reasons))
            return found._replace(verdict=each.verdict, reasons=tuple(reasons))
    return None


def _judged_by(found: Comparison) -> set[Fact]:
    """Find the label of the metric that a row takes its verdict from; empty for its own."""
    return {each.facts[0] for each in found.reasons if each.kind is ReasonKind.JUDGED_BY}


def _qualified(found: Comparison, policy: Policy, added: Added) -> Comparison:
    if policy.layout is Layout.OFF or not _may_be_layout(found) or _is_executed(found, added):
        return found
    return found._replace(reasons=(*found.reasons, Reason(ReasonKind.LAYOUT_POSSIBLE)))


def _confirm(found: Comparison, by_variant: Mapping[int, Sequence[Launch]], policy: Policy) -> Comparison:
    relinks = _relinks(found, by_variant, policy)
    standing, is_slower = _standing(relinks), found.verdict is Verdict.SLOWER
    if standing is _Standing.OPEN:
        if not is_slower:
            return found._replace(reasons=(*found.reasons, Reason(ReasonKind.LAYOUT_POSSIBLE)))
        reasons = (Reason(ReasonKind.LAYOUT_NOT_CHECKED), *found.reasons)
        return found._replace(verdict=Verdict.UNDECIDED, reasons=reasons)
    ratios = tuple(each.ratio for each, _ in relinks)
    if standing is _Standing.CONFIRMED:
        return found._replace(reasons=(Reason(ReasonKind.LAYOUT_CONFIRMED, ratios), *found.reasons))
    kind = ReasonKind.LAYOUT_REFUTED if is_slower else ReasonKind.LAYOUT_REFUTED_GAIN
    if is_slower and any(each.is_built_again for each in _of_patch(by_variant)):
        kind = ReasonKind.LAYOUT_BUILT_AGAIN
    refuted = Reason(kind, (sum(beyond > 0 for _, beyond in relinks), *ratios))
    return found._replace(verdict=Verdict.UNDECIDED, reasons=(refuted, *found.reasons))


def _of_patch(by_variant: Mapping[int, Sequence[Launch]]) -> Iterator[Launch]:
    """Yield the launches of the patch's relinks."""
    for variant in VARIANTS:
        yield from (each for each in by_variant.get(variant, ()) if each.side is Side.PATCH)


def _standing(relinks: Sequence[tuple[Estimate, float]]) -> _Standing:
    most = max(LOOKS)
    values = [beyond for _, beyond in relinks]
    if any(
        capped_rank_tail(values[:look], CAP) <= error for look, error in LOOKS.items() if len(values) >= look
    ):
        return _Standing.CONFIRMED
    at_best = [*values, *[math.inf] * (most - len(values))]
    return _Standing.REFUTED if capped_rank_tail(at_best, CAP) > LOOKS[most] else _Standing.OPEN


def _relinks(
    found: Comparison, by_variant: Mapping[int, Sequence[Launch]], policy: Policy
) -> list[tuple[Estimate, float]]:
    """List the estimate of each variant up to the deciding one, and its distance beyond the floor (log).

    The list ends at the first variant with too few pairs: which variants count must not depend on results.
    """
    relinks: list[tuple[Estimate, float]] = []
    is_upwards = (found.row.metric.better is Better.LOWER) == (found.verdict is Verdict.SLOWER)
    sign = 1 if is_upwards else -1
    for variant in VARIANTS:
        pairs = _complete(found, by_variant.get(variant, ()))
        if len(pairs) < pairs_for(found) or _standing(relinks) is not _Standing.OPEN:
            break
        estimated = estimate([b for b, _ in pairs], [p for _, p in pairs])
        relinks.append((estimated, sign * estimated.centre - math.log1p(policy.floor)))
    return relinks


def _complete(found: Comparison, launches: Sequence[Launch]) -> list[tuple[float, float]]:
    """List the values of base and patch in a variant's first complete pairs that count.

    Pairs that a later check launched for other benchmarks do not use up its allowance.
    """
    row, disturbed = found.row, pairs_of(launches)
    counting = set(counting_pairs({pair: disturbed[pair] for pair in _ran(found, launches)}, PAIRS))
    by_pair: dict[int, dict[Side, float]] = {}
    for each in sorted(launches, key=attrgetter("pair")):
        values = each.values.get(row.benchmark, {})
        value = value_per_unit(found.per, row.benchmark, row.metric.name, values)
        if each.pair in counting and each.suite == row.suite and value is not None and value > 0:
            by_pair.setdefault(each.pair, {})[each.side] = value
    both = [(each[Side.BASE], each[Side.PATCH]) for each in by_pair.values() if len(each) == len(Side)]
    return both[: pairs_for(found)]


def _ran(found: Comparison, launches: Iterable[Launch]) -> set[int]:
    """List the pairs that launched the benchmark."""
    row = found.row
    return {each.pair for each in launches if each.suite == row.suite and each.ran(row.benchmark)}
