"""Record what a merged commit made slower when its run is finished."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.metric import Better
from service.domain.review.change import PatchSetKind
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.slowdown import Slowdown
from service.domain.trunk.regression import GateSaid, RegressionState
from service.domain.verdict.inference.verdict import Verdict
from service.ports.runs.decisions import NewOverride
from service.steps.runs.record_regression import record_regression
from tests.support.memory.store import MemoryStore
from tests.support.store_samples import change
from tests.support.trunk import SLOWER, check, key, merge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.values.identity import SeriesKey
    from service.ports.store import Transaction
    from tests.support.memory.state import StoredRegression
    from tests.support.trunk import Row

UNDECIDED = (Verdict.UNDECIDED, ())


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def merged(
    store: MemoryStore,
    before: Mapping[SeriesKey, Row],
    *,
    accepted_up_to: float = 0.0,
    is_rebased: bool = False,
) -> list[StoredRegression]:
    """Merge a change that makes BM_a slower, after a check and perhaps an accept; return the regressions."""
    levels = (Slowdown("BM_a", "real_time", Better.LOWER, 0.1, 0.05, accepted_up_to, "cv-perf", "executor"),)
    with store.transaction() as tx:
        patch_set = check(tx, before)
        if accepted_up_to:
            entry = NewOverride(OverrideKind.ACCEPT, "1000003", "Bob", pattern="BM_a", levels=levels)
            tx.overrides.add(patch_set, entry)
        if is_rebased:
            made = change(7, 2, minutes=2)
            rebased = replace(made, current=replace(made.current, kind=PatchSetKind.REBASED))
            patch_set = tx.changes.upsert(rebased).patch_set_id
        run = merge(tx, patch_set, {key("BM_a"): SLOWER})
        record(tx, run)
    return store.memory.regressions


def record(tx: Transaction, run: int) -> None:
    record_regression(tx, tx.runs.lock(run), tx.builds.of_run(run))


def test_a_merged_slow_down_is_recorded_with_what_the_gate_had_said(store: MemoryStore) -> None:
    [found] = merged(store, {key("BM_a"): UNDECIDED})
    assert found.state is RegressionState.UNTRIAGED
    assert [said for _, said in found.results] == [GateSaid.UNDECIDED]


@pytest.mark.parametrize("is_rebased", [False, True])
@pytest.mark.parametrize(
    ("level", "state", "said"),
    [
        (0.12, RegressionState.ACCEPTED, GateSaid.WAIVED),
        (0.08, RegressionState.UNTRIAGED, GateSaid.VOTED),
    ],
)
def test_what_a_reviewer_accepted_before_the_merge_is_accepted_up_to_its_level(
    store: MemoryStore, level: float, state: RegressionState, said: GateSaid, *, is_rebased: bool
) -> None:
    [found] = merged(store, {key("BM_a"): SLOWER}, accepted_up_to=level, is_rebased=is_rebased)
    assert found.state is state
    assert [each for _, each in found.results] == [said]


def test_a_run_is_recorded_once(store: MemoryStore) -> None:
    merged(store, {})
    with store.transaction() as tx:
        record(tx, len(store.memory.runs))
    assert len(store.memory.regressions) == 1
