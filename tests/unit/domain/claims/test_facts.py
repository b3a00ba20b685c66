"""The answer that counts for a benchmark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.claims.answers import Answer, AnsweredClaim, Obstacle
from service.domain.claims.facts import answers_by_benchmark, answers_that_count
from service.domain.wording.claims import claims_sentence
from tests.support.reading.claimed import (
    CLAIMS,
    CONFIRMED,
    NO_BENCHMARK,
    RENAMED,
    SENTENCE,
)


def counts(*claims: AnsweredClaim) -> dict[Answer, int]:
    return dict(answers_by_benchmark(answers_that_count(claims)))


def test_each_benchmark_counts_once_by_the_metric_that_was_compared() -> None:
    assert claims_sentence(CLAIMS) == SENTENCE
    by_real_time = replace(CONFIRMED, metric="items_per_second", answer=Answer.SMALLER)
    assert counts(by_real_time, CONFIRMED) == {Answer.CONFIRMED: 1}


def test_a_benchmark_with_an_adverse_answer_is_not_confirmed() -> None:
    counter = replace(CONFIRMED, metric="bytes", measured_metric="bytes", answer=Answer.NOT_REPRODUCED)
    assert counts(CONFIRMED, counter) == counts(counter, CONFIRMED) == {Answer.NOT_REPRODUCED: 1}


@pytest.mark.parametrize("claim", [CONFIRMED, NO_BENCHMARK])
def test_mean_and_median_are_claims_of_one_benchmark(claim: AnsweredClaim) -> None:
    repeated = [replace(claim, benchmark=f"BM_{each}") for each in ("mean", "median")]
    assert counts(*repeated) == {claim.answer: 1}


def test_old_and_new_name_are_one_benchmark() -> None:
    new = replace(RENAMED, benchmark=RENAMED.measured_benchmark, measured_benchmark="")
    assert counts(RENAMED, new) == {Answer.CONFIRMED: 1}


def test_a_missing_benchmark_counts_before_another_variant_of_it() -> None:
    other = replace(NO_BENCHMARK, obstacle=str(Obstacle.OTHER_VARIANT))
    assert answers_that_count([other, NO_BENCHMARK]) == (NO_BENCHMARK,)


def test_the_sentence_counts_no_two_benchmarks_as_one() -> None:
    """BM_b is renamed, and BM_a got its name."""
    without = replace(NO_BENCHMARK, benchmark="BM_b", obstacle=str(Obstacle.NO_METRIC))
    fails = replace(without, metric="items_per_second", measured_metric="cpu_time", measured_benchmark="BM_c")
    other = replace(CONFIRMED, benchmark="BM_a", measured_benchmark="BM_b")
    counted = "1 of 2 benchmarks confirmed, 1 not measurable here"
    assert claims_sentence([without, fails, other]).endswith(f": {counted}")
