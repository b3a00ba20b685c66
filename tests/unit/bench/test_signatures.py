"""Check that signatures of the labelled failures reach the goal in both halves of the set."""

from __future__ import annotations

import pytest

from bench.failures.labelled import Text, read_texts
from bench.failures.signatures import GOAL, of_headline, of_log, score_of, specific


@pytest.mark.parametrize("is_held_out", [False, True], ids=["tuning half", "held-out half"])
def test_precision_and_recall_reach_the_goal(*, is_held_out: bool) -> None:
    half = [text for text in read_texts() if text.is_held_out is is_held_out]
    result = score_of(half, of_headline)

    assert min(result.precision, result.recall) >= GOAL


@pytest.mark.parametrize("is_held_out", [False, True], ids=["tuning half", "held-out half"])
def test_the_failures_found_in_raw_logs_reach_it_too(*, is_held_out: bool) -> None:
    texts = [text for text in read_texts() if text.source == "log" and text.is_held_out is is_held_out]
    result = score_of(texts, of_log)

    assert min(result.precision, result.recall) >= GOAL


def test_only_texts_that_say_what_failed_have_specific_signatures() -> None:
    def of(raw: str) -> Text:
        return Text("a/b", False, "link", "", raw, raw, "log", "/src")  # noqa: FBT003 - a value

    named, end, nothing = map(
        of, ("a.o: undefined reference to `f()'", "collect2: error: ld returned 1", "ok")
    )
    assert specific([named, end, nothing], of_log) == [named]
