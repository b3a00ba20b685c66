"""The read port over values in memory keeps the contract."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.decision.states import RunState
from service.domain.identity import RunKind
from service.domain.inference.verdict import Verdict
from tests.contract.reading import CHANGE, PARENT, MeasuredPatchSetsContract
from tests.support.reading.fake_reading import FakeReading, add_patch_set
from tests.support.reading.views import build_view, change_view, comparison


class FakeStage:
    def __init__(self) -> None:
        self.reading = FakeReading()
        self._rounds = 0

    def measure(self, patch_set: int, *benchmarks: str, parent: str = PARENT, is_check: bool = True) -> None:
        self._rounds += 1
        change = change_view(
            CHANGE, "Make it faster", patch_set=patch_set, run_id=self._rounds, run_state=RunState.FINISHED
        )
        rows = [comparison(k, name, 0.9, Verdict.SLOWER) for k, name in enumerate(benchmarks, start=1)]
        add_patch_set(self.reading, change, [(build_view(self._rounds, self._rounds), rows)], parent=parent)
        if not is_check:
            last = self.reading.runs[-1]
            self.reading.runs[-1] = replace(last, run=replace(last.run, kind=RunKind.POST_SUBMIT))


class TestFakeReading(MeasuredPatchSetsContract):
    @pytest.fixture
    def stage(self) -> FakeStage:
        return FakeStage()
