"""Import result files of earlier commits."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from service.domain.measuring.formats.reader import ReadLimits, read_run
from service.domain.values.errors import BadInput, BadResults
from service.domain.values.identity import SeriesKey
from service.steps.verdict.compare_files import ResultFile
from service.steps.verdict.import_values import Imported, OldCommit, import_values, moment_of, remove_values
from tests.support.memory.store import MemoryStore

_OF = SeriesKey("gerrit", "kv", "master", "epyc", "perf", "executor", "", "")
_MARCH = datetime(2025, 3, 1, tzinfo=UTC)
_NOW = datetime(2025, 6, 1, tzinfo=UTC)
_COMMIT = "a1" * 20


def _row(name: str, cpu_time: float, **more: object) -> dict[str, Any]:
    times = {"real_time": 9.0, "cpu_time": cpu_time, "time_unit": "ns", "iterations": 10}
    return {"name": name, "run_name": name, "run_type": "iteration", **times, **more}


def _file(*rows: dict[str, Any]) -> ResultFile:
    return ResultFile("old.json", json.dumps({"context": {}, "benchmarks": rows}).encode())


def _import(store: MemoryStore, *rows: dict[str, Any], commit: str = _COMMIT) -> Imported:
    return import_values(store, _OF, OldCommit(commit, _MARCH), _file(*rows), is_new=True)


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
    assert (found.values, found.changes) == (3, 3)
    assert _stored(store) == {
        ("BM_a", "cpu_time", _COMMIT): pytest.approx(4e-9),
        ("BM_a", "items_per_second", _COMMIT): pytest.approx(2.5e8),
        ("BM_b/real_time", "real_time", _COMMIT): pytest.approx(9e-9),
    }


def test_the_same_file_again_stores_nothing_new() -> None:
    store = MemoryStore()
    _import(store, _row("BM_a", 5.0))
    assert _import(store, _row("BM_a", 5.0)).changes == 0
    assert _import(store, _row("BM_a", 5.0), commit="d2" * 20).changes == 1


def test_failed_benchmarks_are_left_out() -> None:
    store = MemoryStore()
    _import(store, _row("BM_a", 5.0), _row("BM_bad", 5.0, error_occurred=True, error_message="no"))
    assert {name for name, *_ in _stored(store)} == {"BM_a"}


def test_a_file_with_statistics_only_is_refused() -> None:
    mean = _row("BM_a_mean", 5.0) | {"run_type": "aggregate", "aggregate_name": "mean", "run_name": "BM_a"}
    with pytest.raises(BadResults, match=r"^old\.json: it has no single measurement"):
        _import(MemoryStore(), mean)


@pytest.mark.parametrize("commit", ["", "HEAD", "a" * 39, "A" * 40, "a" * 41, "a" * 63, "a" * 65])
def test_a_commit_that_is_no_hash_is_refused(commit: str) -> None:
    with pytest.raises(BadInput, match="40 or 64 hexadecimal digits"):
        _import(MemoryStore(), _row("BM_a", 5.0), commit=commit)


def test_a_file_replaces_all_values_of_its_commit() -> None:
    store = MemoryStore()
    _import(store, _row("BM_a", 5.0), _row("BM_wrong", 5.0))
    assert _import(store, _row("BM_a", 5.0)).changes == 1
    assert {name for name, *_ in _stored(store)} == {"BM_a"}


def test_a_file_of_which_nothing_is_measured_is_refused_and_named() -> None:
    store = MemoryStore()
    with pytest.raises(BadInput, match=r"^old\.json: Benchgate has measured none of its 1 series: check pro"):
        import_values(store, _OF, OldCommit(_COMMIT, _MARCH), _file(_row("BM_a", 5.0)))
    assert _stored(store) == {}


def test_a_damaged_file_is_refused_and_named() -> None:
    data = _file(_row("BM_a", 5.0), _row("BM_b", 5.0)).data
    store = MemoryStore()
    with pytest.raises(BadResults, match=r"^old\.json: it is cut off or damaged at byte"):
        import_values(store, _OF, OldCommit(_COMMIT, _MARCH), ResultFile("old.json", data[:-20]), is_new=True)
    assert _stored(store) == {}


def test_a_file_with_more_rows_than_are_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one_row = partial(read_run, limits=ReadLimits(rows=1))
    monkeypatch.setattr("service.steps.verdict.import_values.read_run", one_row)
    with pytest.raises(BadResults, match=r"^old\.json: it has more rows than are read"):
        _import(MemoryStore(), _row("BM_a", 5.0), _row("BM_b", 5.0))


def test_values_of_a_commit_are_removed() -> None:
    store = MemoryStore()
    _import(store, _row("BM_a", 5.0))
    _import(store, _row("BM_a", 5.0), commit="d2" * 20)
    assert remove_values(store, _OF, _COMMIT) == 1
    assert remove_values(store, _OF) == 1
    with pytest.raises(BadInput, match="--commit: a commit has 40 or 64"):
        remove_values(store, _OF, "HEAD")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2025-03-01", "2025-03-01T00:00:00+00:00"),
        ("2025-03-01T12:00", "2025-03-01T12:00:00+00:00"),
        ("2025-03-01T00:30+02:00", "2025-02-28T22:30:00+00:00"),
        ("1990-01-01T00:00-01:00", "1990-01-01T01:00:00+00:00"),
        ("2025-06-02T00:00Z", "2025-06-02T00:00:00+00:00"),
    ],
)
def test_a_date_is_a_moment_in_utc(text: str, moment: str) -> None:
    assert moment_of(text, "list:1", _NOW).isoformat() == moment


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no date"),
        ("yesterday", "is no date"),
        ("0001-01-01T00:00+01:00", "is no date"),
        ("9999-12-31T23:00-05:00", "is no date"),
        ("1970-01-01", "is before 1990"),
        ("1990-01-01T00:30+01:00", "is before 1990"),
        ("2025-06-02T00:01Z", "later than tomorrow"),
    ],
)
def test_a_date_that_cannot_be_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(BadInput, match=rf"^list:1: '{re.escape(text)}' .*{why}"):
        moment_of(text, "list:1", _NOW)
