"""Answers to claims."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.claims.answers import (
    ADVERSE,
    WRONG,
    Answer,
    AnsweredClaim,
    MeasuredRow,
    Obstacle,
    answers,
    names_of,
    with_new_names,
)
from service.domain.claims.values import Claim
from service.domain.project.project_file import parse_job
from service.domain.verdict.inference.estimate import estimate_of
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict

NAME = "HTB/Find/threads:1"
BESIDE = (*ADVERSE, Answer.LARGER)  # answers that a true claim seldom gets


def claim(ratio: float | None, metric: str = "real_time", name: str = NAME) -> Claim:
    return Claim(7, name, metric, 123456.0, round(123456.0 * (ratio or 0.0), 1), ratio)


def row(low: float, high: float, metric: str = "real_time", name: str = NAME) -> MeasuredRow:
    ratio = math.sqrt(low * high)
    return MeasuredRow("perf", "s", name, metric, Verdict.UNDECIDED, 20, ratio, low, high)


IDENTICAL = replace(row(1, 1), verdict=Verdict.SAME, ratio=None, low=None, high=None, is_same_program=True)


def one(claim: Claim, *rows: MeasuredRow) -> AnsweredClaim:
    (found,) = answers([claim], rows)
    return found


@pytest.mark.parametrize(
    ("claimed", "low", "high", "answer"),
    [
        (0.8, 0.79, 0.81, Answer.CONFIRMED),
        (0.8, 0.75, 0.88, Answer.CONFIRMED),
        (1.2, 1.18, 1.22, Answer.CONFIRMED),
        (0.8, 0.86, 0.9, Answer.SMALLER),
        (0.8, 0.965, 0.975, Answer.NOT_REPRODUCED),
        (0.8, 0.99, 1.01, Answer.NOT_REPRODUCED),
        (0.8, 1.04, 1.06, Answer.OPPOSITE),
        (0.8, 1.001, 1.004, Answer.NOT_REPRODUCED),  # layout alone may do that
        (0.985, 1.05, 1.06, Answer.OPPOSITE),
        (1.2, 0.9, 0.96, Answer.OPPOSITE),
        (0.8, 0.6, 0.7, Answer.LARGER),
        (0.8, 0.84, 1.01, Answer.TOO_NOISY),  # 0.82 would be a confirmation, 1.0 none
        (0.8, 0.5, 1.5, Answer.TOO_NOISY),
        (1.0, 0.99, 1.01, Answer.CONFIRMED),
        (1.005, 0.99, 1.01, Answer.CONFIRMED),
        (1.0, 1.05, 1.07, Answer.NOT_REPRODUCED),
        (1.0, 0.9, 1.1, Answer.TOO_NOISY),
    ],
)
def test_the_interval_answers(claimed: float, low: float, high: float, answer: Answer) -> None:
    found = one(claim(claimed), row(low, high))
    assert (found.answer, found.obstacle) == (answer, "")
    assert [found.low, found.high] == pytest.approx([low, high])


def test_printed_digits_limit_what_is_claimed() -> None:
    printed = replace(claim(2 / 3), rounding=-math.log1p(-0.5 / 30) - math.log1p(-0.5 / 20))  # 30 → 20
    assert one(claim(2 / 3), row(0.71, 0.712)).answer is Answer.CONFIRMED
    assert one(claim(2 / 3), row(0.725, 0.735)).answer is Answer.SMALLER
    assert one(printed, row(0.725, 0.735)).answer is Answer.CONFIRMED


@pytest.mark.parametrize(("before", "after"), [(3.0, 2.0), (2.0, 1.0), (3.0, 3.0), (40.0, 41.0)])
@pytest.mark.parametrize("measured", [row(0.4, 0.41), row(0.99, 1.01), row(1.4, 1.42), IDENTICAL])
def test_too_few_digits_claim_nothing(before: float, after: float, measured: MeasuredRow) -> None:
    rounding = sum(-math.log1p(-0.5 / each) for each in (before, after))
    found = one(replace(claim(after / before), rounding=rounding), measured)
    assert found.obstacle is Obstacle.FEW_DIGITS


@pytest.mark.parametrize("measured", [row(0.998, 1.002), row(1.02, 1.025), IDENTICAL])
def test_noise_that_the_policy_calls_the_same_is_not_called_wrong(measured: MeasuredRow) -> None:
    assert one(claim(0.98), measured).obstacle is Obstacle.SMALL
    assert one(claim(0.98), replace(measured, same_within=0.01)).answer.is_adverse


@pytest.mark.parametrize(
    ("measured", "obstacle"),
    [
        (row(1.02, 1.025), Obstacle.SMALL),
        (replace(row(1.4, 1.5), is_doubtful=True), Obstacle.DOUBTFUL),
        (row(1.4, 1.5, "cpu_time"), Obstacle.NO_METRIC),
        (row(0.4, 0.41, "cpu_time"), Obstacle.NO_METRIC),
    ],
)
def test_what_was_measured_is_shown_if_it_gives_no_answer(measured: MeasuredRow, obstacle: Obstacle) -> None:
    found = one(claim(0.98), measured)
    assert (found.answer, found.obstacle) == (Answer.NOT_MEASURABLE, obstacle)
    assert [found.ratio, found.low, found.high] == pytest.approx(
        [measured.ratio, measured.low, measured.high]
    )


def test_a_small_claim_that_is_true_is_not_called_wrong() -> None:
    strict = replace(row(1.007, 1.009), same_within=0.005)
    assert one(claim(1.008), strict).answer is Answer.TOO_NOISY
    assert one(claim(1.0), strict).answer is Answer.NOT_REPRODUCED


def test_threads_beyond_the_cpus_are_not_answered() -> None:
    name = "HTB/Insert/threads:24"
    measured = replace(row(0.99, 1.01, name=name), cpus=2)
    assert one(claim(0.5, name=name), measured).obstacle is Obstacle.FEW_CPUS
    assert one(claim(0.5, name=name), replace(measured, cpus=24)).answer is Answer.NOT_REPRODUCED


def test_a_suite_that_names_its_metrics_looks_at_nothing_else() -> None:
    named = replace(row(0.99, 1.01, "cpu_time"), names_metrics=True)
    assert one(claim(0.5), named).obstacle is Obstacle.NO_METRIC
    assert one(claim(2.0, "items_per_second"), named).obstacle is Obstacle.NO_METRIC
    assert one(claim(1.0, "cpu_time"), named).answer is Answer.CONFIRMED


def test_cpu_time_answers_the_real_time_of_a_message_without_cpu_times() -> None:
    claims = [claim(0.97), claim(0.985, "cpu_time")]
    measured = row(0.984, 0.986, "cpu_time")
    assert one(claims[1], measured).answer is one(claim(0.985), measured).answer is Answer.CONFIRMED
    assert [each.obstacle for each in answers(claims, [measured])] == [Obstacle.NO_METRIC, ""]


@pytest.mark.parametrize(
    ("claimed", "measured", "answer"),
    [
        (0.5, row(1.4, 1.42, "cpu_time"), Answer.NOT_MEASURABLE),
        (0.5, row(0.99, 1.01, "cpu_time"), Answer.NOT_MEASURABLE),  # a fix of waiting does that
        (0.5, row(0.7, 0.71, "cpu_time"), Answer.NOT_MEASURABLE),
        (1.0, row(0.7, 0.71, "cpu_time"), Answer.NOT_MEASURABLE),
        (0.5, row(0.49, 0.51, "cpu_time"), Answer.CONFIRMED),
        (0.5, row(0.2, 0.21, "cpu_time"), Answer.NOT_MEASURABLE),
        (0.5, replace(IDENTICAL, metric="cpu_time"), Answer.NOT_REPRODUCED),
    ],
)
def test_cpu_time_contradicts_no_claim_of_real_time(
    claimed: float, measured: MeasuredRow, answer: Answer
) -> None:
    found = one(claim(claimed), measured)
    assert (found.answer, found.measured_metric) == (answer, "cpu_time")
    assert found.obstacle == (Obstacle.NO_METRIC if answer is Answer.NOT_MEASURABLE else "")
    assert one(claim(claimed, "cpu_time"), measured).answer is not Answer.NOT_MEASURABLE


def test_a_rate_follows_the_benchmarks_own_clock() -> None:
    name = "BM/real_time"
    rows = [row(0.99, 1.01, "cpu_time", name), row(0.495, 0.505, name=name)]
    assert one(claim(2.0, "items_per_second", name), *rows).answer is Answer.CONFIRMED


def test_a_rate_is_answered_by_the_time() -> None:
    found = one(claim(1.25, "items_per_second"), row(0.79, 0.81, "cpu_time"))
    assert found.answer is Answer.CONFIRMED
    assert found.ratio == pytest.approx(1.25, rel=0.01)
    assert [found.low, found.high] == pytest.approx([1 / 0.81, 1 / 0.79])


def test_the_own_row_of_a_metric_comes_first() -> None:
    rows = [row(0.99, 1.01, "cpu_time"), row(0.79, 0.81), row(1.2, 1.3, "items_per_second")]
    assert one(claim(0.8), *rows).answer is Answer.CONFIRMED
    assert one(claim(1.25, "items_per_second"), *rows).answer is Answer.CONFIRMED


@pytest.mark.parametrize(
    ("claim", "rows", "obstacle"),
    [
        (claim(0.8), [row(1, 1, name="Other")], Obstacle.NO_BENCHMARK),
        (claim(0.8), [row(1, 1), replace(row(1, 1), suite="t")], Obstacle.SEVERAL_SUITES),
        (claim(0.8, "PeakBytes"), [row(1, 1)], Obstacle.NO_METRIC),
        (claim(0.8, name="BM/threads:8"), [row(1, 1, "cpu_time", "BM/threads:8")], Obstacle.NO_METRIC),
        (claim(0.8), [replace(row(1, 1), per="items_per_second")], Obstacle.OTHER_WORK),
        (claim(None), [row(1, 1)], Obstacle.NO_RATIO),
        (claim(0.0), [row(1, 1)], Obstacle.NO_RATIO),
        (claim(math.inf), [row(1, 1)], Obstacle.NO_RATIO),
        (claim(1.0), [replace(row(1.04, 1.06), is_doubtful=True)], Obstacle.DOUBTFUL),
        (claim(0.8), [replace(row(1, 1), verdict=Verdict.NEW)], Obstacle.NOT_IN_PARENT),
        (claim(0.8), [replace(row(1, 1), verdict=Verdict.REMOVED)], Obstacle.NOT_IN_PATCH),
        (claim(0.8), [replace(row(1, 1), verdict=Verdict.BROKEN)], Obstacle.FAILS),
        (claim(0.8), [replace(row(1, 1), verdict=Verdict.FAILING)], Obstacle.FAILS),
        (claim(0.8), [replace(row(1, 1), low=None, high=None)], Obstacle.NO_PAIRS),
        (claim(0.8), [replace(row(1, 1), ratio=0.0, low=0.0)], Obstacle.NO_PAIRS),
    ],
)
def test_what_cannot_be_measured_says_why(claim: Claim, rows: list[MeasuredRow], obstacle: Obstacle) -> None:
    found = one(claim, *rows)
    assert (found.answer, found.obstacle) == (Answer.NOT_MEASURABLE, obstacle)


def test_a_rate_whose_work_changed_is_answered_by_the_time_of_that_work() -> None:
    per_item = replace(row(0.79, 0.81, "cpu_time"), per="items_per_second")
    assert one(claim(1.25, "items_per_second"), per_item).answer is Answer.CONFIRMED
    assert one(claim(0.8), per_item).obstacle is Obstacle.OTHER_WORK
    assert one(claim(1.25, "bytes_per_second"), per_item).obstacle is Obstacle.NO_METRIC


@pytest.mark.parametrize(
    ("first", "obstacle"),
    [
        (row(0.99, 1.01), ""),
        (replace(row(0.99, 1.01), is_doubtful=True), Obstacle.DOUBTFUL),
        (replace(row(1, 1), verdict=Verdict.BROKEN), Obstacle.FAILS),
        (replace(row(1, 1), per="items_per_second"), Obstacle.OTHER_WORK),
        (replace(row(1, 1), low=None, high=None), Obstacle.NO_PAIRS),
        (row(1, 1, "PeakBytes"), Obstacle.NO_METRIC),
    ],
)
def test_the_first_job_that_can_answers(first: MeasuredRow, obstacle: str) -> None:
    """A job is not passed over for what it measured."""
    later = replace(row(0.79, 0.81), job="other")
    passed = obstacle not in {"", Obstacle.DOUBTFUL}
    assert one(claim(0.8), first, later).job == (later if passed else first).job
    assert one(claim(0.8), first, replace(first, job="other")).obstacle == obstacle


def test_a_renamed_benchmark_answers_claims_of_its_old_name() -> None:
    renamed = {"HTB": "HashTableBench", "HTB/Find": "HashTableBench/Get"}
    measured = replace(row(0.79, 0.81, name="HashTableBench/Get/threads:1"), renamed=renamed)
    found = one(claim(0.8), measured)
    assert (found.answer, found.measured_benchmark) == (Answer.CONFIRMED, measured.benchmark)
    assert one(claim(0.8, name=f"{NAME}_median"), measured).measured_benchmark == measured.benchmark
    assert one(claim(0.8, name="HTB/Find/threads:2"), measured).obstacle is Obstacle.NO_BENCHMARK
    # Another suite may have the new name without the entry, and a job may still have the old one.
    same = replace(measured, renamed={}, ratio=1.0, low=1.0, high=1.0)
    assert one(claim(0.8), same, measured).answer is Answer.CONFIRMED
    assert one(claim(0.8), measured, replace(row(1, 1), job="other")).measured_benchmark == ""
    assert one(claim(0.8), measured, replace(measured, suite="t")).obstacle is Obstacle.SEVERAL_SUITES


def test_names_are_looked_for_with_those_that_jobs_rename_them_to() -> None:
    suites = [{"name": "s", "program": "p", "renamed": {"BM_a": "BM_b"}}, {"name": "t", "program": "p"}]
    job = parse_job("perf", {"kind": "benchmark", "pool": "perf", "suites": suites})
    later = parse_job("later", {"kind": "of-a-later-version"})
    assert with_new_names(["BM_a/8", "BM_c"], [None, later, job]) == ("BM_a/8", "BM_b/8", "BM_c")
    facts = [MeasuredRow.fields_of(*each) for each in ((job, "s"), (job, "t"), (later, "s"), (None, "s"))]
    assert [each["renamed"] for each in facts] == [{"BM_a": "BM_b"}, {}, {}, {}]


def test_a_mean_of_repetitions_is_answered_by_the_benchmark() -> None:
    assert one(claim(0.8, name=f"{NAME}_mean"), row(0.79, 0.81)).answer is Answer.CONFIRMED
    assert one(claim(0.8, name=f"{NAME}_stddev"), row(0.79, 0.81)).obstacle is Obstacle.NO_BENCHMARK


def test_each_of_several_variants_is_an_obstacle() -> None:
    variants = [claim(0.8), replace(claim(0.5), line=9), claim(0.8, name="Other")]
    found = answers(variants, [row(0.79, 0.81), row(0.79, 0.81, name="Other")])
    several = Obstacle.SEVERAL_VARIANTS
    assert [each.obstacle for each in found] == [several, several, ""]


def test_the_policy_of_the_row_says_how_small_no_change_is() -> None:
    """A claim of no change needs an interval within it."""
    strict = replace(row(0.98, 1.02), same_within=0.01)
    assert [one(claim(1.0), each).answer for each in (row(0.98, 1.02), strict)] == [
        Answer.CONFIRMED,
        Answer.TOO_NOISY,
    ]


def test_adverse_answers_share_their_error_among_the_rows_of_a_message() -> None:
    measured = replace(row(math.exp(-0.16), math.exp(-0.14)), error=0.01)
    more = [
        (claim(0.8, name=f"BM/{number}"), replace(measured, benchmark=f"BM/{number}")) for number in range(99)
    ]
    claims, rows = zip(*more, strict=True)
    for others, answer in (([], Answer.SMALLER), (rows, Answer.CONFIRMED)):
        assert answers([claim(0.8), *claims[: len(others)]], [measured, *others])[0].answer is answer


@pytest.mark.parametrize(
    ("error", "before", "after"),
    [
        (0.017, Answer.NOT_REPRODUCED, Answer.NOT_REPRODUCED),
        (0.018, Answer.TOO_NOISY, Answer.NOT_REPRODUCED),
        (0.02, Answer.TOO_NOISY, Answer.TOO_NOISY),  # a single row would not be too noisy
    ],
)
def test_rows_that_come_later_take_no_adverse_answer_back(
    error: float, before: Answer, after: Answer
) -> None:
    names, metrics = ("BM_b", "BM_b_mean"), ("cpu_time", "real_time")
    claims = [claim(0.8), *(claim(0.8, metric, name) for name in names for metric in metrics)]
    compared = replace(row(0.99, 1.01), error=error)
    later = [row(0.79, 0.81, metric, "BM_b") for metric in metrics]
    assert answers(claims[:1], [compared])[0].answer is Answer.NOT_REPRODUCED
    assert answers(claims, [compared])[0].answer is before
    assert answers(claims, [compared, *later])[0].answer is after


def test_reasons_tell_of_other_work_and_equal_programs() -> None:
    other = Reason(ReasonKind.WORK_CHANGED, ("items_per_second", 2.0))
    assert row(1, 1).with_reasons([other]).per == "items_per_second"
    assert row(1, 1).with_reasons([Reason(ReasonKind.SAME_PROGRAM)]).is_same_program
    refuted = [
        Reason(ReasonKind.SECOND_LIFTS, ("same", 20)),
        Reason(ReasonKind.LAYOUT_REFUTED, (0, 1.0)),
        Reason(ReasonKind.OWN_DIFFERENCE, (1.05,)),
    ]
    assert all(row(1, 1).with_reasons([each]).is_doubtful for each in refuted)
    assert not row(1, 1).with_reasons([Reason(ReasonKind.LAYOUT_CONFIRMED, (1.1,))]).is_doubtful
    assert row(1, 1).with_reasons([Reason(ReasonKind.MORE_PAIRS, (3,))]) == row(1, 1)


def test_the_names_of_claims_are_those_of_benchmarks_that_may_answer() -> None:
    assert names_of([claim(0.8), claim(0.7, name=f"{NAME}_mean")]) == (NAME, f"{NAME}_mean")


def test_equal_programs_confirm_only_that_nothing_changed() -> None:
    assert one(claim(0.8), IDENTICAL).answer is Answer.NOT_REPRODUCED
    assert one(claim(1.0), IDENTICAL).answer is Answer.CONFIRMED


@given(
    st.floats(0.01, 100.0),
    st.floats(-3.0, 3.0),
    st.floats(0.0, 3.0),
    st.floats(0.0, 1.0),
)
def test_a_claim_within_the_interval_gets_no_adverse_answer(
    ratio: float, offset: float, half: float, error: float
) -> None:
    """An interval may only be adverse to claims outside of it."""
    centre = math.log(ratio) + min(max(offset, -half), half)
    ends = (math.exp(centre - half), math.exp(centre + half))
    measured = replace(row(*ends), error=error)
    found = one(claim(ratio), measured)
    assert found.answer not in BESIDE


def test_true_claims_are_seldom_called_wrong() -> None:
    """Forty claims in each message, all exactly true; the pairs scatter by 5 %."""
    draw, messages, adverse = Random(33), 150, 0  # noqa: S311 - a simulation
    names = [f"BM/{number}" for number in range(40)]
    for _ in range(messages):
        rows = []
        for name in names:
            found = estimate_of([draw.gauss(math.log(0.9), 0.05) for _ in range(16)])
            low, high = map(math.exp, found.bounds(0.025))
            measured = row(low, high, name=name)
            rows.append(replace(measured, pairs=16, ratio=found.ratio, error=found.error))
        found_all = answers([claim(0.9, name=name) for name in names], rows)
        adverse += any(each.answer in BESIDE for each in found_all)
    assert adverse <= messages * WRONG
