"""Store contract: values that another program measured."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.imported import ImportedValue
from tests.support.store_samples import compared, queue

if TYPE_CHECKING:
    from service.ports.store import Store

_MARCH = datetime(2025, 3, 1, tzinfo=UTC)
_UNIT = ("s", "lower")
_OF = SeriesKey("gerrit", "kv", "master", "epyc", "perf", "executor", "", "")


def _key(benchmark: str) -> SeriesKey:
    return replace(_OF, benchmark=benchmark, metric="cpu_time")


def _store(
    store: Store,
    commit: str,
    values: dict[str, float],
    moment: datetime = _MARCH,
    position: int = 0,
    of: SeriesKey = _OF,
) -> int:
    found = {
        replace(of, benchmark=name, metric="cpu_time"): ImportedValue(commit, moment, value, position)
        for name, value in values.items()
    }
    with store.transaction() as tx:
        return tx.imported.replace_imported(of, commit, dict.fromkeys(found, _UNIT), found)


def _remove(store: Store, commit: str = "") -> int:
    with store.transaction() as tx:
        return tx.imported.remove_imported(_OF, commit)


class TestImportedValues:
    def test_imported_values_are_stored_once(self, store: Store) -> None:
        assert _store(store, "a1", {"BM_a": 1.0, "BM_b": 2.0}) == 2
        assert _store(store, "a1", {"BM_a": 1.0, "BM_b": 2.0}) == 0

    def test_each_commit_has_values_of_its_own(self, store: Store) -> None:
        assert _store(store, "a1", {"BM_a": 1.0}) == 1
        assert _store(store, "b2", {"BM_a": 1.0}) == 1

    def test_a_later_value_date_or_place_replaces_the_earlier_one(self, store: Store) -> None:
        april = datetime(2025, 4, 1, tzinfo=UTC)
        _store(store, "a1", {"BM_a": 1.0, "BM_b": 2.0})
        assert _store(store, "a1", {"BM_a": 1.5, "BM_b": 2.0}) == 1
        assert _store(store, "a1", {"BM_a": 1.5, "BM_b": 2.0}, april) == 2
        assert _store(store, "a1", {"BM_a": 1.5, "BM_b": 2.0}, april, 3) == 2
        assert _store(store, "a1", {"BM_a": 1.5, "BM_b": 2.0}, april, 3) == 0

    def test_values_that_a_later_file_of_the_commit_lacks_are_gone(self, store: Store) -> None:
        _store(store, "a1", {"BM_a": 1.0, "BM_wrong": 2.0})
        _store(store, "b2", {"BM_wrong": 2.0})
        assert _store(store, "a1", {"BM_a": 1.0}) == 1
        assert _remove(store) == 2

    @pytest.mark.parametrize("part", ["instance", "project", "branch", "machine_class", "job", "suite"])
    def test_values_of_another_key_stay(self, store: Store, part: str) -> None:
        other = replace(_OF, **{part: "other"})
        _store(store, "a1", {"BM_a": 1.0}, of=other)
        assert _store(store, "a1", {"BM_b": 1.0}) == 1
        assert _remove(store) == 1
        assert _store(store, "a1", {"BM_a": 1.0}, of=other) == 0

    def test_values_of_one_commit_or_of_all_are_removed(self, store: Store) -> None:
        for commit in ("a1", "b2", "c3"):
            _store(store, commit, {"BM_a": 1.0, "BM_b": 2.0})
        assert [_remove(store, "b2"), _remove(store, "b2"), _remove(store), _remove(store)] == [2, 0, 4, 0]

    def test_series_with_comparisons_are_measured_and_stay_without_imported_values(
        self, store: Store
    ) -> None:
        [build_id] = queue(store)
        measured, other = _key("BM_a"), _key("BM_b")
        with store.transaction() as tx:
            build = tx.builds.lock(build_id)
            rows = [compared(measured, Verdict.SAME)]
            tx.measurements.store_results(build, RunKind.CHECK, {measured: _UNIT}, [], rows)
            assert tx.imported.count_measured([measured, other]) == 1
            assert tx.imported.count_measured([other]) == 0
        _store(store, "a1", {"BM_a": 1.0})
        assert _remove(store) == 1
        with store.transaction() as tx:
            assert tx.imported.count_measured([measured]) == 1

    def test_a_value_of_an_unknown_series_is_refused(self, store: Store) -> None:
        with pytest.raises(KeyError), store.transaction() as tx:
            tx.imported.replace_imported(_OF, "a1", {}, {_key("BM_a"): ImportedValue("a1", _MARCH, 1.0)})

    def test_no_values_are_stored_without_any(self, store: Store) -> None:
        assert _store(store, "a1", {}) == 0
