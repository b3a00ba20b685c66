"""Narrow a range of commits that are slower together down to the commit that did it.

One step at an unknown commit is the only model: links over it show its whole size, others show none. Each
link has a number of pairs that does not depend on its results, so choosing the next one by the results before
it biases no estimate. The posterior of the commit is that of a change point with a flat prior and unknown
size; its size is integrated out.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, chain, combinations
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.domain.verdict.trend.levels import Link

SECONDS_A_DAY: Final = 2 * 3600.0  # in a pool: a dozen links, and most of an idle night is left for others
MOST_CUT_SHORT: Final = 5  # comparisons of a range that other builds ended: the pool is not idle enough
SURE: Final = 0.99  # probability of the commits that are left
_CONTRADICTION: Final = (
    0.002  # below it, one step does not explain the links: errors are estimated by 20 pairs
)
_MOST_ELSEWHERE: Final = 0.5  # times the step: what the other commits may have together
_SURE_ERRORS: Final = 1.96  # for 97.5 %
_MORE: Final = 6  # links beyond two for each halving: then the machine time is better spent elsewhere
_MOST_LOST: Final = 2  # pairs with a commit that were lost: it does not build, or does not run
_LAST: Final = 3  # further links, to compare what is left then directly
_LEAST_ERROR: Final = 1e-4  # of equal programs


@dataclass(frozen=True, slots=True)
class Narrowing:
    """One of the commits after ``begin`` up to ``end`` has the step.

    ``then`` is the pair of commits to measure next; None: further ones cannot separate them.
    ``is_one_step`` is False if the other commits may have a large part of it: nothing is narrowed then.
    """

    begin: int
    end: int
    then: tuple[int, int] | None
    is_one_step: bool = True

    @property
    def commits(self) -> int:
        """The number of commits that are left."""
        return self.end - self.begin


def most_links(commits: int) -> int:
    """Return how many links a range of commits may take, with those that are lost."""
    return 2 * math.ceil(math.log2(max(commits, 2))) + _MORE


def narrow(commits: int, links: Sequence[Link], lost: Collection[tuple[int, int]] = ()) -> Narrowing:
    """Say which of the commits 1 to ``commits`` may have the step, and which pair to measure next.

    Commit 0 is the one before the range. Takes O(commits · (commits + links)).

    Args:
        commits: of the range.
        links: measured with a fixed number of pairs each, one of them over the whole range. ``log`` is that
            of a slow-down.
        lost: pairs of commits that were tried and cannot be measured.

    Raises:
        ValueError: no link is over the whole range.
    """
    if not any((each.base, each.patch) == (0, commits) for each in links):
        raise ValueError(f"no link is over all {commits} commits")
    fits = [_fit(place, links) for place in range(1, commits + 1)]
    if _contradicts(min(square for square, _ in fits), len(links) - 1):
        return Narrowing(0, commits, None, is_one_step=False)
    best = max(likelihood for _, likelihood in fits)
    weights = [math.exp(likelihood - best) for _, likelihood in fits]
    below = [each / sum(weights) for each in accumulate(weights, initial=0.0)]
    measured = {(each.base, each.patch) for each in links}
    ends = _ends(commits, measured, lost)
    begin, end = _shortest(below)
    begin, end = max(each for each in ends if each <= begin), min(each for each in ends if each >= end)
    pairs = [pair for pair in combinations(ends, 2) if pair not in measured and pair not in lost]
    spent = len(links) + len(lost)
    is_told = (begin, end) in measured and _has_most(begin, end, commits, links)
    then = None
    if any(begin < each < end for each in ends) and spent <= most_links(commits):
        then = _halving(below, pairs)
    elif (begin, end) not in measured and spent <= most_links(commits) + _LAST:
        then = _direct(begin, end, pairs)  # whatever the others say
    elif not is_told and spent <= most_links(commits) + _LAST:
        then = _without(begin, end, pairs)
    if then is None and not is_told:
        return Narrowing(0, commits, None, is_one_step=False)
    return Narrowing(begin, end, then)


def _ends(
    commits: int, measured: Collection[tuple[int, int]], lost: Collection[tuple[int, int]]
) -> Sequence[int]:
    """Return the commits that pairs may begin or end at: those that were lost twice are left out."""
    losses = Counter(chain.from_iterable(lost))
    can_be_built = {*chain.from_iterable(measured)}
    return [each for each in range(commits + 1) if each in can_be_built or losses[each] < _MOST_LOST]


def _fit(place: int, links: Sequence[Link]) -> tuple[float, float]:
    """Return the weighted sum of squares around a step at a commit, and the commit's log likelihood."""
    squares = weight = product = 0.0
    for each in links:
        precision = max(each.error, _LEAST_ERROR) ** -2
        squares += precision * each.log**2
        if each.base < place <= each.patch:
            weight += precision
            product += precision * each.log
    rest = squares - product**2 / weight
    return rest, -(rest + math.log(weight)) / 2


def _contradicts(square: float, freedom: int) -> bool:
    from scipy.special import chdtrc  # noqa: PLC0415 - loads SciPy

    return freedom > 0 and float(chdtrc(freedom, square)) < _CONTRADICTION


def _has_most(begin: int, end: int, commits: int, links: Sequence[Link]) -> bool:
    """Return whether the commits after ``begin`` up to ``end`` certainly have most of the slow-down.

    Two unknowns by weighted least squares: theirs, and that of all others, evenly spread.
    """
    others = commits - (end - begin)
    if not others:
        return True
    own = cross = rest = own_product = rest_product = 0.0
    for each in links:
        overlap = max(0, min(end, each.patch) - max(begin, each.base))
        if 0 < overlap < end - begin:
            continue  # nobody knows which part of theirs it has
        x, z = float(overlap > 0), (each.patch - each.base - overlap) / others
        precision = max(each.error, _LEAST_ERROR) ** -2
        own, cross, rest = own + precision * x, cross + precision * x * z, rest + precision * z**2
        own_product, rest_product = (
            own_product + precision * x * each.log,
            rest_product + precision * z * each.log,
        )
    determinant = own * rest - cross**2
    if determinant <= 0.0:
        return False
    step = (rest * own_product - cross * rest_product) / determinant
    elsewhere = (own * rest_product - cross * own_product) / determinant
    return elsewhere + _SURE_ERRORS * math.sqrt(own / determinant) <= _MOST_ELSEWHERE * step


def _direct(begin: int, end: int, pairs: Collection[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the pair over some commits; if that was lost, one that tells which end cannot be built."""
    wanted = ((begin, end), (begin, end + 1), (begin - 1, end))
    return next((pair for pair in wanted if pair in pairs), None)


def _without(begin: int, end: int, pairs: Collection[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the longest pair of commits that does not lead over some; None: there is none."""
    others = (pair for pair in pairs if pair[1] <= begin or pair[0] >= end)
    return max(others, key=lambda pair: pair[1] - pair[0], default=None)


def _shortest(below: Sequence[float]) -> tuple[int, int]:
    """Return the shortest stretch that has the step with the probability of SURE; the likeliest of those."""
    commits = len(below) - 1
    for length in range(1, commits):
        found = max(range(commits - length + 1), key=lambda first: below[first + length] - below[first])
        if below[found + length] - below[found] >= SURE:
            return found, found + length
    return 0, commits


def _halving(below: Sequence[float], pairs: Collection[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the shortest pair of commits that has the step in one of two cases; None: there is none."""
    return min(
        pairs,
        key=lambda pair: (round(abs(below[pair[1]] - below[pair[0]] - 0.5), 2), pair[1] - pair[0], pair),
        default=None,
    )
