"""The message of a test job names the tests of the parent that no longer run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun
from service.domain.measuring.tests.record import TestSuite, write_tests
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind
from tests.support.review.changes import Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from pathlib import Path

FILE = "version: 1\njobs:\n  unit: {kind: ctest, pool: linux}\n"


def judged(
    farm: Farm, build: int, *names: str, outcome: Outcome = Outcome.PASSED, is_cut: bool = False
) -> tuple[str, ...]:
    cases = tuple(TestCase(name, CaseStatus.PASSED, 1.0) for name in names)
    key = farm.artifacts.put(write_tests([TestSuite("ctest", TestRun(cases))]))
    farm.report(MachineReport(outcome, ("cause",), tests=key, is_cut=is_cut), build)
    farm.analyse(build)
    ended = farm.service.store.memory.builds[build - 1]
    assert ended.outcome is outcome
    return ended.causes


def after_parent(tmp_path: Path) -> Farm:
    """Two patch sets of one parent; the first one's run becomes the parent's."""
    farm = Farm(tmp_path, Service(source=project(FILE)))
    farm.review(1)
    farm.review(2)
    memory = farm.service.store.memory
    base = memory.builds[1].spec["base"]
    memory.runs[0] = replace(memory.runs[0], kind=RunKind.POST_SUBMIT, revision=base["commit"])
    memory.trees[memory.runs[0].id] = (base["tree"], memory.trees[memory.runs[0].id][1])
    judged(farm, 1, "a", "b", "c")
    return farm


def test_a_test_that_the_parent_had_is_named_without_influence_on_the_vote(tmp_path: Path) -> None:
    assert judged(after_parent(tmp_path), 2, "a", "b") == ("cause", "1 test fewer than the parent: c")


def test_a_failed_build_whose_tests_did_not_all_run_names_none(tmp_path: Path) -> None:
    assert judged(after_parent(tmp_path), 2, "a", outcome=Outcome.FAILED, is_cut=True) == ("cause",)


def test_a_build_names_none_if_the_parents_results_are_deleted(tmp_path: Path) -> None:
    farm = after_parent(tmp_path)
    farm.artifacts.delete(farm.service.store.memory.builds[0].report.tests, 0)
    assert judged(farm, 2, "a") == ("cause",)


def test_a_build_names_none_if_the_parents_results_are_unknown(tmp_path: Path) -> None:
    farm = Farm(tmp_path, Service(source=project(FILE)))
    farm.review(1)
    assert judged(farm, 1, "a") == ("cause",)
