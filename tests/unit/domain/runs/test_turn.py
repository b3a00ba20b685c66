from __future__ import annotations

from service.domain.runs.turn import FURTHEST_SECONDS, UNKNOWN_SECONDS, turn_ahead


def test_each_further_build_of_an_owner_is_due_after_those_before_it() -> None:
    assert [turn_ahead(60.0 * before, 60.0) for before in range(3)] == [60.0, 120.0, 180.0]
    assert turn_ahead(60.0, None) == 60.0 + UNKNOWN_SECONDS


def test_a_build_is_at_most_twelve_hours_behind_those_that_arrive_after_it() -> None:
    assert turn_ahead(1e9, 60.0) == FURTHEST_SECONDS


def test_builds_asked_for_again_are_sooner_but_each_is_behind_the_one_before() -> None:
    asked = [turn_ahead(60.0 * before, 60.0, is_asked=True) for before in range(8)]
    assert asked[0] < turn_ahead(0.0, 60.0) < asked[-1]
    assert asked == sorted(set(asked))


def test_a_merged_commit_lets_checks_of_half_an_hour_pass() -> None:
    assert turn_ahead(0.0, 60.0, is_merged=True) == 1860.0
