"""Choose the links of a backfill."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.domain.sources.commit import BranchCommit
from service.domain.trunk.backfill import Backfill, LinkTries, backfill_links, links_to_measure

START = datetime(2026, 1, 5, tzinfo=UTC)


def _line(commits: int) -> list[BranchCommit]:
    """The newest first: c9, c8, … c0."""
    names = [f"c{number}" for number in range(commits)]
    made = [
        BranchCommit(
            name, tuple(names[max(place - 1, 0) : place]), START + timedelta(hours=place), "Ann", name
        )
        for place, name in enumerate(names)
    ]
    return made[::-1]


def _links(
    last: int,
    every: int = 1,
    measured: tuple[str, ...] = (),
    known: tuple[tuple[str, str], ...] = (),
    commits: int = 10,
) -> list[tuple[str, str, int]]:
    found = backfill_links(Backfill("g", "kv", "master", last, every), _line(commits), measured, known)
    return [(*each.ends, each.commits) for each in found]


def test_each_commit_is_compared_with_its_first_parent_the_newest_first() -> None:
    assert _links(3) == [("c8", "c9", 1), ("c7", "c8", 1), ("c6", "c7", 1)]


def test_the_first_commit_of_a_branch_has_nothing_to_compare_with() -> None:
    assert _links(9, commits=3) == [("c1", "c2", 1), ("c0", "c1", 1)]
    assert _links(9, commits=1) == []
    assert _links(9, commits=0) == []


def test_commits_that_are_far_apart_are_compared_with_each_other() -> None:
    assert _links(9, every=4) == [("c5", "c9", 4), ("c1", "c5", 4)]


def test_a_commit_that_was_measured_after_its_merge_is_left_out() -> None:
    assert _links(4, measured=("c9", "c7")) == [("c7", "c8", 1), ("c5", "c6", 1)]


def test_no_link_leads_over_a_measured_commit_or_its_parent() -> None:
    """Both are in the trends, and the line must go through them."""
    assert _links(9, every=9, measured=("c5",)) == [("c5", "c9", 4), ("c0", "c4", 4)]


def test_a_second_backfill_of_the_same_commits_repeats_nothing() -> None:
    first = _links(6, every=3)
    ends = tuple((base, patch) for base, patch, _ in first)
    assert _links(6, every=3, known=ends) == first
    steps = tuple((base, patch) for base, patch, _ in _links(6))
    assert [each[2] for each in _links(6, every=3, known=steps)] == [1] * 6


@pytest.mark.parametrize(
    ("tries", "is_over", "is_lost"),
    [
        (LinkTries(1, 0, is_measured=True), True, False),
        (LinkTries(2, 2, is_measured=False), True, True),
        (LinkTries(2, 1, is_measured=False), False, False),
        (LinkTries(9, 0, is_measured=False), False, False),  # other builds ended it: its pairs go on
        (LinkTries(20, 0, is_measured=False), True, True),
    ],
)
def test_a_link_is_tried_again_until_it_is_measured_or_failed_twice(
    tries: LinkTries, *, is_over: bool, is_lost: bool
) -> None:
    links = backfill_links(Backfill("g", "kv", "master", 2), _line(5), (), ())
    left = links_to_measure(links, {links[0].ends: tries})
    assert [each.ends for each in left] == [each.ends for each in links[is_over:]]
    assert tries.is_lost is is_lost
