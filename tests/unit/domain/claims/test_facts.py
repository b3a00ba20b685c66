"""The answer that counts for a benchmark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.claims.answers import Answer, AnsweredClaim
from service.domain.claims.facts import answers_by_benchmark
from service.domain.wording.claims import claims_sentence
from tests.support.reading.claimed import (
    CLAIMS,
    CONFIRMED,
    NO_BENCHMARK,
    RENAMED,
    SENTENCE,
)


def counts(*claims: AnsweredClaim) -> dict[Answer, int]:
    return dict(answers_by_benchmark(claims))


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
