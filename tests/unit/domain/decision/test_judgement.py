from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.decision.judgement import describe, judge
from service.domain.decision.vote import Outcome
from service.domain.inference.policy import Policy, VoteWhen
from service.domain.inference.verdict import Comparison, Verdict
from tests.unit.domain.comparisons import (
    BROKEN,
    FASTER,
    NEW,
    REMOVED,
    SAME,
    UNDECIDED,
    UNMEASURED,
    row,
    slower,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

POLICY = Policy()
BYTES = row("BM_heap", "PeakBytesPerItem")


def judged(
    *comparisons: Comparison, policy: Policy = POLICY, empty: Sequence[str] = ()
) -> tuple[str, list[str]]:
    found = judge(comparisons, policy, "perf-01", empty)
    return str(found.outcome), list(found.causes)


@pytest.mark.parametrize(
    ("comparisons", "outcome", "cause"),
    [
        ([], Outcome.PASSED, None),
        ([SAME], Outcome.PASSED, "1 of 1 the same within 3 %"),
        ([NEW, SAME], Outcome.PASSED, "1 of 2 the same within 3 %"),
        ([FASTER], Outcome.PASSED, "1 of 1 faster; best BM_fast −50.0 % [−51.0, −49.0], 12 pairs"),
        ([slower("BM_a", 1.05)], Outcome.SLOWER, "1 of 1 slower; worst BM_a +5.0 % [+4.0, +6.0], 24 pairs"),
        ([slower("BM_a", 1.02)], Outcome.SLOWER, "1 of 1 slower; worst BM_a +2.0 % [+1.0, +3.0], 24 pairs"),
        (
            [slower("BM_a", 1.019)],
            Outcome.PASSED,
            "1 of 1 slower by less than 2 %; worst BM_a +1.9 % [+0.90, +2.9], 24 pairs",
        ),
        ([REMOVED], Outcome.REMOVED, "1 removed: BM_gone"),
        ([BROKEN], Outcome.BROKEN, "1 broken: BM_broken: no space left"),
        (
            [UNDECIDED],
            Outcome.UNDECIDED,
            "1 of 1 undecided: BM_noisy +1.0 % [−2.0, +4.0], 32 pairs; the interval is ±3 % wide",
        ),
        ([UNMEASURED], Outcome.UNDECIDED, "1 of 1 undecided: BM_never; no complete pair"),
    ],
)
def test_each_verdict_has_its_outcome_and_sentence(
    comparisons: list[Comparison], outcome: Outcome, cause: str | None
) -> None:
    found = judge(comparisons, POLICY, "perf-01")

    assert found.outcome is outcome
    first = found.causes[0].replace(" CPU time", "").replace(" on perf-01", "") if found.causes else None
    assert first == cause


def test_a_rate_that_fell_is_slower_by_what_it_lost() -> None:
    outcome, causes = judged(slower("BM_a", 0.877, "items_per_second"))

    assert outcome == "slower"
    assert causes == ["1 of 1 slower; worst BM_a items/s −12.3 % [−13.3, −11.3], 24 pairs on perf-01"]


def test_the_worst_is_named_first_and_smaller_ones_apart() -> None:
    _, causes = judged(SAME, slower("BM_little", 1.015), slower("BM_a", 1.05), slower("BM_b", 1.07), FASTER)

    assert [cause.split(" CPU")[0] for cause in causes] == [
        "2 of 5 slower; worst BM_b",
        "1 of 5 slower by less than 2 %; worst BM_little",
        "1 of 5 faster; best BM_fast",
        "1 of 5 the same within 3 %",
    ]


def test_a_slower_row_that_may_not_vote_is_told_with_the_reason() -> None:
    muted, loud = slower("BM_muted", 1.2), slower("BM_loud", 1.05)
    withheld = {muted.row: "on probation: 16 of 40 A/A pairs in 1 of 3 sessions"}
    found = judge([muted, SAME], POLICY, "perf-01", withheld=withheld)

    assert found.outcome is Outcome.PASSED
    assert found.causes[0] == (
        "1 of 2 slower without a vote; worst BM_muted CPU time +20.0 % [+19.0, +21.0], 24 pairs on perf-01; "
        "on probation: 16 of 40 A/A pairs in 1 of 3 sessions"
    )
    both = judge([muted, loud], POLICY, "perf-01", withheld=withheld)
    assert both.outcome is Outcome.SLOWER
    assert [cause.split(" CPU")[0] for cause in both.causes] == [
        "1 of 2 slower; worst BM_loud",
        "1 of 2 slower without a vote; worst BM_muted",
    ]


@pytest.mark.parametrize(
    ("comparison", "outcome"),
    [(REMOVED, Outcome.REMOVED), (BROKEN, Outcome.BROKEN), (UNDECIDED, Outcome.UNDECIDED)],
)
def test_only_a_slower_row_is_withheld(comparison: Comparison, outcome: Outcome) -> None:
    assert judge([comparison], POLICY, "m", withheld={comparison.row: "why"}).outcome is outcome


def test_the_undecided_that_could_be_the_worst_is_named() -> None:
    worse = Comparison(row("BM_worse"), Verdict.UNDECIDED, 32, 1.0, (0.9, 1.1), 1.0, 1.0, "x")

    assert judged(UNDECIDED, worse)[1][0].startswith("2 of 2 undecided: BM_worse CPU time")
    assert judged(worse, UNMEASURED)[1][0].startswith("2 of 2 undecided: BM_never CPU time")


def test_sizes_of_the_policy_are_written_with_their_digits() -> None:
    policy = Policy(vote_at=0.025, same_within=0.045)
    _, causes = judged(slower("BM_a", 1.024), SAME, policy=policy)

    assert "slower by less than 2.5 %; worst" in causes[0]
    assert causes[1].endswith("the same within 4.5 %")


def test_undecided_builds_may_withhold_the_vote() -> None:
    assert judged(UNDECIDED, policy=Policy(on_undecided=VoteWhen.NONE))[0] == "undecided, vote withheld"


def test_a_suite_without_results_outweighs_everything() -> None:
    outcome, causes = judged(slower("BM_a", 1.5), BROKEN, REMOVED, empty=["executor"])

    assert outcome == "measured nothing"
    assert causes[0] == "suite executor measured nothing"


def test_what_is_broken_is_counted_by_benchmark_and_not_by_metric() -> None:
    twice = [Comparison(row("BM_a", metric), Verdict.BROKEN, reason="x") for metric in ("cpu_time", "m")]

    assert judged(*twice, BROKEN)[1] == ["2 broken: BM_a and 1 more: x"]


def test_one_pair_is_written_as_one() -> None:
    assert describe(Comparison(row("BM_a"), Verdict.UNDECIDED, 1, 1.5, None, 1.0, 1.5)) == (
        "BM_a CPU time +50.0 %, 1 pair"
    )


@given(st.lists(st.sampled_from(Verdict), max_size=8), st.sampled_from(VoteWhen))
def test_any_mixture_has_an_outcome_and_names_every_verdict(
    verdicts: list[Verdict], on_undecided: VoteWhen
) -> None:
    comparisons = [Comparison(row(f"BM_{k}"), v, 8, 1.1, (1.0, 1.2)) for k, v in enumerate(verdicts)]
    found = judge(comparisons, Policy(on_undecided=on_undecided), "perf-01")

    said = " ".join(found.causes)
    assert all(str(verdict) in said for verdict in verdicts)
    is_failure = {Verdict.SLOWER, Verdict.BROKEN, Verdict.REMOVED} & set(verdicts)
    assert bool(is_failure) == (found.outcome in {Outcome.SLOWER, Outcome.BROKEN, Outcome.REMOVED})


@given(st.text(), st.text(), st.text())
def test_no_foreign_text_breaks_a_sentence(name: str, reason: str, machine: str) -> None:
    comparisons = [Comparison(row(name), verdict, reason=reason) for verdict in Verdict]

    for cause in judge(comparisons, POLICY, machine, [name]).causes:
        assert len(cause) < 1000
        assert "\n" not in cause


@pytest.mark.parametrize(
    ("comparison", "words"),
    [
        (
            Comparison(BYTES, Verdict.SLOWER, 12, 1.17, (1.16, 1.18)),
            "1 of 1 worse; worst BM_heap PeakBytesPerItem",
        ),
        (
            Comparison(BYTES, Verdict.FASTER, 12, 0.85, (0.84, 0.86)),
            "1 of 1 better; best BM_heap PeakBytesPerItem",
        ),
    ],
)
def test_bytes_are_worse_or_better_not_slower_or_faster(comparison: Comparison, words: str) -> None:
    assert judged(comparison)[1][0].startswith(words)


def test_bytes_among_times_are_worse_together() -> None:
    causes = judged(slower("BM_a", 1.05), Comparison(BYTES, Verdict.SLOWER, 12, 1.17, (1.16, 1.18)))[1]
    assert causes[0].startswith("2 of 2 worse; worst BM_heap")
