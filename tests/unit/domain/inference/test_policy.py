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
