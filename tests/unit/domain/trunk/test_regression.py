"""Regressions: their weights, what the gate had said, and the lists that they are in."""

from __future__ import annotations

import pytest

from service.domain.trunk.regression import (
    Checked,
    GateSaid,
    RegressionList,
    RegressionState,
    Weight,
    first_state,
    gate_said,
    heaviest,
    is_news,
    list_of,
    state_with,
    weight_of,
    weights_with,
)
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict

SLOWER = Verdict.SLOWER


@pytest.mark.parametrize(
    ("reasons", "votes", "weight"),
    [
        ([], True, Weight.COUNTS),
        ([], False, Weight.BELOW_LIMIT),
        ([ReasonKind.LAYOUT_CONFIRMED], True, Weight.COUNTS),
        ([ReasonKind.ON_PROBATION], False, Weight.NOT_COUNTED),
        ([ReasonKind.LAYOUT_CONFIRMED, ReasonKind.SUSPENDED], False, Weight.NOT_COUNTED),
    ],
)
def test_a_slower_result_weighs_by_its_vote_and_by_the_evidence_of_its_series(
    reasons: list[ReasonKind], *, votes: bool, weight: Weight
) -> None:
    assert weight_of(reasons, votes=votes) is weight


@pytest.mark.parametrize(
    ("checked", "said"),
    [
        (None, GateSaid.NO_CHECK),
        (Checked(), GateSaid.NOT_MEASURED),
        (Checked(Verdict.NEW), GateSaid.NOT_MEASURED),
        (Checked(Verdict.BROKEN), GateSaid.NOT_MEASURED),
        (Checked(Verdict.SAME), GateSaid.SAME),
        (Checked(Verdict.FASTER), GateSaid.FASTER),
        (Checked(Verdict.UNDECIDED), GateSaid.UNDECIDED),
        (Checked(SLOWER, Weight.NOT_COUNTED, build_id=3), GateSaid.NOT_COUNTED),
        (Checked(SLOWER, Weight.BELOW_LIMIT, build_id=3), GateSaid.BELOW_LIMIT),
        (Checked(SLOWER, is_voting=False, build_id=3), GateSaid.NOT_VOTING),
        (Checked(SLOWER, build_id=3), GateSaid.WAIVED),
        (Checked(SLOWER, build_id=4), GateSaid.VOTED),
    ],
)
def test_the_check_of_the_patch_set_tells_why_a_slow_down_got_in(
    checked: Checked | None, said: GateSaid
) -> None:
    assert gate_said(checked, waived={3}) == said


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("weight", Weight)
def test_each_verdict_of_a_check_has_an_answer(verdict: Verdict, weight: Weight) -> None:
    assert gate_said(Checked(verdict, weight)) in GateSaid


def test_what_a_reviewer_accepted_before_the_merge_needs_nobody() -> None:
    counts, small = Weight.COUNTS, Weight.BELOW_LIMIT
    assert first_state([(counts, True), (small, False)]) is RegressionState.ACCEPTED
    assert first_state([(counts, True), (counts, False)]) is RegressionState.UNTRIAGED
    assert first_state([(small, True)]) is RegressionState.UNTRIAGED


def test_the_heaviest_result_decides_the_list_until_a_person_does() -> None:
    assert heaviest([Weight.BELOW_LIMIT, Weight.COUNTS, Weight.NOT_COUNTED]) is Weight.COUNTS
    assert heaviest([Weight.BELOW_LIMIT, Weight.NOT_COUNTED]) is Weight.NOT_COUNTED
    untriaged = {weight: list_of(RegressionState.UNTRIAGED, weight) for weight in Weight}
    assert untriaged == {
        Weight.COUNTS: RegressionList.NEW,
        Weight.NOT_COUNTED: RegressionList.SUSPECTED,
        Weight.BELOW_LIMIT: RegressionList.SMALL,
    }
    for weight in Weight:
        assert list_of(RegressionState.CONFIRMED, weight) is RegressionList.OPEN
        for state in (RegressionState.ACCEPTED, RegressionState.MACHINE, RegressionState.INVALID):
            assert list_of(state, weight) is RegressionList.CLOSED


@pytest.mark.parametrize(
    ("known", "news"),
    [
        ({}, True),
        ({1: Weight.COUNTS}, False),
        ({1: Weight.BELOW_LIMIT}, True),
        ({2: Weight.COUNTS}, True),
    ],
)
def test_a_result_is_news_if_it_did_not_count_before(known: dict[int, Weight], *, news: bool) -> None:
    assert is_news(known, [(1, Weight.COUNTS), (3, Weight.NOT_COUNTED)]) is news


def test_a_result_that_counted_once_still_does() -> None:
    known = {1: Weight.COUNTS, 2: Weight.BELOW_LIMIT}
    found = weights_with(known, [(1, Weight.NOT_COUNTED), (2, Weight.COUNTS), (3, Weight.NOT_COUNTED)])
    assert found == {1: Weight.COUNTS, 2: Weight.COUNTS, 3: Weight.NOT_COUNTED}


@pytest.mark.parametrize(
    ("state", "is_new", "after"),
    [
        (RegressionState.UNTRIAGED, True, RegressionState.UNTRIAGED),
        (RegressionState.CONFIRMED, True, RegressionState.CONFIRMED),
        (RegressionState.INVALID, True, RegressionState.UNTRIAGED),
        (RegressionState.ACCEPTED, False, RegressionState.ACCEPTED),
    ],
)
def test_news_about_a_closed_regression_opens_it_again(
    state: RegressionState, after: RegressionState, *, is_new: bool
) -> None:
    assert state_with(state, RegressionState.UNTRIAGED, is_news=is_new) is after


def test_what_an_earlier_accept_covers_opens_nothing() -> None:
    accepted = RegressionState.ACCEPTED
    assert state_with(RegressionState.INVALID, accepted, is_news=True) is RegressionState.INVALID
