from __future__ import annotations

from dataclasses import replace

from dashboards.sentences import verdict_sentence, worst_cause
from tests.support.fake_reading import build_summary
from tests.support.sample_project import REGRESSION, sample_project

FOUND = sample_project().patch_set(REGRESSION)
RUN = FOUND.runs[0]


def test_a_finished_round_begins_with_the_first_cause_of_its_worst_build() -> None:
    good = build_summary(1, 1, causes=("20 of 20 the same within 3%",))
    bad = build_summary(2, 2, result="FAILURE", causes=("1 of 20 slower", "more"))
    assert worst_cause([good, bad]) == "1 of 20 slower"
    assert verdict_sentence(RUN, [good, bad], FOUND.decisions[0]) == "1 of 20 slower"


def test_a_round_that_runs_says_how_far_it_is_and_where() -> None:
    builds = [
        build_summary(1, 1),
        build_summary(2, 2, state="running", result=None, phase="pair 3 of 32"),
    ]
    sentence = verdict_sentence(replace(RUN, state="running"), builds, None)
    assert sentence == "1 of 2 builds finished; kv-engine-cv-perf is running on perf-01: pair 3 of 32."


def test_a_round_without_a_machine_says_that_it_waits() -> None:
    waiting = build_summary(1, 1, state="queued", result=None, machine=None)
    sentence = verdict_sentence(replace(RUN, state="running"), [waiting], None)
    assert sentence == "0 of 1 build finished; the next is waiting for a machine."


def test_every_other_state_has_a_sentence_that_says_what_comes_next() -> None:
    assert "planned as soon as" in verdict_sentence(None, [], None)
    assert "benchgate.yaml" in verdict_sentence(replace(RUN, state="planning"), [], None)
    refused = replace(RUN, state="refused", reason="line 3: unknown key")
    assert verdict_sentence(refused, [], None) == "Nothing was built: line 3: unknown key"
    assert verdict_sentence(replace(RUN, state="cancelled"), [], None) == "Cancelled."
    assert verdict_sentence(RUN, [], FOUND.decisions[0]) == "Build Failed"
