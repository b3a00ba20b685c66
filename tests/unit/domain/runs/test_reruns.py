from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.runs.reruns import Place, failed_jobs, next_run, rerun_in
from service.domain.runs.vote import Ballot, Outcome, vote_of

FINISHED = (Place("lint", 1), Place("linux", 2), Place("perf", 3, is_reused=True), Place("macos", 4))
JOBS = [place.job for place in FINISHED]
ORDERS = st.lists(st.sampled_from(JOBS))


def jobs_of(places: tuple[Place, ...]) -> list[str]:
    return [place.job for place in places]


def test_the_others_keep_place_and_build_and_a_job_run_again_comes_last() -> None:
    assert next_run(FINISHED, ["linux"]) == (
        Place("lint", 1, is_reused=True),
        Place("perf", 3, is_reused=True),
        Place("macos", 4, is_reused=True),
        Place("linux", None, is_reused=False),
    )


def test_several_jobs_run_again_come_in_the_order_given() -> None:
    assert jobs_of(next_run(FINISHED, ["macos", "lint"])) == ["linux", "perf", "macos", "lint"]


def test_a_job_named_twice_is_run_once() -> None:
    assert jobs_of(next_run(FINISHED, ["lint", "perf", "lint"])) == ["linux", "macos", "lint", "perf"]


def test_without_jobs_every_build_is_reused() -> None:
    assert next_run(FINISHED, []) == tuple(
        Place(each.job, each.build_id, is_reused=True) for each in FINISHED
    )


def test_a_second_job_run_again_in_the_same_run_stays_in_place() -> None:
    begun = next_run(FINISHED, ["lint"])

    assert rerun_in(begun, ["perf"]) == (
        Place("linux", 2, is_reused=True),
        Place("perf", None, is_reused=False),
        Place("macos", 4, is_reused=True),
        Place("lint", None, is_reused=False),
    )


def test_a_job_run_again_twice_in_the_same_run_stays_where_it_went_first() -> None:
    begun = (*next_run(FINISHED, ["lint"])[:-1], Place("lint", 5))

    assert rerun_in(begun, ["lint"]) == next_run(FINISHED, ["lint"])


def test_a_job_run_again_in_the_first_run_stays_in_place() -> None:
    assert jobs_of(rerun_in(FINISHED, ["linux"])) == JOBS
    assert rerun_in(FINISHED, ["linux"])[1] == Place("linux", None)


def test_a_job_without_a_place_cannot_be_run_again() -> None:
    with pytest.raises(ValueError, match="job fuzz has no place in this run"):
        next_run(FINISHED, ["linux", "fuzz"])
    with pytest.raises(ValueError, match="job fuzz has no place in this run"):
        rerun_in(FINISHED, ["fuzz"])


@given(ORDERS, ORDERS)
def test_no_job_is_lost_or_doubled_and_only_rerun_jobs_lack_their_build(
    first: list[str], then: list[str]
) -> None:
    places = rerun_in(next_run(FINISHED, first), then)

    assert sorted(jobs_of(places)) == sorted(JOBS)
    assert {place.job for place in places if place.build_id is None} == {*first, *then}
    assert all(place.is_reused == (place.build_id is not None) for place in places)


@pytest.mark.parametrize(
    "outcome",
    [
        *(Outcome.FAILED, Outcome.SLOWER, Outcome.MEASURED_NOTHING, Outcome.BROKEN, Outcome.REMOVED),
        *(Outcome.INFRASTRUCTURE, Outcome.CANCELLED, Outcome.MISCONFIGURED, Outcome.UNDECIDED_WITHHELD),
        *(Outcome.PARENT_BROKEN, Outcome.CONFLICT),
    ],
)
def test_failed_and_inconclusive_builds_are_run_again(outcome: Outcome) -> None:
    outcomes = {"lint": Outcome.PASSED, "linux": outcome, "perf": Outcome.UNDECIDED, "macos": outcome}

    assert failed_jobs(outcomes) == ("linux", "macos")


@given(st.dictionaries(st.sampled_from(JOBS), st.sampled_from(Outcome), min_size=1))
def test_the_vote_is_a_plus_if_no_job_failed(outcomes: dict[str, Outcome]) -> None:
    vote = vote_of([Ballot(outcome) for outcome in outcomes.values()])

    assert (failed_jobs(outcomes) == ()) == (vote == 1)
