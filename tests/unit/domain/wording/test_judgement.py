from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.project.policy import Policy
from service.domain.runs.build_outcome import NOTHING_WITHHELD, judge
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from service.domain.wording.judgement import describe, judgement_causes, verdict_word
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

    from service.domain.runs.build_outcome import Withheld

POLICY = Policy()
BYTES = row("BM_heap", "PeakBytesPerItem")


MORE = Reason(ReasonKind.MORE_PAIRS, (6.0, 14.0, 0.0, 0.008))


def causes_of(
    *comparisons: Comparison,
    policy: Policy = POLICY,
    empty: Sequence[str] = (),
    withheld: Withheld = NOTHING_WITHHELD,
    machine: str = "perf-01",
) -> list[str]:
    return list(judgement_causes(judge(comparisons, policy, empty, withheld), policy, machine))


def test_results_of_an_identical_program_are_counted_beside_the_others() -> None:
    identical = Comparison(row("BM_alike"), Verdict.SAME, reasons=(Reason(ReasonKind.SAME_PROGRAM, (1.0,)),))
    assert causes_of(SAME, identical, identical) == [
        "1 of 3 results is the same within 3 %, and 2 of an identical program"
    ]


@pytest.mark.parametrize(
    ("comparison", "cause"),
    [
        (SAME, "1 of 1 result is the same within 3 %"),
        (
            FASTER,
            "1 of 1 result is faster; best: BM_fast −50.0 % [−51.0, −49.0], 1 s → 500 ms, 12 pairs",
        ),
        (
            slower("BM_a", 1.05),
            "1 of 1 result is slower; worst: BM_a +5.0 % [+4.0, +6.0], 1 → 1.05 s, 24 pairs",
        ),
        (
            slower("BM_a", 1.02),
            "1 of 1 result is slower; worst: BM_a +2.0 % [+1.0, +3.0], 1 → 1.02 s, 24 pairs",
        ),
        (
            slower("BM_a", 1.019),
            (
                "1 of 1 result is slower by less than 2 % (no −1); "
                "worst: BM_a +1.9 % [+0.90, +2.9], 1 → 1.02 s, 24 pairs"
            ),
        ),
        (REMOVED, "1 benchmark removed: BM_gone"),
        (BROKEN, "1 benchmark broken: BM_broken: no space left"),
        (NEW, "1 benchmark new: BM_new"),
        (
            UNDECIDED,
            (
                "1 of 1 result is undecided: BM_noisy +1.0 % [−2.0, +4.0], 1 → 1.01 s, 32 pairs; "
                "single pairs vary by 1 %, so the result is only known to ±3.0 %"
            ),
        ),
        (UNMEASURED, "1 of 1 result is undecided: BM_never; no pair has a result on both sides"),
    ],
)
def test_each_verdict_has_its_sentence(comparison: Comparison, cause: str) -> None:
    (found,) = causes_of(comparison)

    assert found.replace(" CPU time", "").replace(" on perf-01", "") == cause


def test_a_rate_that_fell_is_slower_by_what_it_lost() -> None:
    slow = slower("BM_a", 0.877, "items_per_second")._replace(base=3.82e6, patch=3.35e6)
    assert causes_of(slow) == [
        (
            "1 of 1 result is slower; "
            "worst: BM_a items/s −12.3 % [−13.3, −11.3], 3.82 → 3.35 M/s, 24 pairs on perf-01"
        )
    ]


def test_the_worst_is_named_first_and_smaller_ones_apart() -> None:
    causes = causes_of(SAME, slower("BM_little", 1.015), slower("BM_a", 1.05), slower("BM_b", 1.07), FASTER)

    assert [cause.split(" CPU")[0] for cause in causes] == [
        "2 of 5 results are slower; worst: BM_b",
        "also slower: BM_a",
        "1 of 5 results is slower by less than 2 % (no −1); worst: BM_little",
        "1 of 5 results is faster; best: BM_fast",
        "1 of 5 results is the same within 3 %",
    ]


