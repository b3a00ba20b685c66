"""Compute the p-value behind every −1: a randomisation test on the signed ranks of the pairs' log ratios.

Benchgate draws at random which side of a pair is launched first. If patch and base do not differ, the sign of
a pair's log ratio is therefore random too, whatever the noise: heavy tails, two levels, drift, a first
launch that is always slower. Wilcoxon ("Individual comparisons by ranking methods", Biometrics 1, 1945)
weighs each sign by the rank of its absolute value. Here ranks are capped at a quarter of the number of pairs,
so that a disturbed pair weighs no more than an ordinary one. Scores that depend only on absolute values keep
the probability exact (Hájek, Šidák and Sen, "Theory of Rank Tests", 2nd edition, 1999, on signed rank
statistics).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

CAP: Final = 0.25  # of the number of pairs; chosen on recorded pairs, many of them disturbed
_LISTED_PAIRS: Final = 128  # above, NumPy is faster than lists; below, it is not worth its import
_TABLES: Final = 64  # there are thirty looks up to a thousand pairs


def least_pairs(error: float) -> int:
    """Compute how many equal signs are improbable enough: the least n with 2⁻ⁿ ≤ ``error``."""
    return math.ceil(-math.log2(error))


def capped_rank_tail(differences: Sequence[float], cap: float = CAP) -> float:
    """Compute the one-sided p-value of the capped signed-rank test that the centre is above zero.

    Ties are ranked to our disadvantage and a zero counts as negative, so p is never too small.

    Args:
        differences: the values.
        cap: ranks above this share of their number all weigh the same.
    """
    scores = _scores(len(differences), cap)
    # By absolute value, positive before negative. Two sorts are faster than one with a tuple as key.
    ordered = sorted(sorted(differences, reverse=True), key=abs)
    return float(_tails(scores)[sum(score for score, x in zip(scores, ordered, strict=True) if x > 0)])


def rank_interval(values: Sequence[float], error: float) -> tuple[float, float] | None:
    """Invert the test: the centres that it does not reject at ``error`` per side; None with too few values.

    The ends are two of the Walsh averages, the means of every two values (Hodges and Lehmann, "Estimates of
    location based on rank tests", Annals of Mathematical Statistics 34, 1963).
    """
    if len(values) < least_pairs(error):
        return None
    means = sorted((x + y) / 2 for i, x in enumerate(values) for y in values[i:])
    # The first that is not rejected, from either end; the last if all others are.
    ends = range(len(means) - 1)
    low = bisect_left(ends, x=True, key=lambda k: capped_rank_tail([x - means[k] for x in values]) > error)
    high = bisect_left(
        ends, x=True, key=lambda k: capped_rank_tail([means[-1 - k] - x for x in values]) > error
    )
    return means[low], means[-1 - high]


@lru_cache(maxsize=1024)
def _scores(n: int, cap: float) -> tuple[int, ...]:
    most = math.ceil(cap * n)
    return tuple(min(rank, most) for rank in range(1, n + 1))


@lru_cache(maxsize=_LISTED_PAIRS + _TABLES)
def _tails(scores: tuple[int, ...]) -> Sequence[float]:
    """Tabulate, by sum of scores, the probability of that sum or a higher one with random signs."""
    if len(scores) > _LISTED_PAIRS:
        return _many_tails(scores)
    chances = [1.0]
    for score in scores:
        without = chances + [0.0] * score
        with_it = [0.0] * score + chances
        chances = [(a + b) / 2 for a, b in zip(without, with_it, strict=True)]
    # Summed from the rare end: in the other order, rounding would swallow small probabilities.
    tails = list(accumulate(reversed(chances)))
    return tuple(reversed(tails))


def _many_tails(scores: tuple[int, ...]) -> Sequence[float]:
    import numpy as np  # noqa: PLC0415 - takes longer to load than most sequences need

    chances = np.ones(1)
    for score in scores:
        both = np.zeros(len(chances) + score)
        both[: len(chances)] += chances
        both[score:] += chances
        chances = both / 2
    tails: list[float] = np.cumsum(chances[::-1])[::-1].tolist()
    return tails
