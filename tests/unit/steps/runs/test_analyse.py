from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.failures.failure import Failure, FailureKind
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import NotFound
from service.domain.values.identity import SeriesKey, Side
from service.ports.failures.storing import BuildFailures
from service.steps.runs.analyse import give_up
from tests.support.building.memory_source import CODE, code
from tests.support.review.changes import PROJECT_FILE, Service, project
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    farm = Farm(tmp_path)
    farm.review()
    return farm


def test_measurements_become_results_verdicts_and_an_outcome(farm: Farm) -> None:
    farm.execute()
    farm.analyse()
    (build,) = farm.service.store.memory.builds
    stored = farm.service.store.memory.results[1]

    assert (build.state, build.outcome) == (BuildState.FINISHED, Outcome.SLOWER)
    assert build.causes[0].startswith("1 of 2 results is slower; worst: BM_a CPU time +10.")
    assert build.causes[0].endswith(", 14 pairs on perf-01")
    assert [row.key for row in build.slowdowns or ()] == [("perf", "bench", "BM_a", "cpu_time")]
    assert [(comparison.verdict, comparison.pairs) for comparison in stored.comparisons] == [
        ("slower", 14),
        ("same", 5),
    ]
    series = SeriesKey("gerrit", "kv", "master", "perf", "perf", "bench", "BM_a", "cpu_time")
    assert stored.series[series] == ("s", "lower")
    lengths = {(result.series.benchmark, result.side): len(result.samples) for result in stored.results}
    assert lengths == {(name, side): 14 for name in ("BM_a", "BM_b") for side in Side}
    assert [result.samples[5:] for result in stored.results if result.series.benchmark == "BM_b"] == [
        (None,) * 9
    ] * 2
    assert farm.service.store.memory.hints[-1] == ("vote", 1)


def test_analysing_again_changes_nothing(farm: Farm) -> None:
    farm.execute()
    farm.analyse()
    before = repr(farm.service.store.memory)
    farm.analyse()

    assert repr(farm.service.store.memory) == before


def test_the_failures_that_the_machine_reports_are_stored(farm: Farm) -> None:
    failure = Failure(FailureKind.TEST, "ep.expiry", "Failed")
    farm.report(MachineReport(outcome=Outcome.FAILED, failures=(failure,), is_cut=True))
    farm.analyse()

    assert farm.service.store.memory.build_failures == {1: BuildFailures((failure,), is_cut=True)}


def test_the_failures_that_a_retry_cleared_are_stored_apart(farm: Farm) -> None:
    failure = Failure(FailureKind.TEST, "ep.expiry", "Failed")
    farm.report(MachineReport(outcome=Outcome.PASSED, retried=("ep.expiry",), cleared=(failure,)))
    farm.analyse()
    memory = farm.service.store.memory

    assert memory.builds[0].outcome is Outcome.PASSED
    assert (memory.build_failures, memory.cleared) == ({1: BuildFailures()}, {1: (failure,)})


@pytest.mark.parametrize(
    ("reported", "outcome"),
    [
        ({}, Outcome.UNDECIDED),
        ({"is_parent_lost": True}, Outcome.INFRASTRUCTURE),
        ({"is_used_up_by_patch": True}, Outcome.UNDECIDED_WITHHELD),
    ],
)
def test_an_undecided_build_gets_no_vote_if_the_patch_may_be_why(
    tmp_path: Path, reported: dict[str, bool], outcome: Outcome
) -> None:
    source = project(PROJECT_FILE.replace("layout: off", "layout: off, floor: 2%, same_within: 2%"))
    at_the_floor = code(BM_a=1.02e-6, BM_b=2e-6)
    source.commit("patch1", "parent", {**source.commits["parent"].files, CODE: at_the_floor})
    farm = Farm(tmp_path, Service(source=source))
    farm.review()
    report = farm.execute()
    assert report is not None
    farm.report(replace(report, **reported))  # type: ignore[arg-type]
    farm.analyse()

    assert farm.service.store.memory.builds[0].outcome is outcome


