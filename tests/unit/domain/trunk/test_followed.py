"""Choose the commits of a branch that no change brought."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from service.domain.sources.commit import BranchCommit
from service.domain.trunk.followed import commits_to_measure

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def line(*ages: float) -> list[BranchCommit]:
    """Commits c0, c1, …, the newest first, by their ages in hours."""
    return [
        BranchCommit(f"c{place}", (f"c{place + 1}",), NOW - timedelta(hours=age), "Ann", "subject")
        for place, age in enumerate(ages)
    ]


def chosen(commits: list[BranchCommit], *measured: str) -> list[str]:
    return [each.revision for each in commits_to_measure(commits, measured, NOW)]


def test_gaps_after_the_first_measured_commit_are_filled_oldest_first() -> None:
    assert chosen(line(1, 2, 3, 4, 5, 6), "c1", "c4") == ["c3", "c2", "c0"]


def test_what_came_before_the_first_measured_commit_is_left_alone() -> None:
    assert chosen(line(1, 2, 3), "c0") == []


def test_of_a_branch_without_a_measured_commit_only_the_head_is_measured() -> None:
    assert chosen(line(1, 2, 3)) == ["c0"]
    assert chosen([]) == []


def test_a_commit_of_the_last_minutes_may_still_be_reported_as_a_merged_change() -> None:
    assert chosen(line(0.1, 1, 2), "c2") == ["c1"]


def test_a_week_later_a_gap_stays() -> None:
    assert chosen(line(1, 24 * 8, 24 * 9), "c2") == ["c0"]
