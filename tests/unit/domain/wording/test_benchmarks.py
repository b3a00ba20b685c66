"""Sentences about the cost of benchmarks, and about whether they vote."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.project.policy import Policy
from service.domain.verdict.calibration.evidence import History, voting_status_of
from service.domain.verdict.calibration.usefulness import Fault, Suggestion, SuiteCost
from service.domain.verdict.inference.reasons import WITHHOLDING, Fact, Reason, ReasonKind
from service.domain.wording.benchmarks import (
    WITHHELD,
    cost_sentence,
    noise_text,
    pairs_text,
    suggestion_sentence,
    vote_text,
    worst_text,
)
from tests.unit.domain.verdict.calibration.test_usefulness import series


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (SuiteCost(0, 0.0), "No benchmark was measured in the last 30 days."),
        (SuiteCost(1, 40.0), "1 benchmark costs 40 s of machine time in 30 days."),
        (
            SuiteCost(412, 111_600.0, 9, 0.402, 0.79),
            (
                "412 benchmarks cost 31 h of machine time in 30 days; 9 of them took 40 % of it, "
                "undecided in 8 of 10 builds."
            ),
        ),
        (
            SuiteCost(412, 12_240.0, 9, 0.402, 0.01),
            "412 benchmarks cost 3.4 h of machine time in 30 days; 9 of them took 40 % of it.",
        ),
    ],
)
def test_the_cost_of_a_suite_is_one_sentence(cost: SuiteCost, text: str) -> None:
    assert cost_sentence(cost) == text


@pytest.mark.parametrize(
    ("fault", "begin", "figure"),
    [
        (Fault.FAILING, "Repair or delete: 3 benchmarks", "failed in 15 of 20 builds"),
        (Fault.UNCHANGED, "Narrow paths: 3 benchmarks", "the same program in 20 of 20 builds"),
        (Fault.UNDECIDED, "Delete, or give more machine_time: 3", "undecided in 18 of 20 builds"),
        (Fault.NOISY, "Make quieter, or raise vote_at_of: 3", "±4.1 % a pair, limit 2 %"),
        (Fault.COSTLY, "Shorten by min_time, repetitions or", "2.0 h"),
    ],
)
def test_each_fault_says_what_to_do_with_its_figure(fault: Fault, begin: str, figure: str) -> None:
    worst = series(1, failed=15, identical=20, undecided=18, noise=0.0412, seconds=7200.0)
    found = Suggestion(fault, 3, 10_800.0, 111_600.0, worst)
    assert suggestion_sentence(found).startswith(begin)
    assert "(3.0 h of 31 h)" in suggestion_sentence(found)
    assert worst_text(found) == figure


def test_noise_and_pairs_are_shown_if_they_are_known() -> None:
    known, unknown, wild = series(1, noise=0.0042), series(2, noise=None), series(3, noise=0.6)
    assert [noise_text(each) for each in (known, unknown, wild)] == ["±0.42 %", "–", "±60 %"]
    assert [pairs_text(each) for each in (known, unknown, wild)] == ["12 for 2 %", "–", "over 1,000 for 2 %"]


@pytest.mark.parametrize(
    ("kind", "facts", "text"),
    [
        (
            ReasonKind.ON_PROBATION,
            (12, 40, 1, 3),
            "not yet: 12 of 40 A/A pairs, 1 of 3 sessions; idle machines measure them",
        ),
        (ReasonKind.NO_EVIDENCE, (), "not yet: no A/A pairs; idle machines measure them"),
        (
            ReasonKind.SUSPENDED,
            (3, 50),
            "suspended: 3 false alarms in 50 A/A sessions; votes again with at most 1 in the last 50",
        ),
        (
            ReasonKind.NOISY,
            (0.021,),
            "too noisy: A/A pairs vary by 2.1 %, limit 1.5 %; only a slow-down far beyond that votes",
        ),
        (
            ReasonKind.FAR_OFF,
            (0.14,),
            (
                "too noisy: 14 % of A/A pairs are off by more than 3 %, limit 10 %; only a slow-down far "
                "beyond that votes"
            ),
        ),
    ],
)
def test_a_withheld_vote_has_its_reason_and_what_would_change_it(
    kind: ReasonKind, facts: tuple[Fact, ...], text: str
) -> None:
    status = replace(voting_status_of(History(), Policy()), why_not=Reason(kind, facts))
    assert vote_text(status, is_voting=True) == text


def test_every_reason_that_withholds_a_vote_is_worded() -> None:
    assert WITHHELD.keys() == WITHHOLDING


def test_a_series_votes_if_nothing_withholds_it_and_its_job_votes() -> None:
    status = voting_status_of(History(), Policy(probation=0))
    assert vote_text(status, is_voting=True) == "yes"
    assert vote_text(status, is_voting=False) == "no: its job has voting: false"
