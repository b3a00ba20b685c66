"""Anchors: which distant commits of a branch are measured together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from service.domain.sources.commit import BranchCommit
from service.domain.trunk.anchors import AnchorTries, Commit, anchors_of, next_anchor

if TYPE_CHECKING:
    from collections.abc import Collection

MONDAY = datetime(2026, 1, 5, 9, tzinfo=UTC)


def _daily(days: int, *releases: int) -> list[Commit]:
    return [Commit(MONDAY + timedelta(days=day), is_release=day in releases) for day in range(days)]


def _pairs(commits: list[Commit]) -> tuple[tuple[int, int], ...]:
    found = anchors_of(commits)
    return (*found.fixed, *found.newest)


def test_the_ends_of_weeks_are_compared_and_the_newest_commit_with_the_last_of_them() -> None:
    assert {(6, 13), (13, 20), (20, 23)} <= {*_pairs(_daily(24))}


def test_each_fourth_week_is_compared_with_the_one_before() -> None:
    found = [(base, patch) for base, patch in _pairs(_daily(28 * 3)) if patch - base > 7]
    assert len({patch - base for base, patch in found[:-1]}) == 1
    assert found[0][1] - found[0][0] == 28


def test_a_release_is_compared_with_the_one_before_and_the_newest_commit_with_the_last() -> None:
    assert {(3, 50), (50, 79)} <= {*_pairs(_daily(80, 3, 50))}


def test_neighbours_and_short_histories_need_no_anchor() -> None:
    assert _pairs([]) == ()
    assert _pairs(_daily(1)) == ()
    assert _pairs([Commit(MONDAY + timedelta(days=7 * week)) for week in range(4)]) == ()


def test_commits_of_one_day_are_in_one_week() -> None:
    commits = [Commit(MONDAY + timedelta(minutes=minute)) for minute in range(100)]
    assert _pairs(commits) == ()


@given(st.lists(st.integers(0, 400), max_size=40), st.sets(st.integers(0, 39)))
def test_every_anchor_leads_forward_and_occurs_once(days: list[int], releases: set[int]) -> None:
    """Also if the clocks of committers disagree."""
    commits = [Commit(MONDAY + timedelta(days=day), k in releases) for k, day in enumerate(days)]
    found = _pairs(commits)
    assert len({*found}) == len(found)
    assert all(0 <= base < patch - 1 < len(commits) for base, patch in found)


def line(days: int) -> list[BranchCommit]:
    """A commit a day, the newest first: c0 is the oldest."""
    made = [
        BranchCommit(f"c{day}", (), MONDAY + timedelta(days=day), "Ann", "subject") for day in range(days)
    ]
    return made[::-1]


ALL = [f"c{day}" for day in range(60)]


NOW = MONDAY + timedelta(days=365)


def due(
    days: int, known: dict[tuple[str, str], AnchorTries], measured: Collection[str] = ALL
) -> tuple[str, str] | None:
    return next_anchor(line(days), measured, known, NOW)


def test_the_next_anchor_is_the_longest_that_was_not_measured_yet() -> None:
    first = due(60, {})
    assert first is not None
    base, patch = (int(each[1:]) for each in first)
    assert patch - base == 28
    second = due(60, {first: AnchorTries(1, is_done=True)})
    assert second not in {None, first}


def test_an_anchor_that_measured_nothing_is_tried_five_times() -> None:
    first = due(60, {})
    assert first is not None
    assert due(60, {first: AnchorTries(4, is_done=False)}) == first
    assert due(60, {first: AnchorTries(5, is_done=False)}) != first


def test_a_commit_that_was_not_measured_is_no_end_of_an_anchor() -> None:
    assert due(60, {}, ["c1", "c50"]) is None
    found = due(60, {}, ["c1", "c30", "c50"])
    assert found is not None
    assert {*found} <= {"c1", "c30", "c50"}


def test_a_busy_branch_gets_its_weekly_anchors_and_few_of_its_newest_commits() -> None:
    """Four merges a day for eight weeks, and a slot every six hours."""
    commits = [
        BranchCommit(f"m{number}", (), MONDAY + timedelta(hours=6 * number), "Ann", "subject")
        for number in range(8 * 28)
    ]
    known: dict[tuple[str, str], AnchorTries] = {}
    for number in range(1, len(commits)):
        so_far = commits[number::-1]
        there = {each.revision for each in so_far}
        anchor = next_anchor(so_far, there, known, commits[number].committed_at)
        if anchor is not None:
            assert anchor not in known
            known[anchor] = AnchorTries(1, is_done=True)
    ends = [each.revision for each in commits[26::28]]
    assert {*pairwise(ends[:-1])} <= {*known}
    assert len(known) <= 3 * 8


def test_a_date_that_is_wrong_makes_no_further_ends_of_weeks() -> None:
    days = [0, 1, 8, 2, 9, 3, 10, 4, 11, 5, 15]
    commits = [Commit(MONDAY + timedelta(days=day)) for day in days]
    assert len(anchors_of(commits).fixed) <= 1
