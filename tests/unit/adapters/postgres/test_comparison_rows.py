from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, cast

import pytest

from service.adapters.postgres.verdict.shown_comparisons import comparison_of
from service.domain.verdict.inference.reasons import NOT_BY_PAIRS, Reason, ReasonKind

if TYPE_CHECKING:
    from sqlalchemy import RowMapping


def row(reason: Reason) -> RowMapping:
    stored = {
        "series_id": 1,
        "suite": "s",
        "benchmark": "BM_a",
        "metric": "cpu_time",
        "unit": "s",
        "better": "lower",
        "verdict": "undecided",
        "pairs": 12,
        **dict.fromkeys(("ratio", "low", "high", "base", "patch", "error")),
        "reason": "",
        "reasons": [asdict(reason)],
    }
    return cast("RowMapping", stored)


@pytest.mark.parametrize(
    "reason",
    [
        Reason(ReasonKind.LAYOUT_NOT_CHECKED),
        Reason(ReasonKind.LAYOUT_REFUTED, (1.0, 1.1)),
        Reason(ReasonKind.SECOND_LIFTS, ("same", 24, 1.001)),
    ],
)
def test_more_pairs_are_not_offered_if_they_cannot_decide(reason: Reason) -> None:
    assert reason.kind in NOT_BY_PAIRS
    assert not comparison_of(row(reason)).needs_pairs


def test_more_pairs_are_offered_to_a_too_wide_interval() -> None:
    assert comparison_of(row(Reason(ReasonKind.TOO_FEW_PAIRS, (5, 7)))).needs_pairs
