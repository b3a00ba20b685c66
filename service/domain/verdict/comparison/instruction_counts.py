"""Compare the instruction counts of benchmarks, if they repeat well enough."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Final

from service.domain.measuring.metric import Better, Metric
from service.domain.values.identity import Side
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.measuring.callgrind import Counted, Counts, Trial
    from service.domain.measuring.listing import Listing


LAUNCHES: Final = 2  # per side: one cannot show that a count repeats
AGREEMENT: Final = 0.001  # launches of one program that do the same work differ by far less
METRIC: Final = Metric("instructions", "", Better.LOWER)
# Instructions of a trial, next to which the hundreds that start the clock and the thousands that only a first
# iteration needs are negligible.
LONG: Final = 1_000_000
_TRIED: Final = 2  # of the longest trials; a count that repeats in none of them does not repeat
_ROUNDING: Final = 1e-12  # rounding of a quotient must not decide


def compare_counts(listings: Sequence[Listing], counts: Counts, floor: float) -> tuple[Comparison, ...]:
    """Compare every benchmark that has counts, in the order of the listings."""
    return tuple(
        _compare(each.suite, name, *_sides(counts, each.suite, name), floor)
        for each in listings
        for name in each.common
        if any(name in counts.get((each.suite, side), {}) for side in Side)
    )


def added_share(counts: Counts, suite: str, benchmark: str) -> float | None:
    """Compute the relative growth of an iteration's instructions; None if unknown."""
    settled = _settled(*_sides(counts, suite, benchmark))
    if isinstance(settled, Reason) or min(settled) <= 0:
        return None
    before, after = settled
    return after / before - 1


def _sides(counts: Counts, suite: str, benchmark: str) -> tuple[Counted | None, Counted | None]:
    base, patch = (counts.get((suite, side), {}).get(benchmark) for side in (Side.BASE, Side.PATCH))
    return base, patch


def _compare(
    suite: str, benchmark: str, base: Counted | None, patch: Counted | None, floor: float
) -> Comparison:
    """Compare the instructions per iteration of both sides exactly.

    Counts that repeat need no interval: differences within :data:`AGREEMENT` or within ``floor`` are the
    same. Counts that do not repeat or are missing leave the row undecided, with a reason that also names
    whether the patch alone is the cause.
    """
    row = ComparedRow(suite, benchmark, METRIC)
    settled = _settled(base, patch)
    if isinstance(settled, Reason):
        is_of_patch = _repeats(base) and not _repeats(patch)
        causes = (Reason(ReasonKind.ONLY_PATCH_NOT_COUNTED),) if is_of_patch else ()
        return Comparison(row, Verdict.UNDECIDED, reasons=(*causes, settled))
    before, after = settled
    blind = (Reason(ReasonKind.BLIND_COUNTS),)
    if before == after:
        return Comparison(row, Verdict.SAME, 0, 1.0, (1.0, 1.0), before, after, blind)
    if min(before, after) <= 0:
        reasons = (Reason(ReasonKind.NO_INSTRUCTIONS),)
        return Comparison(row, Verdict.UNDECIDED, 0, None, None, before, after, reasons)
    ratio = after / before
    return Comparison(row, _verdict(ratio, floor), 0, ratio, (ratio, ratio), before, after, blind)


def _verdict(ratio: float, floor: float) -> Verdict:
    if abs(math.log(ratio)) <= math.log1p(floor) + _ROUNDING or _agree((1.0, ratio)):
        return Verdict.SAME
    return Verdict.of_change(METRIC, is_up=ratio > 1)


def _repeats(side: Counted | None) -> bool:
    """Return whether a side has counts that repeat."""
    return not isinstance(_settled(side, side), Reason)


def _settled(base: Counted | None, patch: Counted | None) -> tuple[float, float] | Reason:
    """Find the instructions per iteration of both sides if each repeats, else the reason for having none.

    Loops of equal length are compared first, the longest before the others, so that work that changes during
    a loop is equal too. Failing that, work that is the same after different numbers of iterations does not
    depend on them.
    """
    sides = [side for side in (base, patch) if side is not None]
    if why := next((side.why for side in sides if side.why), ""):
        return Reason(ReasonKind.NOT_COUNTED, (why,))
    if len(sides) < len(Side) or any(
        len(side.launches) < LAUNCHES or not all(side.launches) for side in sides
    ):
        return Reason(ReasonKind.NOT_COUNTED)
    rates = [[_rates(trials) for trials in side.launches] for side in sides]
    common = set.intersection(*(set(launch) for side in rates for launch in side))
    chosen = [[[launch[n] for launch in side] for side in rates] for n in sorted(common)[: -_TRIED - 1 : -1]]
    if all(len({trials[-1].iterations for trials in side.launches}) > 1 for side in sides):
        chosen.append([[_rate(trials[-1]) for trials in side.launches] for side in sides])
    for before, after in chosen:
        if _agree(before) and _agree(after):
            return fmean(before), fmean(after)
    return Reason(ReasonKind.NOT_DETERMINISTIC)


def _rates(trials: Sequence[Trial]) -> dict[int, float]:
    """Map the iterations of the long trials and the last one to their instructions per iteration."""
    return {
        each.iterations: _rate(each)
        for number, each in enumerate(trials, 1)
        if each.instructions >= LONG or number == len(trials)
    }


def _rate(trial: Trial) -> float:
    return trial.instructions / trial.iterations


def _agree(counts: Sequence[float]) -> bool:
    return max(counts) <= min(counts) * (1 + AGREEMENT + _ROUNDING)
