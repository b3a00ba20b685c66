from __future__ import annotations

from dataclasses import replace

from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Result
from service.domain.values.identity import ChangeAddress
from service.ports.runs.shown import Tally
from service.steps.runs.summarise_run import verdict_sentence, worst_cause
from tests.support.reading.sample_project import REGRESSION, sample_project
from tests.support.reading.views import build_view

FOUND = sample_project().patch_set(ChangeAddress(REGRESSION))
RUN = FOUND.runs[0]


def test_a_finished_run_begins_with_the_first_cause_of_its_worst_build() -> None:
    good = build_view(1, 1, causes=("20 of 20 results are the same within 3 %",))
    bad = build_view(2, 2, result=Result.FAILURE, causes=("1 of 20 results is slower", "more"))
    assert worst_cause([good, bad]) == "1 of 20 results is slower"
    assert verdict_sentence(RUN, [good, bad], FOUND.decisions[0]) == "1 of 20 results is slower"


def test_a_waived_failure_comes_after_failures_that_count() -> None:
    good = build_view(1, 1, causes=("1 of 20 results is faster",))
    waived_by = build_view(
        2, 2, result=Result.FAILURE, causes=("1 of 20 results is slower",), waived_by="overridden by Bob"
    )
    unstable = build_view(3, 3, result=Result.UNSTABLE, causes=("20 of 20 results are undecided",))
    assert worst_cause([good, waived_by]) == "overridden by Bob"
    assert worst_cause([good, waived_by, unstable]) == "20 of 20 results are undecided"


def test_slower_and_undecided_results_come_before_those_that_are_the_same() -> None:
    same = build_view(1, 1, causes=("20 of 20 results are the same",))
    undecided = build_view(2, 2, causes=("1 of 20 results is undecided",), undecided=1)
    slower = build_view(3, 3, causes=("1 of 20 results is slower, not counted yet",), tally=Tally(slower=1))
    assert worst_cause([same, undecided]) == "1 of 20 results is undecided"
    assert worst_cause([same, undecided, slower]) == "1 of 20 results is slower, not counted yet"


def test_a_run_without_its_vote_does_not_claim_that_nothing_was_built() -> None:
    run = replace(RUN, state=RunState.REFUSED, reason="the vote could not be decided")
    assert verdict_sentence(run, [build_view(1, 1)], None) == "the vote could not be decided"
    assert verdict_sentence(run, [], None) == "Nothing was built: the vote could not be decided"


def test_a_running_run_shows_its_progress_and_machine() -> None:
    builds = [
        build_view(1, 1),
        build_view(2, 2, state=BuildState.RUNNING, result=None, phase="pair 3 of 32"),
    ]
    sentence = verdict_sentence(replace(RUN, state=RunState.RUNNING), builds, None)
    assert sentence == "1 of 2 builds finished; kv-engine-cv-perf is running on perf-01: pair 3 of 32."


def test_a_run_without_a_machine_waits_for_one() -> None:
    waiting = build_view(1, 1, state=BuildState.QUEUED, result=None, machine=None)
    sentence = verdict_sentence(replace(RUN, state=RunState.RUNNING), [waiting], None)
    assert sentence == "0 of 1 build finished; the next one is waiting for a machine."


def test_every_other_state_has_a_sentence() -> None:
    assert "plans one as soon as" in verdict_sentence(None, [], None)
    assert "benchgate.yaml" in verdict_sentence(replace(RUN, state=RunState.PLANNING), [], None)
    refused = replace(RUN, state=RunState.REFUSED, reason="line 3: unknown key")
    assert verdict_sentence(refused, [], None) == "Nothing was built: line 3: unknown key"
    assert verdict_sentence(replace(RUN, state=RunState.CANCELLED), [], None) == "Cancelled."
    assert verdict_sentence(RUN, [], FOUND.decisions[0]) == "Build Failed"


def test_a_waiting_run_says_why_its_first_build_waits() -> None:
    later, first = (
        build_view(k, k, state=BuildState.QUEUED, result=None, place=k, waits=f"{k} in the queue")
        for k in (2, 1)
    )
    sentence = verdict_sentence(replace(RUN, state=RunState.RUNNING), [later, first], None)
    assert sentence == "0 of 2 builds finished; the next one is 1 in the queue."
