from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.verdict.calibration.evidence import Session
from service.domain.wording.measured_causes import calibration_cause
from tests.unit.domain.comparisons import FASTER, SAME, slower

if TYPE_CHECKING:
    from service.domain.verdict.inference.verdict import Comparison

SLOWER = slower("BM_a", 1.2)
LOGS = (0.0,) * 16


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        ([], "nothing has the 5 pairs that a comparison needs"),
        ([SAME], "no false alarm in 1 comparison of 16 pairs of a program with itself"),
        (
            [SAME, SLOWER],
            (
                "1 false alarm in 2 comparisons of 16 pairs of a program with itself; "
                "worst: BM_a CPU time +20.0 % [+19.0, +21.0], 1 → 1.20 s, 24 pairs"
            ),
        ),
        (
            [SLOWER, FASTER],
            (
                "2 false alarms in 2 comparisons of 16 pairs of a program with itself; "
                "worst: BM_fast CPU time −50.0 % [−51.0, −49.0], 1 s → 500 ms, 12 pairs"
            ),
        ),
    ],
)
def test_a_calibration_counts_its_alarms_and_names_the_worst(rows: list[Comparison], cause: str) -> None:
    sessions = {each.row: Session(LOGS, each.verdict) for each in rows}

    assert calibration_cause(rows, sessions) == cause
