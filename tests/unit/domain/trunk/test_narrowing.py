"""Narrow a range of commits down to the one that made it slower."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from service.domain.trunk.narrowing import Narrowing, most_links, narrow
from service.domain.verdict.trend.levels import Link

if TYPE_CHECKING:
    from collections.abc import Sequence

ERROR = 0.003


def _link(steps: Sequence[float], base: int, patch: int, error: float = ERROR, noise: float = 0.0) -> Link:
    return Link(base, patch, sum(steps[base:patch]) + noise * error, error, 20)


def _narrowed(
    steps: Sequence[float], error: float = ERROR, lost: frozenset[tuple[int, int]] = frozenset()
) -> tuple[Narrowing, list[tuple[int, int]]]:
    """Measure until the answer is final, each link a little off; return the answer and what was tried."""
    links, tried = [_link(steps, 0, len(steps), error)], list[tuple[int, int]]()
    while (found := narrow(len(steps), links, lost.intersection(tried))).then is not None:
        tried.append(found.then)
        if found.then not in lost:
            links.append(_link(steps, *found.then, error, (-1) ** len(links) / 2))
    return found, tried


def _pairs(commits: int, end: int) -> frozenset[tuple[int, int]]:
    return frozenset(pair for pair in combinations(range(commits + 1), 2) if end in pair)


@pytest.mark.parametrize("place", [0, 5, 6, 15])
def test_one_step_is_found_in_a_few_links_and_compared_with_its_parent(place: int) -> None:
    steps = [0.03 if number == place else 0.0 for number in range(16)]
    found, measured = _narrowed(steps)
    assert found == Narrowing(place, place + 1, None)
    assert (place, place + 1) in measured
    assert len(measured) <= 8


def test_no_pair_is_measured_twice() -> None:
    _, measured = _narrowed([0.0] * 11 + [0.02] + [0.0] * 20, error=0.008)
    assert len({*measured}) == len(measured)


@pytest.mark.parametrize("steps", [[0.003] * 16, [0.02, *[0.0] * 14, 0.02]])
def test_several_commits_are_blamed_for_nothing(steps: Sequence[float]) -> None:
    found, measured = _narrowed(steps)
    assert (found.begin, found.end, found.is_one_step) == (0, 16, False)
    assert len(measured) <= 4


def test_links_that_are_too_noisy_end_without_an_answer() -> None:
    found, measured = _narrowed([0.02] + [0.0] * 15, error=0.02)
    assert found.commits == 16
    assert len(measured) <= most_links(16) + 3


def test_commits_that_cannot_be_built_stay_together() -> None:
    """Nothing ends or begins at commit 6: whether it or the next one did it, nobody can tell."""
    steps = [0.03 if number == 6 else 0.0 for number in range(16)]
    found, tried = _narrowed(steps, lost=_pairs(16, 6))
    assert (found.begin, found.end, found.is_one_step) == (5, 7, True)
    assert (5, 7) in tried
    assert sum(6 in pair for pair in tried) == 2, "two losses are enough"


def test_a_range_of_which_nothing_can_be_built_ends() -> None:
    every = frozenset(pair for commit in range(17) for pair in _pairs(16, commit)) - {(0, 16)}
    found, tried = _narrowed([0.03] + [0.0] * 15, lost=every)
    assert (found.begin, found.end) == (0, 16)
    assert len(tried) <= most_links(16) + 3


def test_nothing_is_concluded_from_a_pair_that_was_lost() -> None:
    """Only the direct comparison of the two is lost: what narrowing names was compared directly."""
    steps = [0.03 if number == 6 else 0.0 for number in range(16)]
    found, tried = _narrowed(steps, lost=frozenset({(6, 7)}))
    assert (6, 7) in tried
    assert found.commits > 1
    assert (found.begin, found.end) in {*tried, (0, 16)} - {(6, 7)}


def test_equal_programs_decide_at_once() -> None:
    steps = [0.03, 0.0]
    links = [_link(steps, 0, 2), Link(1, 2, 0.0, 0.0)]
    assert narrow(2, links) == Narrowing(0, 1, (0, 1))


def test_two_commits_are_a_range_too() -> None:
    assert narrow(2, [_link([0.03, 0.0], 0, 2)]).then == (0, 1)


def test_a_range_without_its_own_link_is_an_error() -> None:
    with pytest.raises(ValueError, match="no link is over all 4 commits"):
        narrow(4, [Link(0, 3, 0.03, ERROR)])