def test_a_slower_row_that_may_not_vote_is_named_with_the_reason() -> None:
    muted, loud = slower("BM_muted", 1.2), slower("BM_loud", 1.05)
    withheld = {muted.row: Reason(ReasonKind.ON_PROBATION, (16, 40, 1, 3))}

    assert causes_of(muted, SAME, withheld=withheld)[0] == (
        "1 of 2 results is slower, not counted yet; "
        "worst: BM_muted CPU time +20.0 % [+19.0, +21.0], 1 → 1.20 s, 24 pairs on perf-01; "
        "on probation: this machine has too little history for it "
        "(16 of 40 pairs of a program with itself, 1 of 3 sessions)"
    )
    assert [cause.split(" CPU")[0] for cause in causes_of(muted, loud, withheld=withheld)] == [
        "1 of 2 results is slower; worst: BM_loud",
        "1 of 2 results is slower, not counted yet; worst: BM_muted",
    ]


def test_a_row_that_the_machine_may_explain_waits_for_nothing() -> None:
    muted = slower("BM_muted", 1.2)
    withheld = {muted.row: Reason(ReasonKind.OWN_DIFFERENCE, (1.1, 1.09, 1.11, 24))}
    (cause,) = causes_of(muted, withheld=withheld)

    assert cause.startswith("1 of 1 result is slower, not counted; worst: ")
    assert cause.endswith("; the parent against itself: +10.0 %, so the machine may explain it")


def test_of_the_control_a_message_has_the_ratio() -> None:
    reason = Reason(ReasonKind.CONTROL, (1.001, 0.997, 1.004, 14))
    (cause,) = causes_of(slower("BM_a", 1.05)._replace(reasons=(reason,)))

    assert cause.endswith(" on perf-01; the parent against itself: +0.10 %")


def test_the_confirmation_of_the_worst_row_is_named() -> None:
    ratios = (1.04, 1.05, 1.06, 1.05, 1.02, 1.05, 1.08)
    confirmed = slower("BM_a", 1.05)._replace(reasons=(Reason(ReasonKind.LAYOUT_CONFIRMED, ratios),))

    (cause,) = causes_of(confirmed)

    assert cause.endswith(
        "24 pairs on perf-01; confirmed: +5.0 % in the median of 7 relinked programs (+2.0 % to +8.0 %)"
    )


def test_three_benchmarks_are_named_each_by_its_worst_metric() -> None:
    rows = [slower(f"BM_{k}", 1.2 + k / 10) for k in range(4)]
    again = slower("BM_3", 1.25, "real_time")
    heap = Comparison(BYTES, Verdict.SLOWER, 12, 1.45, (1.44, 1.46), 4e3, 5.8e3)

    assert causes_of(*rows, again, heap) == [
        (
            "6 of 6 results are worse; "
            "worst: BM_3 CPU time +50.0 % [+49.0, +51.0], 1 → 1.50 s, 24 pairs on perf-01"
        ),
        "also worse: BM_heap PeakBytesPerItem +45.0 % [+44.0, +46.0], 4,000 → 5,800",
        "also slower: BM_2 CPU time +40.0 % [+39.0, +41.0], 1 → 1.40 s",
    ]


@pytest.mark.parametrize(
    ("others", "clause"),
    [
        ((MORE,), "about 6 more pairs (14 s) would decide it"),
        ((MORE, Reason(ReasonKind.HARDLY_SLOWER)), "about 6 more pairs (14 s) would decide it"),
        (
            (MORE, Reason(ReasonKind.ONLY_PATCH_SCATTERS, (3.0,))),
            "the patch's own values vary 3 times as much as the parent's, so there is no +1",
        ),
        ((Reason(ReasonKind.REAL_TIME_LONGER, (2.4, 1)),), "single pairs vary by 1 %, so the result is only"),
    ],
)
def test_an_undecided_row_has_one_clause(others: tuple[Reason, ...], clause: str) -> None:
    (cause,) = causes_of(UNDECIDED._replace(reasons=(*UNDECIDED.reasons, *others)))
    assert cause.partition(" on perf-01; ")[2].startswith(clause)
    assert ";" not in cause.partition(" on perf-01; ")[2]


def test_the_undecided_that_could_be_the_worst_is_named() -> None:
    worse = Comparison(row("BM_worse"), Verdict.UNDECIDED, 32, 1.0, (0.9, 1.1), 1.0, 1.0)

    assert causes_of(UNDECIDED, worse)[0].startswith("2 of 2 results are undecided: BM_worse CPU time")
    assert causes_of(worse, UNMEASURED)[0].startswith("2 of 2 results are undecided: BM_never CPU time")


