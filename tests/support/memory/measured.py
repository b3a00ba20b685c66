"""Results of runs in memory, as branches and regressions read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.measuring.metric import Better
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from tests.support.memory.state import InMemory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.values.identity import SeriesKey
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.verdict import StoredComparison


class Measured(InMemory):
    """Results of runs on merged commits."""

    def _series(self) -> list[SeriesKey]:
        return list(dict.fromkeys(key for each in self._m.results.values() for key in each.series))

    def _builds_of(self, run_id: int) -> Iterator[BuildRecord]:
        return (self._m.builds[build - 1] for run, build in self._m.run_builds if run == run_id)

    def _comparisons(self, build_id: int) -> Sequence[StoredComparison]:
        found = self._m.results.get(build_id)
        return () if found is None else found.comparisons

    def _signs(self) -> dict[int, int]:
        units = {key: unit for each in self._m.results.values() for key, unit in each.series.items()}
        numbered = enumerate(units.values(), 1)
        return {number: -1 if better == Better.HIGHER else 1 for number, (_, better) in numbered}

    def _results_of(self, run_id: int) -> Iterator[tuple[int, int, StoredComparison, int]]:
        """Yield the build, the series and the sign of a slow-down of each timed result of a run."""
        known = self._series()
        signs = self._signs()
        for build in (each.id for each in self._builds_of(run_id)):
            for each in self._comparisons(build):
                if each.series.metric != INSTRUCTIONS.name:
                    number = known.index(each.series) + 1
                    yield build, number, each, signs[number]

    def _is_cut_short(self, run: RunRecord) -> bool:
        ends = {build.outcome for build in self._builds_of(run.id)}
        return not ends.isdisjoint({Outcome.CANCELLED, Outcome.INFRASTRUCTURE})

    def _is_done(self, run: RunRecord) -> bool:
        return run.state is RunState.FINISHED and not self._is_cut_short(run)
