"""The randomisation test behind a −1: the probability that random signs point one way as clearly as these.

Benchgate draws at random which side of a pair is launched first. If patch and base do not differ, the sign of
a pair's log ratio is therefore random, too, whatever the noise: heavy tails, two levels, drift, a first
launch that is always slower. Wilcoxon ("Individual comparisons by ranking methods", Biometrics 1, 1945)
weighs each sign with the rank of its value's size. Here ranks beyond a share of the number of pairs, a
quarter, all weigh the same, so that a disturbed pair weighs no more than an ordinary one. Scores that depend
on the sizes alone keep the chance exact (Hájek, Šidák and Sen, "Theory of Rank Tests", 2nd edition, 1999, on
signed rank statistics).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

CAP: Final = 0.25  # of the number of pairs: chosen on recorded pairs, many of them disturbed
_LISTED_PAIRS: Final = 128  # beyond, sums of arrays are quicker than sums of lists, which need no library
_TABLES: Final = 64  # of the looks up to a thousand pairs there are thirty


def least_pairs(error: float) -> int:
    """The least number of pairs that random order alone explains with at most that probability."""
    return math.ceil(-math.log2(error))


def capped_rank_tail(differences: Sequence[float], cap: float = CAP) -> float:
    """The chance of a sum of positive scores as high as this, for values symmetric about zero or below.

    Ties are ranked to our disadvantage and a zero counts as negative: the chance is never understated.

    Args:
        differences: the values.
        cap: the share of the ranks beyond which all weigh the same.
    """
    scores = _scores(len(differences), cap)
    # By size; of equal sizes, the positive one comes first. Two sorts are quicker than one by both.
    ordered = sorted(sorted(differences, reverse=True), key=abs)
    return float(_tails(scores)[sum(score for score, x in zip(scores, ordered, strict=True) if x > 0)])


def rank_interval(values: Sequence[float], error: float) -> tuple[float, float] | None:
    """All centres that the values do not rule out, each end with that probability; None: too few values.

    The ends are two of the means of each two values (Hodges and Lehmann, "Estimates of location based on
    rank tests", Annals of Mathematical Statistics 34, 1963).
    """
    if len(values) < least_pairs(error):
        return None
    means = sorted((x + y) / 2 for i, x in enumerate(values) for y in values[i:])
    # The first that is not ruled out, from either end; if all others are, the last.
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
    """By sum of scores, the chance of that sum or a higher one if the sign of each is random."""
    if len(scores) > _LISTED_PAIRS:
        return _many_tails(scores)
    chances = [1.0]
    for score in scores:
        without = chances + [0.0] * score
        with_it = [0.0] * score + chances
        chances = [(a + b) / 2 for a, b in zip(without, with_it, strict=True)]
    # Summed from the rare end: in the other order, small chances would be lost in large ones.
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
