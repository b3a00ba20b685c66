"""A log of 200 MB costs the web part no more than a short one."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import pytest

from bench.logs import LONG, MEMORY_GOAL, measure_log

if TYPE_CHECKING:
    from pathlib import Path

BOUND = 1.0  # seconds; `make bench-logs` prints the figures of a quiet machine, which are a tenth of it


@pytest.mark.integration
@pytest.mark.nightly
def test_pages_and_ranges_of_a_log_of_200_mb_are_quick_and_take_no_memory(tmp_path: Path) -> None:
    figures = measure_log(tmp_path, requests=5)
    slow = {name: each for name, each in figures.seconds.items() if name not in LONG and median(each) > BOUND}
    assert slow == {}
    assert figures.after - figures.before < MEMORY_GOAL
