"""Link layout: a small slow-down or gain is the change's only if relinked programs show it too.

Each *relink* is a link of both sides with their objects in an order of its own. If the change costs nothing
but moved code, no order favours a side, so the sign of each relink's log ratio is random. The signs of
relinks are tested as those of pairs are (:mod:`service.domain.verdict.inference.signed_ranks`).
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
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from service.domain.measuring.launch import Launch
    from service.domain.project.policy import Policy
    from service.domain.verdict.inference.estimate import Estimate
    from service.domain.verdict.inference.reasons import Fact
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison

    Added = Callable[[ComparedRow], float | None]  # by how much the instructions grew: 0.05 for 5 %

BATCHES: Final = ((1, 2, 3, 4, 5, 6, 7), (11, 12, 13, 14, 15))
"""The variants of relinks. A side is compiled once for a batch; the second is made if the first leaves doubt.

The variants between them are no relinks: see :data:`service.domain.verdict.comparison.second_opinion.SECOND`.
"""
VARIANTS: Final = (*BATCHES[0], *BATCHES[1])
LOOKS: Final = {7: 1 / 128, 12: 1 / 128}
"""By number of relinks, the part of the error, 1 in 64, that the test of their signs may spend."""
CAP: Final = 0.5
"""The ranks of relinks beyond which all weigh the same.

