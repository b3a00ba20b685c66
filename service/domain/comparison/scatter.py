"""Scatter of the patch alone: a row that is undecided because the patch varies its own time gets no +1."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Final

from service.domain.inference.reasons import Reason, ReasonKind
from service.domain.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.inference.verdict import Comparison

# Standard deviations of a sum of random signs: about one in 2,000 rows, and one in 231 whatever the noise is.
_CERTAIN: Final = 3.3
_MUCH: Final = 2.0  # times the parent's scatter: a smaller excess seldom is what leaves a row undecided


def name_scatter(
    found: Comparison, base: Sequence[float | None], patch: Sequence[float | None]
) -> Comparison:
    """Add a reason of the patch to an undecided row if its own values scatter far more than its parent's.

    If there are too few pairs to be certain, the row says that more may show it.

    Each side's scatter is the distance of its log values from their median. If the patch changes nothing, the
    two sides of a pair can change places: then the signs of the differences of these distances are random,
    whatever the noise, and their sum is as far from zero as this with probability exp(−z² ÷ 2) at most
    (Hoeffding, "Probability inequalities for sums of bounded random variables", 1963).

    Args:
        found: the comparison of the row.
        base: the parent's values, element k of pair k; a pair with a None or without a ratio is left out.
        patch: the same of the patch.
    """
    pairs = [
        (math.log(b), math.log(p))
        for b, p in zip(base, patch, strict=True)
        if b is not None and p is not None and b > 0 and p > 0
    ]
    if found.verdict is not Verdict.UNDECIDED or not pairs:
        return found
    ours, theirs = (_distances([pair[side] for pair in pairs]) for side in (1, 0))
    more = [p - b for b, p in zip(theirs, ours, strict=True)]
    if sum(more) <= 0 or sum(ours) < _MUCH * sum(theirs):
        return found
    if sum(more) <= _CERTAIN * math.sqrt(sum(each**2 for each in more)):
        return found._replace(may_only_patch_scatter=True)
    times = sum(ours) / sum(theirs) if sum(theirs) else math.inf
    return found._replace(reasons=(*found.reasons, Reason(ReasonKind.ONLY_PATCH_SCATTERS, (times,))))


def _distances(values: Sequence[float]) -> list[float]:
    middle = median(values)
    return [abs(value - middle) for value in values]
