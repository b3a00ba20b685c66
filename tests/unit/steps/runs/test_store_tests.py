"""Durations of tests as points of series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun
from service.domain.measuring.tests.record import TestSuite, write_tests
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind, SeriesKey, Side
from tests.support.review.changes import Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.memory.state import Results

FILE = "version: 1\njobs:\n  unit: {kind: ctest, pool: linux}\n"
CASES = (
    TestCase("a", CaseStatus.PASSED, 1.5),
    TestCase("b", CaseStatus.FAILED, 2.5),
    TestCase("c", CaseStatus.SKIPPED, 0.0),
    TestCase("d", CaseStatus.PASSED, 0.0),
    TestCase("e", CaseStatus.PASSED, 4.0),
)


def stored(
    tmp_path: Path, cases: tuple[TestCase, ...], outcome: Outcome, kind: RunKind = RunKind.POST_SUBMIT
) -> Results | None:
    farm = Farm(tmp_path, Service(source=project(FILE)))
    farm.review()
    store = farm.service.store
    store.update(1, spec={**store.memory.builds[0].spec, "kind": str(kind)})
    key = farm.artifacts.put(write_tests([TestSuite("ctest", TestRun(cases))]))
    farm.report(MachineReport(outcome, tests=key))
    farm.analyse()
    assert store.memory.builds[0].outcome is outcome
    return store.memory.results.get(1)


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED])
def test_each_test_of_a_merged_commit_that_passed_is_a_point(tmp_path: Path, outcome: Outcome) -> None:
    found = stored(tmp_path, CASES, outcome)

    assert found is not None
    keys = [SeriesKey("gerrit", "kv", "master", "linux", "unit", "ctest", name, "real_time") for name in "ea"]
    assert found.series == dict.fromkeys(keys, ("s", "lower"))
    assert [(each.series, each.side, each.samples) for each in found.results] == [
        (keys[0], Side.PATCH, (4.0,)),
        (keys[1], Side.PATCH, (1.5,)),
    ]
    assert [(each.series, each.verdict, each.pairs, each.patch) for each in found.comparisons] == [
        (keys[0], "new", 1, 4.0),
        (keys[1], "new", 1, 1.5),
    ]


def test_the_tests_of_a_patch_set_are_no_points(tmp_path: Path) -> None:
    assert stored(tmp_path, CASES, Outcome.PASSED, RunKind.CHECK) is None


def test_the_slowest_of_many_tests_are_points(tmp_path: Path) -> None:
    many = tuple(TestCase(f"t{number}", CaseStatus.PASSED, 1.0 + number) for number in range(5001))
    found = stored(tmp_path, many, Outcome.PASSED)

    assert found is not None
    names = {key.benchmark for key in found.series}
    assert (len(names), "t0" in names, "t5000" in names) == (5000, False, True)
