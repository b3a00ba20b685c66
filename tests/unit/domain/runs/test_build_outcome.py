from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.project.policy import Policy, VoteWhen
from service.domain.runs.build_outcome import Circumstances, Group, judge
from service.domain.runs.vote import Outcome
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from tests.unit.domain.comparisons import (
    BROKEN,
    FAILING,
    FASTER,
    NEW,
    REMOVED,
    SAME,
    UNDECIDED,
    UNMEASURED,
    row,
    slower,
)

POLICY = Policy()
OTHER_SLOWER = slower("BM_a", 1.05)._replace(row=row("BM_a")._replace(suite="other"))
UNCHECKED = UNDECIDED._replace(reasons=(Reason(ReasonKind.LAYOUT_NOT_CHECKED),))
PROBATION = Reason(ReasonKind.ON_PROBATION, (16, 40, 1, 3))
IDENTICAL = (Reason(ReasonKind.SAME_PROGRAM, (1.0,)),)


@pytest.mark.parametrize(
    ("comparisons", "outcome"),
    [
        ([], Outcome.PASSED),
        ([SAME], Outcome.PASSED),
        ([NEW, SAME], Outcome.PASSED),
        ([FASTER], Outcome.PASSED),
        ([slower("BM_a", 1.02)], Outcome.SLOWER),
        ([slower("BM_a", 1.019)], Outcome.PASSED),
        ([REMOVED], Outcome.REMOVED),
        ([BROKEN, REMOVED], Outcome.BROKEN),
        ([UNDECIDED], Outcome.UNDECIDED),
        ([UNMEASURED, slower("BM_a", 1.05)], Outcome.SLOWER),
        ([FAILING], Outcome.MISCONFIGURED),
        ([FAILING, NEW], Outcome.MISCONFIGURED),
        ([FAILING, UNDECIDED], Outcome.UNDECIDED),
        ([FAILING, SAME], Outcome.PASSED),
        ([FAILING, SAME._replace(reasons=IDENTICAL)], Outcome.PASSED),
        ([FAILING, SAME._replace(reasons=IDENTICAL, pairs=0)], Outcome.MISCONFIGURED),
        ([FAILING, SAME._replace(row=SAME.row._replace(suite="other"))], Outcome.MISCONFIGURED),
        ([FAILING, OTHER_SLOWER], Outcome.SLOWER),
        ([UNCHECKED, SAME], Outcome.UNDECIDED_WITHHELD),
    ],
)
def test_the_worst_verdict_is_the_outcome(comparisons: list[Comparison], outcome: Outcome) -> None:
    assert judge(comparisons, POLICY).outcome is outcome


@pytest.mark.parametrize(
    ("benchmark", "ratio", "outcome"),
    [
        ("BM_a/8", 1.09, Outcome.PASSED),
        ("BM_a/8", 1.10, Outcome.SLOWER),
        ("BM_a/64", 1.03, Outcome.SLOWER),
        ("BM_b", 1.02, Outcome.SLOWER),
    ],
)
def test_the_size_that_votes_is_that_of_the_longest_entry(
    benchmark: str, ratio: float, outcome: Outcome
) -> None:
    policy = Policy(vote_at_of={"BM_a": 0.1, "BM_a/64": 0.03})

    assert judge([slower(benchmark, ratio)], policy).outcome is outcome


def test_each_comparison_is_in_its_group_the_worst_first() -> None:
    little, one, other = slower("BM_little", 1.015), slower("BM_a", 1.05), slower("BM_b", 1.07)
    found = judge([SAME, little, one, other, FASTER], POLICY)

    assert {group: rows for group, rows in found.groups.items() if rows} == {
        Group.SLOWER: [other, one],
        Group.SLIGHTLY_SLOWER: [little],
        Group.FASTER: [FASTER],
        Group.SAME: [SAME],
    }
    assert (found.rows, found.blamed) == (5, ("BM_b", "BM_a"))


def test_removed_benchmarks_are_blamed_beside_slower_ones() -> None:
    found = judge([REMOVED, slower("BM_a", 1.05)], POLICY)

    assert (found.outcome, found.blamed) == (Outcome.REMOVED, ("BM_a", REMOVED.row.benchmark))


def test_groups_come_in_the_order_of_a_message() -> None:
    assert list(judge([], POLICY).groups) == list(Group)