More than of pairs, because links mostly scatter evenly; not all, because some links move a time by far more
than others (`python -m bench.simulations.layout`).
"""

PAIRS: Final = 8  # at least, of each variant: the fewest of which the trimmed mean leaves outliers out
SHARE: Final = 0.25  # of the pairs that found the slow-down: seven variants have about twice as many together
BELOW: Final = 1.00  # layout alone moves no benchmark further; the largest move in the measurements is 57 %


class _Standing(Enum):
    """The answer of relinks to a change of the programs as built."""

    OPEN = auto()
    CONFIRMED = auto()
    REFUTED = auto()


def pairs_for(found: Comparison) -> int:
    """The pairs of each variant that confirm or refute a comparison."""
    return max(PAIRS, math.ceil(SHARE * found.pairs))


def unknown(_: ComparedRow) -> float | None:
    """Return None: the instructions of a benchmark were not counted."""
    return None


def suspects(rows: Iterable[Comparison], policy: Policy, added: Added = unknown) -> tuple[Comparison, ...]:
    """The comparisons that stay slower or faster only once relinks confirm them.

    These are times or rates whose change is large enough to vote, and an interval whose nearest end is below
    :data:`BELOW`: the estimate may be far above what layout does because the pairs scatter. Alignment, the
    order of functions and what shares a cache set move times without any change of what is executed
    (Mytkowicz and others, "Producing wrong data without doing anything obviously wrong", ASPLOS 2009).

    Args:
        rows: the comparisons of the programs as the project links them.
        policy: may turn the confirmation off.
        added: by which share of the parent's the instructions of an iteration grew, negative if there
            are fewer; None if it is not known. A change of which that makes half or more is no matter of
            layout.

    A row whose verdict is that of another metric is none: it follows that one.
    """
    if policy.layout is Layout.OFF:
        return ()
    return tuple(row for row in rows if _is_suspect(row, policy) and not _is_executed(row, added))


def _is_suspect(found: Comparison, policy: Policy) -> bool:
    is_large = abs(found.worsening) >= policy.votes_from(found.row.benchmark)
    return is_large and _may_be_layout(found) and not _judged_by(found)


def _may_be_layout(found: Comparison) -> bool:
    is_change = found.verdict in {Verdict.SLOWER, Verdict.FASTER}
    return is_change and found.row.metric.is_speed and found.nearest < math.log1p(BELOW)


def _is_executed(found: Comparison, added: Added) -> bool:
    """Return whether added instructions explain half of it; always false for times per unit of work."""
    share, half = None if found.per else added(found.row), found.worsening / 2
    return share is not None and (share >= half > 0 or share <= half < 0)


def pairs_short(
    suspected: Iterable[Comparison], by_variant: Mapping[int, Sequence[Launch]], variant: int, policy: Policy
) -> dict[str, tuple[str, ...]]:
    """By suite, the benchmarks that this variant must still measure.

    These are the ones that the variants before it leave open, that have too few complete pairs of it, and
    that were launched in fewer than :func:`most_pairs`.
    """
    short: dict[str, dict[str, None]] = {}
    for found in suspected:
        relinks = _relinks(found, by_variant, policy)
        is_next = len(relinks) == VARIANTS.index(variant) and _standing(relinks) is _Standing.OPEN
        if is_next and len(_ran(found, by_variant.get(variant, ()))) < most_pairs(found):
            short.setdefault(found.row.suite, {})[found.row.benchmark] = None
    return {suite: tuple(names) for suite, names in short.items()}


def left_open(
    suspected: Iterable[Comparison], by_variant: Mapping[int, Sequence[Launch]], policy: Policy
) -> tuple[str, ...]:
    """The benchmarks that relinks neither confirm nor refute: they have too few complete pairs."""
    still = (each for each in suspected if _standing(_relinks(each, by_variant, policy)) is _Standing.OPEN)
    return tuple(sorted({each.row.benchmark for each in still}))


def most_pairs(found: Comparison) -> int:
    """The most pairs of a variant that launch its benchmark, with those that other work disturbed."""
    pairs = pairs_for(found)
    return pairs + allowance(pairs)


def confirm(
    rows: Iterable[Comparison],
    launches: Iterable[Launch],
    policy: Policy,
    added: Added = unknown,
) -> tuple[Comparison, ...]:
    """Make suspects ``undecided`` unless relinked programs show the change, too.

    The value of a relink is how far, in the direction of the change, the 20 % trimmed mean of the log ratios
    of its first :func:`pairs_for` complete pairs is beyond the floor. After 7 and after 12 relinks, the
    values are tested by capped signed ranks, each time at an error of 1 in 128. So all of seven must show the
    change, or of twelve all but one, or all but the two or three with the smallest values. What twelve cannot
    confirm any more is refuted at once. Disturbed pairs are left out as
    :func:`~service.domain.verdict.comparison.counting_pairs.counting_pairs` does for :data:`PAIRS`.

    * **False alarms.** A row is ``slower`` here only if it was before, so the error promised for the pairs
      of the programs as linked holds unchanged.
    * **Layout.** Each link of each side has an order of its own. If the change costs at most the floor, base
      and patch can change places, so each value is as likely to be below zero as above by the same size or
      more: relinks confirm with a probability of at most 1/64, however large the effect of layout is.
    * **Power.** A slow-down that exceeds the scatter of relinks 2.5 times is kept in 99 of 100 cases.

    A ``slower`` that is left open is ``undecided`` because of ``LAYOUT_NOT_CHECKED``: neither a −1 nor a +1
    rests on a difference that layout alone may have made. A ``faster`` that is left open blocks nobody, nor
    does a change too small to vote; these stay as they are and get the reason ``LAYOUT_POSSIBLE``. A project
    whose link cannot be varied turns the confirmation off.

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
    checked = {each.row: _confirm(each, by_variant, policy) for each in suspects(rows, policy, added)}
    return tuple(
        checked.get(each.row) or _followed(each, checked.values()) or _qualified(each, policy, added)
        for each in rows
    )


def _followed(found: Comparison, checked: Iterable[Comparison]) -> Comparison | None:
    """Give a row the answer about the metric that it is judged by; None if that was not checked.

    Its own values may tell another story: the rate of bytes halves if the same work takes half of them.
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
    """The label of the metric whose verdict a row has; empty if it has its own."""
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
    refuted = Reason(kind, (sum(beyond > 0 for _, beyond in relinks), *ratios))
    return found._replace(verdict=Verdict.UNDECIDED, reasons=(refuted, *found.reasons))


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
    """Of each variant up to the one that decides, its estimate and how far that is beyond the floor (log).

    The first variant with too few pairs is the end: which variants count must not depend on their results.
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
    """The judged values of base and patch in a variant's first counting pairs that have both.

    Pairs that were launched for other benchmarks, by a later check, take nothing from its allowance.
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
    """The pairs in which the benchmark was launched."""
    row = found.row
    return {each.pair for each in launches if each.suite == row.suite and each.ran(row.benchmark)}