def test_sizes_of_the_policy_are_written_with_their_digits() -> None:
    causes = causes_of(slower("BM_a", 1.024), SAME, policy=Policy(vote_at=0.025, same_within=0.045))

    assert "slower by less than 2.5 % (no −1); worst" in causes[0]
    assert causes[1].endswith("the same within 4.5 %")


def test_slow_downs_below_different_sizes_name_none_of_them() -> None:
    policy = Policy(vote_at_of={"BM_a": 0.05, "BM_b": 0.1})

    only = causes_of(slower("BM_a/8", 1.024), policy=policy)
    both = causes_of(slower("BM_a/8", 1.024), slower("BM_b", 1.09), policy=policy)

    assert "slower by less than 5 % (no −1); worst: BM_a/8" in only[0]
    assert "2 of 2 results are slower by less than what votes (no −1); worst: BM_b" in both[0]


def test_a_suite_without_results_is_named_first() -> None:
    causes = causes_of(slower("BM_a", 1.5), BROKEN, REMOVED, empty=["executor"])

    assert causes[0] == "suite executor measured nothing: the patch lists no benchmark"


def test_breakage_is_counted_by_benchmark_and_not_by_metric() -> None:
    fails = (Reason(ReasonKind.FAILS, ("x",)),)
    twice = [Comparison(row("BM_a", metric), Verdict.BROKEN, reasons=fails) for metric in ("cpu_time", "m")]

    assert causes_of(*twice, BROKEN) == ["2 benchmarks broken: BM_a, BM_broken: x"]


def test_three_names_stand_for_all_missing_benchmarks() -> None:
    gone = [Comparison(row(f"BM_{k}"), Verdict.REMOVED) for k in range(5)]

    assert causes_of(*gone) == ["5 benchmarks removed: BM_0, BM_1, BM_2 and 2 more"]


def test_one_pair_is_written_as_one() -> None:
    assert describe(Comparison(row("BM_a"), Verdict.UNDECIDED, 1, 1.5, None, 1.0, 1.5)) == (
        "BM_a CPU time +50.0 %, 1 → 1.50 s, 1 pair"
    )


@given(st.lists(st.sampled_from(Verdict), max_size=8))
def test_any_mixture_names_every_verdict(verdicts: list[Verdict]) -> None:
    comparisons = [Comparison(row(f"BM_{k}"), v, 8, 1.1, (1.0, 1.2)) for k, v in enumerate(verdicts)]

    said = " ".join(causes_of(*comparisons))
    assert all(str(verdict) in said for verdict in verdicts)


@given(st.text(), st.text(), st.text())
def test_no_foreign_text_breaks_a_sentence(name: str, reason: str, machine: str) -> None:
    fails = (Reason(ReasonKind.FAILS, (reason,)),)
    comparisons = [Comparison(row(name), verdict, reasons=fails) for verdict in Verdict]

    for cause in causes_of(*comparisons, empty=[name], machine=machine):
        assert len(cause) < 1000
        assert "\n" not in cause


@pytest.mark.parametrize(
    ("comparison", "words"),
    [
        (
            Comparison(BYTES, Verdict.SLOWER, 12, 1.17, (1.16, 1.18)),
            "1 of 1 result is worse; worst: BM_heap PeakBytesPerItem",
        ),
        (
            Comparison(BYTES, Verdict.FASTER, 12, 0.85, (0.84, 0.86)),
            "1 of 1 result is better; best: BM_heap PeakBytesPerItem",
        ),
    ],
)
def test_bytes_are_worse_or_better_not_slower_or_faster(comparison: Comparison, words: str) -> None:
    assert causes_of(comparison)[0].startswith(words)


def test_bytes_among_times_are_worse_together() -> None:
    causes = causes_of(slower("BM_a", 1.05), Comparison(BYTES, Verdict.SLOWER, 12, 1.17, (1.16, 1.18)))
    assert causes[0].startswith("2 of 2 results are worse; worst: BM_heap")


def test_a_verdict_on_bytes_has_another_word() -> None:
    words = {verdict: verdict_word(verdict, is_speed=False) for verdict in Verdict}

    assert {verdict: word for verdict, word in words.items() if word != verdict} == {
        Verdict.SLOWER: "worse",
        Verdict.FASTER: "better",
    }
    assert [verdict_word(verdict, is_speed=True) for verdict in Verdict] == [*map(str, Verdict)]
