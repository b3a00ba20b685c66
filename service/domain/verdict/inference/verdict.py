"""Decide whether a benchmark got slower, faster or stayed the same, by its pairs and the policy."""

from __future__ import annotations

import math
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile
from statistics import median_high, median_low
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.metric import Better, Metric
from service.domain.project.policy import MOST_PAIRS
from service.domain.verdict.inference.estimate import MIN_PAIRS, Estimate, estimate_of, log_ratios, ratio_of
from service.domain.verdict.inference.interim_looks import Look, difference_errors, looks, with_shares
from service.domain.verdict.inference.reasons import Fact, Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.project.policy import Policy

SAME_ERROR: Final = 0.05  # probability of "same" for one benchmark that changed by same_within or more
# A few pairs may agree by chance: their spread is taken to be at least that of a quiet machine, and an
# estimate above 1.2 % is measured on, or changes of 2 % would too often end as "same".
_QUIET_SPREAD: Final = 0.0015
_NEAR: Final = 0.012
_MANY: Final = 16  # pairs from which on neither is needed
_STRAY: Final = 0.67  # standard errors: the half-width of the central 50 %
# The truth may exceed the estimate by this many standard errors. With 1.0, slow-downs remained undecided
# although more than half of the granted time was left (`make bench-power`); 2.0 finds hardly more, and
# takes longer.
_HOPE: Final = 1.5
_REACH: Final = 3.0  # standard errors; the truth does not exceed the estimate by more


