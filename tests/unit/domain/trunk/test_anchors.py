"""Anchors: which distant commits of a branch are measured together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from service.domain.sources.commit import BranchCommit
from service.domain.trunk.anchors import BETWEEN, AnchorTries, Commit, anchors_of, next_anchor

MONDAY = datetime(2026, 1, 5, 9, tzinfo=UTC)


def _daily(days: int, *releases: int) -> list[Commit]:
    return [Commit(MONDAY + timedelta(days=day), is_release=day in releases) for day in range(days)]


def test_the_ends_of_weeks_are_compared_and_the_newest_commit_with_the_last_of_them() -> None:
    assert {(6, 13), (13, 20), (20, 23)} <= {*anchors_of(_daily(24))}


def test_each_fourth_week_is_compared_with_the_one_before() -> None:
    found = [(base, patch) for base, patch in anchors_of(_daily(28 * 3)) if patch - base > 7]
    assert len({patch - base for base, patch in found[:-1]}) == 1
    assert found[0][1] - found[0][0] == 28


def test_a_release_is_compared_with_the_one_before_and_the_newest_commit_with_the_last() -> None:
    assert {(3, 50), (50, 79)} <= {*anchors_of(_daily(80, 3, 50))}


def test_neighbours_and_short_histories_need_no_anchor() -> None:
    assert anchors_of([]) == ()
    assert anchors_of(_daily(1)) == ()
    assert anchors_of([Commit(MONDAY + timedelta(days=7 * week)) for week in range(4)]) == ()


def test_commits_of_one_day_are_in_one_week() -> None:
    commits = [Commit(MONDAY + timedelta(minutes=minute)) for minute in range(100)]
    assert anchors_of(commits) == ()


@given(st.lists(st.integers(0, 400), max_size=40), st.sets(st.integers(0, 39)))
def test_every_anchor_leads_forward_and_occurs_once(days: list[int], releases: set[int]) -> None:
    """Also if the clocks of committers disagree."""
    commits = [Commit(MONDAY + timedelta(days=day), k in releases) for k, day in enumerate(days)]
    found = anchors_of(commits)
    assert len({*found}) == len(found)
    assert all(0 <= base < patch - 1 < len(commits) for base, patch in found)


def line(days: int) -> list[BranchCommit]:
    """A commit a day, the newest first: c0 is the oldest."""
    made = [
        BranchCommit(f"c{day}", (), MONDAY + timedelta(days=day), "Ann", "subject") for day in range(days)
    ]
    return made[::-1]


ALL = [f"c{day}" for day in range(60)]


def test_the_next_anchor_is_the_longest_that_was_not_measured_yet() -> None:
    first = next_anchor(line(60), ALL, {}, None)
    assert first is not None
    base, patch = (int(each[1:]) for each in first)
    assert patch - base == 28
    second = next_anchor(line(60), ALL, {first: AnchorTries(1, is_done=True)}, None)
    assert second not in {None, first}


def test_an_anchor_that_was_pre_empted_is_tried_three_times() -> None:
    first = next_anchor(line(60), ALL, {}, None)
    assert first is not None
    assert next_anchor(line(60), ALL, {first: AnchorTries(2, is_done=False)}, None) == first
    assert next_anchor(line(60), ALL, {first: AnchorTries(3, is_done=False)}, None) != first


def test_anchors_take_turns_with_hours_of_rest() -> None:
    assert next_anchor(line(60), ALL, {}, BETWEEN - 1) is None
    assert next_anchor(line(60), ALL, {}, BETWEEN) is not None


def test_a_commit_that_was_not_measured_is_no_end_of_an_anchor() -> None:
    assert next_anchor(line(60), ["c1", "c50"], {}, None) is None
    found = next_anchor(line(60), ["c1", "c30", "c50"], {}, None)
    assert found is not None
    assert {*found} <= {"c1", "c30", "c50"}


def test_when_all_are_measured_none_is_due() -> None:
    known: dict[tuple[str, str], AnchorTries] = {}
    while anchor := next_anchor(line(60), ALL, known, None):
        assert anchor not in known
        known[anchor] = AnchorTries(1, is_done=True)
    assert len(known) == len(anchors_of([Commit(each.committed_at) for each in line(60)[::-1]]))
