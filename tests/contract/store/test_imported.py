"""Store contract: values that another program measured."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from service.domain.values.identity import SeriesKey
from service.domain.verdict.trend.imported import ImportedValue

if TYPE_CHECKING:
    from service.ports.store import Store

_MARCH = datetime(2025, 3, 1, tzinfo=UTC)
_UNIT = ("s", "lower")


def _key(benchmark: str) -> SeriesKey:
    return SeriesKey("gerrit", "kv", "master", "epyc", "perf", "executor", benchmark, "cpu_time")


def _store(store: Store, commit: str, values: dict[str, float], moment: datetime = _MARCH) -> int:
    found = {_key(name): ImportedValue(commit, moment, value) for name, value in values.items()}
    with store.transaction() as tx:
        return tx.imported.store_imported(dict.fromkeys(found, _UNIT), found)


class TestImportedValues:
    def test_imported_values_are_stored_once(self, store: Store) -> None:
        assert _store(store, "a1", {"BM_a": 1.0, "BM_b": 2.0}) == 2
        assert _store(store, "a1", {"BM_a": 1.0, "BM_b": 2.0}) == 0

    def test_each_commit_has_values_of_its_own(self, store: Store) -> None:
        assert _store(store, "a1", {"BM_a": 1.0}) == 1
        assert _store(store, "b2", {"BM_a": 1.0}) == 1

    def test_a_later_value_or_date_replaces_the_earlier_one(self, store: Store) -> None:
        _store(store, "a1", {"BM_a": 1.0, "BM_b": 2.0})
        assert _store(store, "a1", {"BM_a": 1.5, "BM_b": 2.0}) == 1
        assert _store(store, "a1", {"BM_a": 1.5, "BM_b": 2.0}, datetime(2025, 4, 1, tzinfo=UTC)) == 2
        assert _store(store, "a1", {"BM_a": 1.5}, datetime(2025, 4, 1, tzinfo=UTC)) == 0

    def test_a_value_of_an_unknown_series_is_refused(self, store: Store) -> None:
        with pytest.raises(KeyError), store.transaction() as tx:
            tx.imported.store_imported({}, {_key("BM_a"): ImportedValue("a1", _MARCH, 1.0)})

    def test_no_values_are_stored_without_any(self, store: Store) -> None:
        assert _store(store, "a1", {}) == 0