@pytest.mark.parametrize("state", [BuildState.QUEUED, BuildState.RUNNING, BuildState.FINISHED])
def test_an_unexecuted_build_is_not_analysed(farm: Farm, state: BuildState) -> None:
    farm.service.store.update(1, state=state)
    before = repr(farm.service.store.memory)
    farm.analyse()

    assert repr(farm.service.store.memory) == before


@pytest.mark.parametrize(
    "outcome", [Outcome.FAILED, Outcome.NO_PARENT, Outcome.INFRASTRUCTURE, Outcome.CANCELLED]
)
def test_an_outcome_from_the_machine_is_kept_with_its_causes(farm: Farm, outcome: Outcome) -> None:
    farm.report(MachineReport(outcome, ("because",)))
    farm.analyse()
    (build,) = farm.service.store.memory.builds

    assert (build.state, build.outcome, build.causes) == (BuildState.FINISHED, outcome, ("because",))
    assert farm.service.store.memory.results == {}


def test_a_failing_artifact_store_changes_nothing(farm: Farm) -> None:
    farm.execute()
    farm.artifacts.kept.clear()
    before = repr(farm.service.store.memory)
    with pytest.raises(NotFound):
        farm.analyse()

    assert repr(farm.service.store.memory) == before


@pytest.mark.parametrize(
    ("base", "patch", "outcome", "cause"),
    [
        (
            {},
            {"BM_a": 1e-6},
            Outcome.NO_PARENT,
            "nothing to compare with: no benchmark of the parent matches the filters of the suites",
        ),
        (
            {"BM_a": 1e-6},
            {},
            Outcome.MEASURED_NOTHING,
            "suite bench measured nothing: the patch lists no benchmark",
        ),
        ({"BM_a": 1e-6, "BM_b": 1e-6}, {"BM_b": 1e-6}, Outcome.REMOVED, "1 benchmark removed: BM_a"),
        (
            {"BM_b": 1e-6},
            {"BM_a": 1e-6, "BM_b": 1e-6},
            Outcome.PASSED,
            "1 of 2 results is the same",
        ),
        (
            {"BM_b": 1.1e-6},
            {"BM_b": 1e-6},
            Outcome.PASSED,
            "1 of 1 result is faster; best: BM_b CPU",
        ),
    ],
)
def test_benchmarks_may_come_and_go(
    tmp_path: Path, base: dict[str, float], patch: dict[str, float], outcome: Outcome, cause: str
) -> None:
    source = project()
    kept = source.commits["parent"].files
    source.commit("parent", "root", {**kept, CODE: code(**base)}, "refs/heads/master")
    source.commit("patch1", "parent", {**kept, CODE: code(**patch)}, "refs/changes/07/7/1")
    farm = Farm(tmp_path, Service(source=source))
    farm.review()
    farm.execute()
    farm.analyse()
    (build,) = farm.service.store.memory.builds

    assert build.outcome is outcome
    assert build.causes[0].startswith(cause)


class TestGivingUp:
    def test_a_build_that_no_machine_finished_is_an_infrastructure_failure(self, farm: Farm) -> None:
        give_up(farm.service.store, 1, "the machine stopped responding")
        (build,) = farm.service.store.memory.builds

        assert (build.outcome, build.causes) == (Outcome.INFRASTRUCTURE, ("the machine stopped responding",))
        assert farm.service.store.memory.hints[-1] == ("vote", 1)

    def test_an_unwanted_build_is_cancelled(self, farm: Farm) -> None:
        farm.service.store.update(1, cancel_requested=True)
        give_up(farm.service.store, 1, "cancelled")

        assert farm.service.store.memory.builds[0].outcome is Outcome.CANCELLED

    def test_a_finished_build_keeps_its_outcome(self, farm: Farm) -> None:
        farm.execute()
        farm.analyse()
        give_up(farm.service.store, 1, "too late")

        assert farm.service.store.memory.builds[0].outcome is Outcome.SLOWER
