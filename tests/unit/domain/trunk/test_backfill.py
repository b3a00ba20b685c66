"""Choose the links of a backfill."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.domain.sources.commit import BranchCommit
from service.domain.trunk.backfill import (
    Backfill,
    LinkTries,
    backfill_links,
    first_run_with,
    links_to_measure,
)

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


def _links(last: int, measured: tuple[str, ...] = (), commits: int = 10) -> list[tuple[str, str]]:
    found = backfill_links(Backfill("g", "kv", "master", last), _line(commits), measured)
    return [each.ends for each in found]


def test_each_commit_is_compared_with_its_first_parent_the_newest_first() -> None:
    assert _links(3) == [("c8", "c9"), ("c7", "c8"), ("c6", "c7")]


def test_the_first_commit_of_a_branch_has_nothing_to_compare_with() -> None:
    assert _links(9, commits=3) == [("c1", "c2"), ("c0", "c1")]
    assert _links(9, commits=1) == []
    assert _links(9, commits=0) == []


def test_a_commit_that_was_measured_after_its_merge_is_left_out() -> None:
    assert _links(4, measured=("c9", "c7")) == [("c7", "c8"), ("c5", "c6")]


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
    links = backfill_links(Backfill("g", "kv", "master", 2), _line(5), ())
    left = links_to_measure(links, {links[0].ends: tries})
    assert [each.ends for each in left] == [each.ends for each in links[is_over:]]
    assert tries.is_lost is is_lost


@pytest.mark.parametrize(
    ("commit", "run"),
    [("b", 7), ("c", 7), ("d", 7), ("e", 9), ("z", None), ("x", None)],
    ids=["two before", "before", "own", "own of the next", "unknown", "newest"],
)
def test_an_older_commit_is_in_the_first_run_after_it(commit: str, run: int | None) -> None:
    children = {"a": "b", "b": "c", "c": "d", "d": "e", "w": "x"}
    assert first_run_with(commit, {"d": 7, "e": 9}, children) == run


def test_a_circle_of_commits_ends() -> None:
    assert first_run_with("a", {}, {"a": "b", "b": "a"}) is None
