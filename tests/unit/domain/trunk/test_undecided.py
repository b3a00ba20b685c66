"""Choose the undecided merged commit that is measured longer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.project.policy import MOST_PAIRS
from service.domain.trunk.undecided import UndecidedResult, worth_more_pairs

SOON = UndecidedResult(run_id=1, build_id=7, benchmark="BM_a", pairs=32, more=40.0, seconds=300.0)


def test_the_result_that_is_decided_soonest_is_first() -> None:
    late = replace(SOON, benchmark="BM_b", more=10.0, seconds=400.0)
    without_relinks = replace(SOON, benchmark="BM_c", more=0.0, seconds=0.0)
    assert worth_more_pairs([late, SOON, without_relinks]) == [without_relinks, SOON, late]
    assert worth_more_pairs([]) == []


@pytest.mark.parametrize(
    "result",
    [
        replace(SOON, more=MOST_PAIRS - 31.0),
        replace(SOON, seconds=3601.0),
        replace(SOON, more=0.0, seconds=0.0, tries=1),
    ],
)
def test_what_machine_time_will_hardly_decide_is_left(result: UndecidedResult) -> None:
    assert worth_more_pairs([result]) == []


@pytest.mark.parametrize(("more", "added"), [(0.0, 8), (3.2, 8), (40.0, 40), (500.0, 128)])
def test_a_run_adds_some_pairs_and_not_too_many(more: float, added: int) -> None:
    assert replace(SOON, more=more).pairs_to_add == added
