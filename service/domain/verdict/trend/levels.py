"""Level a series: how far each commit is from a reference, by all commits that were measured together.

As in surveying, heights follow from measured differences. Adding them up along the branch is a random walk:
200 links of ±0.5 % end at ±7 %. Anchors compare commits that are far apart, and a sum of links must agree
with them. Both are adjusted together, by least squares with condition equations (Ghilani, "Adjustment
Computations", 6th edition, chapters 12 and 16).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import chdtrc, stdtrit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Positions = NDArray[np.intp]

# Times the largest variance of a measured link, and at least this: the variance of one that nobody measured.
_UNKNOWN: Final = 100.0
_UPPER: Final = 0.975
_NORMAL: Final = 1.96  # quantile of the normal distribution
_LEAST: Final = 1e-12  # variance of an anchor between equal programs: two of them must not be singular
_PRIOR: Final = 20  # degrees of freedom for which the spread of the others counts
_BLOCK: Final = 2000  # commits that are adjusted at once: each needs a number for each anchor
_CHANCE: Final = 0.01  # above it, contradictions count as chance


@dataclass(frozen=True, slots=True)
class Link:
    """Two commits that were measured in pairs, by their positions on the branch.

    ``log`` is ln(patch ÷ base), and ``error`` its standard error by ``pairs`` pairs; 0 if their programs are
    equal.
    """

    base: int
    patch: int
    log: float
    error: float
    pairs: int = 0


@dataclass(frozen=True, slots=True)
class Level:
    """ln(commit ÷ reference) and its standard error."""

    log: float
    error: float


@dataclass(frozen=True, slots=True)
class Levelled:
    """The level of each commit; None if no links join it to the reference.

    ``misfit`` is how many times the contradictions between links and anchors exceed what the links' errors
    explain; 1 if chance may be the cause. All errors are multiplied by it.
    """

    levels: tuple[Level | None, ...]
    misfit: float


def pool_errors(links: Iterable[Link]) -> list[Link]:
    """Draw the spread of each link's pairs to that of the other links, and widen it to Student's t.

    Pairs that agree by chance end a link early, so the links with few pairs have too small errors, and would
    outweigh the others. The squares of all links over all their degrees of freedom have no such bias, because
    the sum of squares less its expectation is a martingale. Both are combined as in Smyth, "Linear models and
    empirical Bayes methods" (Statistical Applications in Genetics and Molecular Biology 3, 2004). A link
    without pairs, as of equal programs, keeps its error.
    """
    found = [*links]
    counted = [each for each in found if each.pairs > 1]
    squares = sum(each.error**2 * each.pairs * (each.pairs - 1) for each in counted)
    freedom = sum(each.pairs - 1 for each in counted)

    @cache
    def widening(degrees: int) -> float:
        return float(stdtrit(degrees, _UPPER)) / _NORMAL

    def pooled(each: Link) -> Link:
        if each.pairs <= 1:
            return each
        own = each.pairs - 1
        spread = each.error**2 * each.pairs
        others = (squares - spread * own) / (freedom - own) if freedom > own else 0.0
        prior = min(_PRIOR, freedom - own)
        variance = max((prior * others + own * spread) / (prior + own) / each.pairs, 0.0)
        error = widening(prior + own) * variance**0.5
        return Link(each.base, each.patch, each.log, error, each.pairs)  # a tenth of the time of replace()

    return [*map(pooled, found)]


def level(commits: int, links: Sequence[Link], reference: int) -> Levelled:
    """Level ``commits`` commits, the oldest first, relative to the one at position ``reference``.

    Several links of the same two neighbours are averaged. An anchor is a link of commits that are not
    neighbours. Takes O(commits · anchors²).

    Raises:
        ValueError: a position is not on the branch, or a link does not lead forward.
    """
    if not 0 <= reference < commits:
        raise ValueError(f"the reference {reference} is none of {commits} commits")
    if bad := next((each for each in links if not 0 <= each.base < each.patch < commits), None):
        raise ValueError(f"{bad} does not lead forward among {commits} commits")
    steps, variances = _chain(commits, links)
    height, spread = (np.concatenate(([0.0], np.cumsum(each))) for each in (steps, variances))
    # Along the path from the reference to a commit the variances add up.
    logs = height - height[reference]
    variance = np.abs(spread - spread[reference])
    misfit = 1.0
    part, redundant = joined_parts(commits, links)
    if anchors := [each for each in links if each.patch > each.base + 1]:
        starts, ends = (np.array([getattr(each, name) for each in anchors]) for name in ("base", "patch"))
        closure = np.array([each.log for each in anchors]) - (height[ends] - height[starts])
        own = np.diag([max(each.error**2, _LEAST) for each in anchors])
        weight = np.linalg.inv(own + _shared(spread, (starts[:, None], ends[:, None]), (starts, ends)))
        for begin in range(0, commits, _BLOCK):
            commit = np.arange(begin, min(begin + _BLOCK, commits))
            path = np.minimum(commit, reference)[:, None], np.maximum(commit, reference)[:, None]
            reach = np.sign(commit - reference)[:, None] * _shared(spread, path, (starts, ends))
            logs[commit] += reach @ (weight @ closure)
            variance[commit] -= ((reach @ weight) * reach).sum(axis=1)
        variance = np.maximum(variance, 0.0)
        misfit = _misfit(float(closure @ weight @ closure), redundant)
    errors = (misfit * np.sqrt(variance)).tolist()
    levels = (
        Level(log, error) if of == part[reference] else None
        for log, error, of in zip(logs.tolist(), errors, part, strict=True)
    )
    return Levelled(tuple(levels), misfit)


def _chain(commits: int, links: Sequence[Link]) -> tuple[Floats, Floats]:
    """Average the links of neighbours: step k leads from commit k to the next; 0 if nobody measured it."""
    weights, sums = np.zeros(commits - 1), np.zeros(commits - 1)
    for each in links:
        if each.patch == each.base + 1:
            weight = 1 / max(each.error**2, _LEAST)
            weights[each.base] += weight
            sums[each.base] += weight * each.log
    is_measured = weights > 0
    # Far above the others, and low enough that rounding leaves their variances correct.
    weights[~is_measured] = 1 / (_UNKNOWN * max(1.0, *(each.error**2 for each in links), 0.0))
    return sums / weights, 1 / weights


def _shared(spread: Floats, one: tuple[Positions, Positions], other: tuple[Positions, Positions]) -> Floats:
    """Return the covariance of two paths: the variance of the links on both."""
    first = np.maximum(one[0], other[0])
    last = np.minimum(one[1], other[1])
    return np.where(first < last, spread[last] - spread[first], 0.0)


def joined_parts(commits: int, links: Sequence[Link]) -> tuple[list[int], int]:
    """Return the part of each commit that links join, and how many pairs of commits could be left out."""
    part = list(range(commits))

    def part_of(commit: int) -> int:
        while part[commit] != commit:
            part[commit] = commit = part[part[commit]]
        return commit

    redundant = 0
    for base, patch in sorted({(each.base, each.patch) for each in links}):
        one, other = part_of(base), part_of(patch)
        part[one] = other
        redundant += one == other
    return [*map(part_of, range(commits))], redundant


def _misfit(square: float, redundant: int) -> float:
    """Return the square root of the weighted contradictions' mean square, or 1 if chance explains it."""
    if redundant < 1 or float(chdtrc(redundant, square)) >= _CHANCE:
        return 1.0
    return float((square / redundant) ** 0.5)
