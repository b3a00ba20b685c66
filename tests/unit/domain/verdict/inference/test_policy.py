"""Read the policy of a job: its defaults, and the sizes that vote."""

from __future__ import annotations

import math

from service.domain.project.policy import Policy


def test_the_default_policy_is_consistent() -> None:
    policy = Policy()

    assert 0 < policy.floor < policy.vote_at <= policy.same_within
    assert math.isclose(policy.false_alarms, 0.01)


def test_an_entry_sets_the_size_that_votes_for_the_benchmarks_that_it_covers() -> None:
    policy = Policy(vote_at_of={"BM_a": 0.05, "BM_a/8": 0.0})

    assert [policy.votes_from(name) for name in ("BM_a/64", "BM_a/8/2", "BM_ab")] == [0.05, 0.0, 0.02]


def test_an_entry_sets_the_machine_time_of_the_benchmarks_that_it_covers() -> None:
    policy = Policy(machine_time_of={"BM_a": 120.0, "BM_a/8": 300.0})

    assert [policy.time_for(name) for name in ("BM_a/64", "BM_a/8/2", "BM_ab")] == [120.0, 300.0, math.inf]


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

    def test_renaming_twice_changes_nothing(self) -> None:
        renamed = [("BM_a", "BM_loose"), ("BM_b", "BM_a/8")]
        once = Policy(vote_at_of={"BM_loose": 0.5}).renaming(renamed)
        twice = once.renaming(renamed)

        assert [each.votes_from("BM_b") for each in (once, twice)] == [0.02, 0.02]

    def test_a_renamed_benchmark_has_the_machine_time_of_its_former_name(self) -> None:
        """By its new name, a patch could choose an entry so short that no slow-down is found in it."""
        policy = Policy(machine_time_of={"BM_short": 1.0, "BM_b": 60.0})
        renamed = policy.renaming([("BM_short/8", "BM_a"), ("BM_c", "BM_b")], ["BM_short/8/2"])

        assert renamed.time_for("BM_short/8") == math.inf
        assert [renamed.time_for(name) for name in ("BM_short/8/2", "BM_c", "BM_b")] == [1.0, 60.0, 60.0]

    def test_benchmarks_of_one_name_in_two_suites_have_the_longer_machine_time(self) -> None:
        policy = Policy(machine_time_of={"BM_a": 5.0, "BM_b": 60.0})

        assert policy.renaming([("BM_c", "BM_a"), ("BM_c", "BM_b")]).time_for("BM_c") == 60.0
        assert policy.renaming([("BM_a", "BM_c")], ["BM_a"]).time_for("BM_a") == math.inf

    def test_renaming_twice_changes_no_machine_time(self) -> None:
        renamed = [("BM_a", "BM_short"), ("BM_b", "BM_a/8")]
        once = Policy(machine_time_of={"BM_short": 1.0}).renaming(renamed)

        assert [each.time_for("BM_b") for each in (once, once.renaming(renamed))] == [math.inf, math.inf]
