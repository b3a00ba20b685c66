"""Import result files of earlier commits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from service.domain.values.errors import BadInput, BadResults
from service.domain.values.identity import SeriesKey
from service.steps.verdict.compare_files import ResultFile
from service.steps.verdict.import_values import Imported, import_values
from tests.support.memory.store import MemoryStore

_OF = SeriesKey("gerrit", "kv", "master", "epyc", "perf", "executor", "", "")
_MARCH = datetime(2025, 3, 1, tzinfo=UTC)


def _row(name: str, cpu_time: float, **more: object) -> dict[str, Any]:
    times = {"real_time": 9.0, "cpu_time": cpu_time, "time_unit": "ns", "iterations": 10}
    return {"name": name, "run_name": name, "run_type": "iteration", **times, **more}


def _file(*rows: dict[str, Any]) -> ResultFile:
    return ResultFile("old.json", json.dumps({"context": {}, "benchmarks": rows}).encode())


def _import(store: MemoryStore, *rows: dict[str, Any], commit: str = "abc1234") -> Imported:
    return import_values(store, _OF, commit, _MARCH, _file(*rows))


def _stored(store: MemoryStore) -> dict[tuple[str, str, str], float]:
    return {
        (key.benchmark, key.metric, commit): each.value
        for (key, commit), each in store.memory.imported.items()
    }


def test_the_best_repetition_of_the_own_clock_and_the_rates_are_stored() -> None:
    store = MemoryStore()
    rows = [
        _row("BM_a", each, repetition_index=k, items_per_second=1e9 / each) for k, each in enumerate((5, 4))
    ]
    found = _import(store, *rows, _row("BM_b/real_time", 3.0, PeakBytes=7))
    assert (found.values, found.news) == (3, 3)
    assert _stored(store) == {
        ("BM_a", "cpu_time", "abc1234"): pytest.approx(4e-9),
        ("BM_a", "items_per_second", "abc1234"): pytest.approx(2.5e8),
        ("BM_b/real_time", "real_time", "abc1234"): pytest.approx(9e-9),
    }


def test_the_same_file_again_stores_nothing_new() -> None:
    store = MemoryStore()
    _import(store, _row("BM_a", 5.0))
    assert _import(store, _row("BM_a", 5.0)).news == 0
    assert _import(store, _row("BM_a", 5.0), commit="def5678").news == 1


def test_failed_benchmarks_are_left_out() -> None:
    store = MemoryStore()
    _import(store, _row("BM_a", 5.0), _row("BM_bad", 5.0, error_occurred=True, error_message="no"))
    assert {name for name, *_ in _stored(store)} == {"BM_a"}


def test_a_file_with_statistics_only_is_refused() -> None:
    mean = _row("BM_a_mean", 5.0) | {"run_type": "aggregate", "aggregate_name": "mean", "run_name": "BM_a"}
    with pytest.raises(BadResults, match=r"^old\.json: it has no single measurement"):
        _import(MemoryStore(), mean)


@pytest.mark.parametrize("commit", ["", "HEAD", "abc123", "ABC1234", "a" * 65])
def test_a_commit_that_is_no_hash_is_refused(commit: str) -> None:
    with pytest.raises(BadInput, match="7 to 64 hexadecimal digits"):
        _import(MemoryStore(), _row("BM_a", 5.0), commit=commit)
