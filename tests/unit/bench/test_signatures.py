"""The signatures of the labelled failures reach the goal in both halves of the set."""

from __future__ import annotations

import pytest

from bench.labelled import read_texts, score
from bench.signatures import GOAL, of_headline, of_log


@pytest.mark.parametrize("is_held_out", [False, True], ids=["tuning half", "held-out half"])
def test_precision_and_recall_reach_the_goal(*, is_held_out: bool) -> None:
    half = [text for text in read_texts() if text.is_held_out is is_held_out]
    result = score(half, of_headline)

    assert min(result.precision, result.recall) >= GOAL


@pytest.mark.parametrize("is_held_out", [False, True], ids=["tuning half", "held-out half"])
def test_the_failures_found_in_raw_logs_reach_it_too(*, is_held_out: bool) -> None:
    texts = [text for text in read_texts() if text.source == "log" and text.is_held_out is is_held_out]
    result = score(texts, of_log)

    assert min(result.precision, result.recall) >= GOAL