class Verdict(StrEnum):
    """Verdict on one metric of one benchmark."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    UNDECIDED = "undecided"
    NEW = "new"
    REMOVED = "removed"
    BROKEN = "broken"
    FAILING = "failing"  # on both sides, so the change is not the cause

    @property
    def is_decided(self) -> bool:
        """Return whether the verdict is final: more pairs cannot change it."""
        return self is not Verdict.UNDECIDED

    @staticmethod
    def of_change(metric: Metric, *, is_up: bool) -> Verdict:
        """Return ``slower`` or ``faster`` for a value that rose or fell."""
        return Verdict.SLOWER if is_up == (metric.better is Better.LOWER) else Verdict.FASTER


class ComparedRow(NamedTuple):
    """One metric of one benchmark of a suite."""

    suite: str
    benchmark: str
    metric: Metric

    def without_pairs(self, verdict: Verdict, kind: ReasonKind, *facts: Fact) -> Comparison:
        """Make a comparison without pairs, with one reason."""
        return Comparison(self, verdict, reasons=(Reason(kind, facts),))


class Comparison(NamedTuple):
    """Base against patch for one row.

    A named tuple, because files hold tens of thousands: a frozen dataclass takes four times as long to make.

    ``ratio`` is patch ÷ base and ``interval`` its 95 % interval, valid at every look; both are None if there
    was nothing to compare. ``pairs`` counts the complete pairs behind the verdict; ``base`` and ``patch`` are
    the sides' medians over launches. ``reasons`` explain the verdict if numbers alone do not.
    ``spread`` is the scatter of single pairs (log scale), and ``error`` the standard error of the ratio's
    logarithm; None without an interval by pairs.
    ``more_pairs`` estimates how many more would decide, infinite if no reasonable number would; None if more
    pairs would not help. ``pairs_to_slower`` is how many more may prove a slow-down that votes, by an
    optimistic estimate. ``quiet_spread`` is the spread at which the pairs that every benchmark may get would
    decide.
    ``per`` names a rate; a time is divided by its unit of work. Empty: the time of an iteration.
    ``may_only_patch_scatter``: more pairs may show that only the patch scatters, which prevents a +1.
    """

    row: ComparedRow
    verdict: Verdict
    pairs: int = 0
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    base: float | None = None
    patch: float | None = None
    reasons: tuple[Reason, ...] = ()
    more_pairs: float | None = None
    spread: float | None = None
    per: str = ""
    pairs_to_slower: float | None = None
    quiet_spread: float | None = None
    may_only_patch_scatter: bool = False
    error: float | None = None

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.interval[0] if self.interval else None

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.interval[1] if self.interval else None

    @property
    def worsening(self) -> float:
        """Worsening as a share of the base (0.04: 4 %); negative if it improved."""
        if self.ratio is None:
            return 0.0
        return self._worsening_to(self.ratio)

    @property
    def growth(self) -> float:
        """Growth of the time, as a share of the base; a rate that halves is a time that grew by 1."""
        if self.ratio is None:
            return 0.0
        return self.ratio - 1 if self.row.metric.better is Better.LOWER else 1 / self.ratio - 1

    @property
    def could_worsen_by(self) -> float:
        """Worst end of the interval, as :attr:`worsening`; infinite without an interval."""
        if self.interval is None:
            return math.inf
        return max(self._worsening_to(bound) for bound in self.interval)

    @property
    def surely_worsens_by(self) -> float:
        """Best end of the interval, as :attr:`worsening`; 0 without an interval."""
        if self.interval is None:
            return 0.0
        return min(self._worsening_to(bound) for bound in self.interval)

    @property
    def nearest(self) -> float:
        """Smallest absolute log ratio in the interval; 0 without an interval."""
        if self.interval is None:
            return 0.0
        low, high = map(math.log, self.interval)
        return 0.0 if low <= 0 <= high else min(abs(low), abs(high))

    def _worsening_to(self, ratio: float) -> float:
        return ratio - 1 if self.row.metric.better is Better.LOWER else 1 - ratio


def by_suite(comparisons: Iterable[Comparison]) -> dict[str, tuple[str, ...]]:
    """Map each suite to the benchmarks of its comparisons, in their order."""
    found: dict[str, dict[str, None]] = {}
    for each in comparisons:
        found.setdefault(each.row.suite, {})[each.row.benchmark] = None
    return {suite: tuple(names) for suite, names in found.items()}


def least_budget(policy: Policy, family: float) -> int:
    """Compute the smallest ``max_pairs`` that can find a difference."""
    return min(_errors_without_end(one_sided_error(policy, family)), default=MOST_PAIRS)


def first_decisive_look(policy: Policy, family: float) -> int:
    """Find the first look that can find a difference: fewer pairs prove nothing, however large it is."""
    schedule = looks(policy.max_pairs)
    errors = difference_errors(with_shares(schedule), one_sided_error(policy, family))
    return next(iter(errors), schedule[-1])


def compare_pairs(
    row: ComparedRow,
    base: Sequence[float | None],
    patch: Sequence[float | None],
    policy: Policy,
    family: float,
    schedule: Sequence[int] | None = None,
) -> Comparison:
    """Judge the pairs so far; once decided, the verdict is final.

    Element k of both sides belongs to pair k; a pair with a None is left out. ``family`` is the number
    of hypotheses that can vote in the patch set: the policy's false-alarm rate is halved for the two
    directions, divided by the family and spent over the looks (Bonferroni), so the probability that any
    unchanged benchmark of the family is ever called slower is at most half of it. ``schedule`` has the
    numbers of pairs to look at: by default :func:`looks`, and a single one for recorded, complete data.
    """
    pairs = [(b, p) for b, p in zip(base, patch, strict=True) if b is not None and p is not None]
    schedule = looks(policy.max_pairs) if schedule is None else schedule
    due = _due(schedule, len(pairs))
    if not due:
        return _too_few(row, pairs)
    errors = difference_errors(due, one_sided_error(policy, family))
    positive = list(takewhile(_is_positive, pairs[: due[-1].pairs]))
    ratios = log_ratios([b for b, _ in positive], [p for _, p in positive])
    for look in due:
        seen = pairs[: look.pairs]
        if look.pairs > len(ratios):
            return _without_ratio(row, seen, _why_no_ratio(row, pairs))
        estimated = estimate_of(ratios[: look.pairs])
        spent = errors.get(look.pairs, 0.0)
        verdict = decide(estimated, row.metric, policy, spent, look.same * SAME_ERROR)
        if verdict is Verdict.SAME:
            return _describe(row, verdict, seen, estimated, _same_bounds(estimated, look.same * SAME_ERROR))
        if verdict.is_decided:
            interval = estimated.interval(max(spent, _interval_error(look)))
            return _describe(row, verdict, seen, estimated, interval)
    interval = estimated.interval(_interval_error(look))
    undecided = _describe(row, Verdict.UNDECIDED, seen, estimated, interval)
    return undecided._replace(
        more_pairs=pairs_to_decide(estimated, policy, family),
        pairs_to_slower=pairs_to_slower(estimated, row, policy, family),
        quiet_spread=_spread_to_decide(estimated, interval, policy, family),
    )


def one_sided_error(policy: Policy, family: float, share: float = 1.0) -> float:
    """Compute the error of one direction of one hypothesis, or a share of it."""
    return share * policy.false_alarms / 2 / max(family, 1)


def _due(schedule: Sequence[int], pairs: int) -> Sequence[Look]:
    """List the looks up to ``pairs``. A single look is taken at all complete pairs."""
    if len(schedule) == 1:
        schedule = (min(schedule[0], pairs),)
    return [look for look in with_shares(schedule) if MIN_PAIRS <= look.pairs <= pairs]


def decide(
    estimated: Estimate, metric: Metric, policy: Policy, difference_error: float, same_error: float
) -> Verdict:
    """Judge the pairs of one look, given the errors that it may spend."""
    floor = math.log1p(policy.floor)
    if estimated.is_above(floor, difference_error):
        return Verdict.of_change(metric, is_up=True)
    if estimated.is_below(-floor, difference_error):
        return Verdict.of_change(metric, is_up=False)
    return Verdict.SAME if _is_same(estimated, policy, same_error) else Verdict.UNDECIDED


def _is_same(estimated: Estimate, policy: Policy, error: float) -> bool:
    if error == 0 or (estimated.pairs < _MANY and abs(estimated.centre) > _NEAR):
        return False
    low, high = _same_bounds(estimated, error)
    same, floor = math.log1p(policy.same_within), math.log1p(policy.floor)
    return -same < low and high < same and not (low > floor or high < -floor)


def _same_bounds(estimated: Estimate, error: float) -> tuple[float, float]:
    """Compute the interval that decides ``same`` and is shown beside it."""
    least = _QUIET_SPREAD / math.sqrt(estimated.pairs) if estimated.pairs < _MANY else 0.0
    return estimated.bounds(error, least)


def _describe(
    row: ComparedRow,
    verdict: Verdict,
    pairs: Sequence[tuple[float, float]],
    estimated: Estimate,
    interval: tuple[float, float],
) -> Comparison:
    low, high = interval
    return Comparison(
        row=row,
        verdict=verdict,
        pairs=estimated.pairs,
        ratio=estimated.ratio,
        interval=(ratio_of(low), ratio_of(high)),
        base=_median([b for b, _ in pairs]),
        patch=_median([p for _, p in pairs]),
        spread=estimated.spread,
        error=estimated.error,
    )


def _too_few(row: ComparedRow, pairs: Sequence[tuple[float, float]]) -> Comparison:
    if not pairs:
        return row.without_pairs(Verdict.UNDECIDED, ReasonKind.NO_PAIR)
    base, patch = _median([b for b, _ in pairs]), _median([p for _, p in pairs])
    reason = Reason(ReasonKind.TOO_FEW_PAIRS, (len(pairs), MIN_PAIRS))
    ratio = ratio_of(math.log(patch) - math.log(base)) if all(map(_is_positive, pairs)) else None
    return Comparison(row, Verdict.UNDECIDED, len(pairs), ratio, None, base, patch, (reason,))


def _is_positive(pair: tuple[float, float]) -> bool:
    return pair[0] > 0 and pair[1] > 0


def _without_ratio(row: ComparedRow, pairs: Sequence[tuple[float, float]], reason: Reason) -> Comparison:
    """Judge pairs with a zero, which has no ratio: equal values need none."""
    base, patch = _median([b for b, _ in pairs]), _median([p for _, p in pairs])
    if all(b == p for b, p in pairs):
        return Comparison(row, Verdict.SAME, len(pairs), 1.0, (1.0, 1.0), base, patch)
    return Comparison(row, Verdict.UNDECIDED, len(pairs), None, None, base, patch, (reason,))


def _why_no_ratio(row: ComparedRow, pairs: Sequence[tuple[float, float]]) -> Reason:
    """Find why zeros decide nothing; a patch that brought them about gets no +1.

    A cost that is zero in every launch of the patch is gone, which is no fault.
    """
    only_patch = sum(b > 0 >= p for b, p in pairs)
    is_gone = row.metric.better is Better.LOWER and all(p == 0 for _, p in pairs)
    if only_patch and not is_gone and all(b > 0 for b, _ in pairs):
        return Reason(ReasonKind.ONLY_PATCH_ZERO, (only_patch, len(pairs)))
    return Reason(ReasonKind.NO_RATIO)


def _interval_error(look: Look) -> float:
    """Compute the error of each end of the shown interval: 5 % in total, over all looks and both ends."""
    return 0.025 * (look.same + look.difference) / 2


def pairs_to_decide(estimated: Estimate, policy: Policy, family: float) -> float:
    """Estimate how many more pairs would decide: those to the first look with a narrow enough interval."""
    centre = abs(estimated.centre)
    beyond, within = centre - math.log1p(policy.floor), math.log1p(policy.same_within) - centre
    errors = _errors_without_end(one_sided_error(policy, family))
    for look in _looks_without_end():
        if look.pairs > estimated.pairs:
            spent, same = errors.get(look.pairs, 0.0), look.same * SAME_ERROR
            is_different = spent > 0 and estimated.reach_of(look.pairs, spent) < beyond
            if is_different or (same > 0 and estimated.reach_of(look.pairs, same) < within):
                return look.pairs - estimated.pairs
    return math.inf


def _spread_to_decide(
    estimated: Estimate, interval: tuple[float, float], policy: Policy, family: float
) -> float:
    """Estimate the spread at which the pairs so far, or those that all may get, decide with 50 % power.

    The estimate is taken for the truth. But if the interval includes "no change", that is: the estimate is
    then noise, which a quieter machine would not have. 0 if no spread decides.
    """
    is_unchanged = interval[0] <= 0 <= interval[1]
    centre = 0.0 if is_unchanged else abs(estimated.centre)
    beyond, within = centre - math.log1p(policy.floor), math.log1p(policy.same_within) - centre
    errors = _errors_without_end(one_sided_error(policy, family))
    least = 0.0
    for look in _looks_without_end():
        if look.pairs > max(policy.base_pairs, estimated.pairs):
            break
        # Both ends must lie within the margins even if the estimate strays from no change.
        stray = _STRAY * estimated.error_of(look.pairs) if is_unchanged else 0.0
        for margin, spent in ((beyond, errors.get(look.pairs, 0.0)), (within, look.same * SAME_ERROR)):
            if spent and (reach := estimated.reach_of(look.pairs, spent)):
                least = max(least, estimated.spread * margin / (reach + stray))
    return least


def pairs_to_slower(estimated: Estimate, row: ComparedRow, policy: Policy, family: float) -> float:
    """Estimate optimistically how many more pairs may prove a slow-down that votes.

    The truth is taken to exceed the estimate by :data:`_HOPE` standard errors. Infinite if the estimate is no
    worsening, or too far below what votes.
    """
    centre = estimated.centre if row.metric.better is Better.LOWER else -estimated.centre
    if centre <= 0 or centre + _REACH * estimated.error < math.log1p(policy.votes_from(row.benchmark)):
        return math.inf
    beyond = centre + _HOPE * estimated.error - math.log1p(policy.floor)
    for pairs, spent in _errors_without_end(one_sided_error(policy, family)).items():
        if pairs > estimated.pairs and estimated.reach_of(pairs, spent) < beyond:
            return pairs - estimated.pairs
    return math.inf


@lru_cache(maxsize=1)
def _looks_without_end() -> tuple[Look, ...]:
    """List the looks up to the most pairs that a policy may ask for."""
    return with_shares(looks(MOST_PAIRS))


@lru_cache(maxsize=64)
def _errors_without_end(error: float) -> Mapping[int, float]:
    return difference_errors(_looks_without_end(), error)


def _median(values: Sequence[float]) -> float:
    low, high = median_low(values), median_high(values)
    return low + (high - low) / 2  # the sum of two large values may overflow
