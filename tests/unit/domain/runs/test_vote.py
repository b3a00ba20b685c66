from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.project.policy import VoteWhen
from service.domain.runs.vote import (
    CONSEQUENCES,
    Ballot,
    Consequence,
    Counts,
    LocalEnd,
    Outcome,
    Result,
    vote_of,
)

BALLOTS = st.lists(st.builds(Ballot, st.sampled_from(Outcome), is_voting=st.booleans()), max_size=6)
ON_NOTHING = st.sampled_from(VoteWhen)
NONE = VoteWhen.NONE


@pytest.mark.parametrize(
    ("outcome", "result", "counts", "is_lasting", "local"),
    [
        (Outcome.PASSED, "SUCCESS", "+1", True, "passes"),
        (Outcome.FAILED, "FAILURE", "-1", True, "fails"),
        (Outcome.SLOWER, "FAILURE", "-1", True, "fails"),
        (Outcome.MEASURED_NOTHING, "FAILURE", "-1", True, "fails"),
        (Outcome.BROKEN, "FAILURE", "-1", True, "fails"),
        (Outcome.REMOVED, "FAILURE", "-1", True, "fails"),
        (Outcome.UNDECIDED, "SUCCESS", "+1", True, "passes"),
        (Outcome.UNDECIDED_WITHHELD, "UNSTABLE", "no vote", True, "no verdict"),
        (Outcome.NO_PARENT, "SUCCESS", "+1", True, "no verdict"),
        (Outcome.CONFLICT, "UNSTABLE", "no vote", True, "no verdict"),
        (Outcome.PARENT_BROKEN, "UNSTABLE", "no vote", False, "no verdict"),
        (Outcome.MISCONFIGURED, "UNSTABLE", "no vote", False, "no verdict"),
        (Outcome.INFRASTRUCTURE, "ABORTED", "no vote", False, "no verdict"),
        (Outcome.CANCELLED, "ABORTED", "no vote", False, "no verdict"),
        (Outcome.NOT_BUILT, "NOT_BUILT", "ignored", False, "passes"),
    ],
)
def test_each_outcome_has_its_consequence(
    outcome: Outcome,
    result: str,
    counts: str,
    is_lasting: bool,  # noqa: FBT001 - a case
    local: str,
) -> None:
    choosable = CONSEQUENCES[outcome].choosable
    expected = Consequence(Result(result), Counts(counts), choosable, is_lasting, LocalEnd(local))
    assert CONSEQUENCES[outcome] == expected


@pytest.mark.parametrize("outcome", Outcome)
def test_no_patch_can_choose_an_outcome_that_counts_as_a_plus(outcome: Outcome) -> None:
    """Each outcome answers whether a patch could choose it, and a +1 says why it could not."""
    consequence = CONSEQUENCES[outcome]

    assert re.fullmatch(r"(yes|no)(: .+)?", consequence.choosable)
    if consequence.counts is Counts.PASS:
        assert consequence.choosable.startswith("no: ")


def test_no_outcome_is_without_one() -> None:
    assert set(CONSEQUENCES) == set(Outcome)


def test_the_vote_is_the_minimum_of_what_counts() -> None:
    assert vote_of([Ballot(Outcome.PASSED), Ballot(Outcome.FAILED)]) == -1
    assert vote_of([Ballot(Outcome.PASSED), Ballot(Outcome.NOT_BUILT)]) == 1
    assert vote_of([Ballot(Outcome.PASSED), Ballot(Outcome.FAILED, is_voting=False)]) == 1


def test_an_infrastructure_failure_blocks_a_plus_and_hides_no_minus() -> None:
    assert vote_of([Ballot(Outcome.PASSED), Ballot(Outcome.INFRASTRUCTURE)]) is None
    assert vote_of([Ballot(Outcome.SLOWER), Ballot(Outcome.INFRASTRUCTURE)]) == -1


def test_the_policy_decides_if_there_was_nothing_to_build() -> None:
    untouched = [Ballot(Outcome.NOT_BUILT), Ballot(Outcome.PASSED, is_voting=False)]

    assert vote_of(untouched) == 1
    assert vote_of(untouched, NONE) is None


@pytest.mark.parametrize("outcome", Outcome)
def test_jobs_that_may_not_vote_cast_none_even_alone(outcome: Outcome) -> None:
    assert vote_of([Ballot(outcome, is_voting=False)]) is None
    assert vote_of([]) is None


@given(BALLOTS, ON_NOTHING)
def test_a_voting_failure_is_never_hidden(ballots: list[Ballot], on_nothing: VoteWhen) -> None:
    has_failure = any(ballot.counts is Counts.FAIL for ballot in ballots)

    assert (vote_of(ballots, on_nothing) == -1) == has_failure


@given(BALLOTS, st.sampled_from(Outcome), ON_NOTHING)
def test_a_job_that_may_not_vote_changes_no_vote(
    ballots: list[Ballot], outcome: Outcome, on_nothing: VoteWhen
) -> None:
    more = [*ballots, Ballot(outcome, is_voting=False)]

    assert vote_of(more, on_nothing) == vote_of(ballots, on_nothing)


@given(BALLOTS)
def test_a_plus_needs_every_voting_build_to_pass(ballots: list[Ballot]) -> None:
    if vote_of(ballots) == 1:
        assert {ballot.counts for ballot in ballots} <= {Counts.PASS, Counts.IGNORED}
