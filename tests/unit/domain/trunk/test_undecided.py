"""Choose the undecided merged commit that is measured longer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.project.policy import MOST_PAIRS
from service.domain.trunk.undecided import UndecidedResult, next_undecided

SOON = UndecidedResult(run_id=1, build_id=7, benchmark="BM_a", pairs=32, more=40.0, seconds=300.0)


def test_the_result_that_is_decided_soonest_is_first() -> None:
    late = replace(SOON, benchmark="BM_b", more=10.0, seconds=400.0)
    without_relinks = replace(SOON, benchmark="BM_c", more=0.0, seconds=0.0)
    assert next_undecided([late, SOON]) == SOON
    assert next_undecided([late, SOON, without_relinks]) == without_relinks
    assert next_undecided([]) is None


def test_a_result_that_would_need_too_many_pairs_is_left() -> None:
    assert next_undecided([replace(SOON, more=MOST_PAIRS - 31.0)]) is None
    assert next_undecided([replace(SOON, pairs=MOST_PAIRS - 1, more=1.0)]) is None


@pytest.mark.parametrize(("more", "added"), [(0.0, 8), (3.2, 8), (40.0, 40), (500.0, 128)])
def test_a_run_adds_some_pairs_and_not_too_many(more: float, added: int) -> None:
    assert replace(SOON, more=more).pairs_to_add == added
