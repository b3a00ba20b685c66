"""The policy of a job: its defaults, and the sizes that vote."""

from __future__ import annotations

import math

from service.domain.inference.policy import Policy


def test_the_default_policy_is_consistent() -> None:
    policy = Policy()

    assert 0 < policy.floor < policy.vote_at <= policy.same_within
    assert math.isclose(policy.false_alarms, 0.01)


def test_an_entry_sets_the_size_that_votes_for_the_benchmarks_that_it_covers() -> None:
    policy = Policy(vote_at_of={"BM_a": 0.05, "BM_a/8": 0.0})

    assert [policy.votes_from(name) for name in ("BM_a/64", "BM_a/8/2", "BM_ab")] == [0.05, 0.0, 0.02]


class TestRenaming:
    def test_a_new_name_covers_no_other_benchmark(self) -> None:
        """Before, a patch could name a benchmark so that the size of its old name covered others."""
        policy = Policy(vote_at_of={"BM_loose": 0.5}).renaming([("BM_a", "BM_loose")], ["BM_a/8", "BM_b"])

        assert [policy.votes_from(name) for name in ("BM_a", "BM_a/8", "BM_b")] == [0.5, 0.02, 0.02]

    def test_benchmarks_of_one_name_in_two_suites_vote_from_the_lesser_size(self) -> None:
        loose = Policy(vote_at_of={"BM_loose": 0.5, "BM_wide": 0.2})

        assert loose.renaming([("BM_a", "BM_loose")], ["BM_a"]).votes_from("BM_a") == 0.02
        both = loose.renaming([("BM_a", "BM_loose"), ("BM_a", "BM_wide")])
        assert both.votes_from("BM_a") == 0.2

    def test_to_rename_twice_changes_nothing(self) -> None:
        renamed = [("BM_a", "BM_loose"), ("BM_b", "BM_a/8")]
        once = Policy(vote_at_of={"BM_loose": 0.5}).renaming(renamed)
        twice = once.renaming(renamed)

        assert [each.votes_from("BM_b") for each in (once, twice)] == [0.02, 0.02]
