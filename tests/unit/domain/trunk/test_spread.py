"""Find slow-downs that are spread over several commits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.trunk.spread import KnownStep, SlowerAnchor, unexplained

WEEK = SlowerAnchor(1, 7, 3, 0.05, 0.04, begin=100, end=107)


def step(day: int, worsening: float, *, series: int = 3, days: int = 0) -> KnownStep:
    return KnownStep(series, worsening, 100 + day, 100 + day + days)


@pytest.mark.parametrize(
    ("known", "is_news"),
    [
        ([], True),
        ([step(3, 0.05)], False),
        ([step(3, 0.02)], True),
        ([step(3, 0.035)], False),  # less than the limit is left
        ([step(3, 0.05), step(4, -0.05)], True),  # repaired, and slower again
        ([step(0, 0.05)], True),  # the earlier commit has it, too
        ([step(7, 0.05)], False),
        ([step(8, 0.05)], True),
        ([step(3, 0.05, series=4)], True),
        ([step(1, 0.05, days=4)], False),  # a listed range inside
        ([step(1, 0.01, days=4)], True),
        ([step(1, 0.03, days=4), step(2, 0.02), step(2, 0.015, days=2)], True),  # the range has all of it
        ([step(1, 0.04, days=4), step(2, -0.03)], False),
        ([step(-1, 0.01, days=4)], False),  # the same commits are listed
        ([step(-7, 0.01, days=21)], False),
        ([step(-7, 0.05, days=7)], True),  # the week before
    ],
)
def test_an_anchor_is_news_as_far_as_no_commit_explains_it(known: list[KnownStep], *, is_news: bool) -> None:
    assert unexplained([WEEK], known) == ([WEEK] if is_news else [])


def test_an_anchor_that_may_be_explained_within_its_interval_is_not() -> None:
    assert unexplained([replace(WEEK, low=0.005)], []) == []
    assert unexplained([WEEK], [step(3, 0.0295)]) == [WEEK]
    assert unexplained([replace(WEEK, low=0.035)], [step(3, 0.0295)]) == []


def test_the_shortest_range_comes_first() -> None:
    month = replace(WEEK, run_id=2, begin=79)
    assert unexplained([month, WEEK], []) == [WEEK, month]