def test_the_undecided_that_could_be_the_worst_comes_first() -> None:
    worse = Comparison(row("BM_worse"), Verdict.UNDECIDED, 32, 1.0, (0.9, 1.1), 1.0, 1.0)

    assert judge([UNDECIDED, worse], POLICY).groups[Group.UNDECIDED] == [worse, UNDECIDED]
    assert judge([worse, UNMEASURED], POLICY).groups[Group.UNDECIDED] == [UNMEASURED, worse]


def test_identical_programs_are_not_counted_as_the_same_within_an_interval() -> None:
    same = Comparison(SAME.row, Verdict.SAME, reasons=(Reason(ReasonKind.SAME_PROGRAM, (1.2,)),))

    assert judge([same, SAME], POLICY).groups[Group.SAME] == [SAME]


def test_a_slower_row_that_may_not_vote_is_apart_and_blames_nobody() -> None:
    muted, loud = slower("BM_muted", 1.2), slower("BM_loud", 1.05)
    withheld = {muted.row: PROBATION}
    found = judge([muted, SAME], POLICY, withheld=withheld)

    assert (found.outcome, found.groups[Group.WITHHELD]) == (Outcome.PASSED, [muted])
    assert judge([muted, loud], POLICY, withheld=withheld).blamed == ("BM_loud",)


@pytest.mark.parametrize(
    ("comparison", "outcome"),
    [(REMOVED, Outcome.REMOVED), (BROKEN, Outcome.BROKEN), (UNDECIDED, Outcome.UNDECIDED)],
)
def test_only_a_slower_row_is_withheld(comparison: Comparison, outcome: Outcome) -> None:
    assert judge([comparison], POLICY, withheld={comparison.row: PROBATION}).outcome is outcome


def test_undecided_builds_may_withhold_the_vote() -> None:
    policy = Policy(on_undecided=VoteWhen.NONE)

    assert judge([UNDECIDED], policy).outcome is Outcome.UNDECIDED_WITHHELD


@pytest.mark.parametrize(
    ("circumstances", "outcome"),
    [
        (Circumstances(), Outcome.UNDECIDED),
        (Circumstances(missing_pairs=3), Outcome.UNDECIDED_WITHHELD),
        # The parent failed after code of the patch ran, which may be why.
        (Circumstances(is_parent_lost=True), Outcome.INFRASTRUCTURE),
        (Circumstances(is_used_up_by_patch=True), Outcome.UNDECIDED_WITHHELD),
        (Circumstances(is_parent_lost=True, is_used_up_by_patch=True), Outcome.INFRASTRUCTURE),
        (Circumstances(3, is_parent_lost=True), Outcome.UNDECIDED_WITHHELD),
    ],
)
def test_circumstances_of_the_patch_prevent_the_vote_of_an_undecided_build(
    circumstances: Circumstances, outcome: Outcome
) -> None:
    found = judge([UNDECIDED, SAME], POLICY, circumstances=circumstances)

    assert (found.outcome, found.missing_pairs) == (outcome, circumstances.missing_pairs)


@pytest.mark.parametrize(
    ("comparisons", "policy"),
    [
        ([SAME], POLICY),
        ([slower("BM_a", 1.05), UNDECIDED], POLICY),
        ([REMOVED, UNDECIDED], POLICY),
        ([FAILING], POLICY),
        ([UNCHECKED], POLICY),
        ([UNDECIDED], Policy(on_undecided=VoteWhen.NONE)),
    ],
)
def test_circumstances_change_no_other_outcome(comparisons: list[Comparison], policy: Policy) -> None:
    circumstances = Circumstances(3, is_parent_lost=True, is_used_up_by_patch=True)

    assert judge(comparisons, policy, circumstances=circumstances) == judge(comparisons, policy)


def test_a_suite_without_results_outweighs_everything() -> None:
    found = judge([slower("BM_a", 1.5), BROKEN, REMOVED], POLICY, ["executor"])

    assert found.outcome is Outcome.MEASURED_NOTHING


@given(st.lists(st.sampled_from(Verdict), max_size=8), st.sampled_from(VoteWhen))
def test_any_mixture_has_an_outcome(verdicts: list[Verdict], on_undecided: VoteWhen) -> None:
    comparisons = [Comparison(row(f"BM_{k}"), v, 8, 1.1, (1.0, 1.2)) for k, v in enumerate(verdicts)]
    found = judge(comparisons, Policy(on_undecided=on_undecided))

    is_failure = {Verdict.SLOWER, Verdict.BROKEN, Verdict.REMOVED} & set(verdicts)
    assert bool(is_failure) == (found.outcome in {Outcome.SLOWER, Outcome.BROKEN, Outcome.REMOVED})
    assert sum(map(len, found.groups.values())) == len(verdicts)
