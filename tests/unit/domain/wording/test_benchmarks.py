"""Sentences about what benchmarks find, and about whether they vote."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.project.policy import Policy
from service.domain.verdict.calibration.evidence import History, voting_status_of
from service.domain.verdict.calibration.usefulness import Fault, Suggestion
from service.domain.verdict.inference.reasons import OF_CONTROL, WITHHOLDING, Fact, Reason, ReasonKind
from service.domain.wording.benchmarks import (
    WITHHELD,
    finds_sentence,
    noise_text,
    pairs_text,
    suggestion_sentence,
    summary_sentence,
    vote_text,
    worst_text,
)
from tests.unit.domain.verdict.calibration.test_usefulness import in_suite, series


def test_the_summary_counts_benchmarks_and_names_the_suites_with_most_machine_time() -> None:
    assert summary_sentence([]) == "No benchmark was measured in the last 30 days."
    one = series(1)
    assert summary_sentence([one]) == (
        "Checks and merged commits of the last 30 days measured 1 benchmark in 1 suite."
    )
    suites = [("a", 40.0, 1), ("b", 72_000.0, 20), ("c", 12_240.0, 3), ("d", 30.0, 2)]
    rows = [
        in_suite(one, number, suite, suite_seconds=seconds, suite_builds=builds)
        for number, (suite, seconds, builds) in enumerate(suites)
    ]
    assert summary_sentence(rows) == (
        "Checks and merged commits of the last 30 days measured 4 benchmarks in 4 suites. Most machine time: "
        "b of engine-perf on main, 20 h in its last 20 builds; c of engine-perf on main, 3.4 h in its last 3 "
        "builds; a of engine-perf on main, 40 s in its last 1 build, and 1 more."
    )


@pytest.mark.parametrize(
    ("fault", "begin", "figure"),
    [
        (Fault.FAILING, "3 benchmarks failed on both sides", "failed in 15 of 20 builds"),
        (Fault.UNCHANGED, "3 benchmarks had the same program", "the same program in 20 of 20 builds"),
        (
            Fault.UNDECIDED,
            "3 benchmarks ended undecided in at least 8 of 10 builds, with fewer than 32 pairs: give",
            (
                "undecided in 18 of 20 builds, finds slow-downs from about 5.5 % on; about 40 more pairs "
                "would decide half of them"
            ),
        ),
        (
            Fault.NOISY,
            "3 benchmarks ended undecided in at least half of the builds, and need more than 64",
            "±4.1 % a pair, limit 2 %, finds slow-downs from about 5.5 % on",
        ),
    ],
)
def test_each_fault_says_what_to_do_with_its_figure(fault: Fault, begin: str, figure: str) -> None:
    worst = series(
        1, failed=15, identical=20, undecided=18, noise=0.0412, undecided_pairs=(24,), more_pairs=(40.0,)
    )
    found = Suggestion(fault, 3, worst)
    assert suggestion_sentence(found).startswith(begin)
    assert worst_text(found) == figure


def test_no_suggestion_is_to_delete_a_benchmark() -> None:
    sentences = [suggestion_sentence(Suggestion(fault, 1, series(1))) for fault in Fault]
    assert not any("delete" in each.lower() for each in sentences)


def test_only_a_benchmark_that_finds_nothing_small_guards_hardly_anything() -> None:
    rows = [series(1, noise=noise) for noise in (0.1, 0.4)]
    assert [finds_sentence(each).startswith("hardly guards anything: finds") for each in rows] == [
        False,
        True,
    ]
    assert finds_sentence(series(1, undecided_pairs=(8,))) == "its 8 pairs cannot prove a slow-down"
    assert finds_sentence(series(1, noise=None)) == "noise unknown"


def test_noise_and_pairs_are_shown_if_they_are_known() -> None:
    known, unknown, wild = series(1, noise=0.0042), series(2, noise=None), series(3, noise=0.6)
    assert [noise_text(each) for each in (known, unknown, wild)] == ["±0.42 %", "–", "±60 %"]
    assert [pairs_text(each) for each in (known, unknown, wild)] == [
        "about 16 for 2 %",
        "–",
        "over 1,000 for 2 %",
    ]


@pytest.mark.parametrize(
    ("kind", "facts", "text"),
    [
        (
            ReasonKind.ON_PROBATION,
            (12, 40, 1, 3),
            "yes, with a control; 12 of 40 A/A pairs, 1 of 3 sessions",
        ),
        (ReasonKind.NO_EVIDENCE, (), "yes, with a control; no A/A pairs"),
        (
            ReasonKind.SUSPENDED,
            (3, 50),
            (
                "suspended: 3 false alarms in 50 A/A sessions; votes again with at most 1 in the last 50, of "
                "3 or more"
            ),
        ),
        (
            ReasonKind.NOISY,
            (0.021,),
            "too noisy: A/A pairs vary by 2.1 %, limit 1.5 %; votes with a control, or far beyond that",
        ),
        (
            ReasonKind.FAR_OFF,
            (0.14,),
            (
                "too noisy: 14 % of A/A pairs are off by more than 3 %, limit 10 %; votes with a control, or "
                "far beyond that"
            ),
        ),
    ],
)
def test_a_withheld_vote_has_its_reason_and_what_would_change_it(
    kind: ReasonKind, facts: tuple[Fact, ...], text: str
) -> None:
    status = replace(voting_status_of(History(), Policy()), why_not=Reason(kind, facts))
    assert vote_text(status, is_voting=True) == f"{text}; next A/A session when the machine is idle"
    waiting = vote_text(status, is_voting=True, session_in=2400.0)
    assert waiting == f"{text}; next A/A session in 40 min at the earliest"


def test_every_reason_that_withholds_a_vote_is_worded() -> None:
    assert WITHHELD.keys() == WITHHOLDING - OF_CONTROL


def test_a_series_votes_if_nothing_withholds_it_and_its_job_votes() -> None:
    status = voting_status_of(History(), Policy(probation=0))
    assert vote_text(status, is_voting=True) == "yes"
    assert vote_text(status, is_voting=False) == "no: its job has voting: false"
