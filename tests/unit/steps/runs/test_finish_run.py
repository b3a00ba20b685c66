from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.failures.failure import FailureKind, failure_of
from service.domain.review.change import ChangeStatus, PatchSetKind
from service.domain.review.links import Links
from service.domain.runs.machine_report import CHECKED, PATCH_BUILT, MachineReport
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.regression import GateSaid, RegressionState, Weight
from service.domain.values.errors import Transient
from service.domain.values.identity import BuildName, RunKind
from service.ports.failures.storing import BuildFailures
from service.ports.runs.runs import NewRun
from service.steps.runs.analyse import give_up
from tests.support.log_lines import line_of
from tests.support.memory.store import MemoryStore
from tests.support.review.changes import KEY, PROJECT_FILE, Service, change_at, project
from tests.support.runs.finished import Farm
from tests.support.store_samples import named, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.ports.store import Transaction

TWO_JOBS = PROJECT_FILE + PROJECT_FILE.split("jobs:\n")[1].replace("  perf:", "  more:")


PASSED = MachineReport(Outcome.PASSED)
TESTS = """\
version: 1
label: Performance
jobs:
  unit: {kind: ctest, pool: perf}
  style: {kind: clang-format, pool: perf}
"""

TIDY = """\
version: 1
label: Performance
jobs:
  tidy: {kind: clang-tidy, pool: perf, build: {configure: cmake .}}
"""


class WithoutCommit(MemoryStore):
    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with super().transaction() as tx:
            yield tx
            raise Transient("the connection is lost")


def farm_with(tmp_path: Path, text: str = PROJECT_FILE) -> Farm:
    farm = Farm(tmp_path, Service(source=project(text)))
    farm.review()
    return farm


def finish(farm: Farm, *outcomes: Outcome) -> None:
    for build_id, outcome in enumerate(outcomes, 1):
        farm.report(MachineReport(outcome, (f"{outcome} for a reason",)), build_id)
        farm.analyse(build_id)


def test_the_log_line_of_a_decision_names_run_change_and_patch_set(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    finish(farm, Outcome.FAILED)
    line = line_of("run.decided", farm.service.vote)

    assert (line["run"], line["change"], line["patch_set"]) == (1, f"{KEY.instance}~{KEY.number}", 1)
    assert (line["vote"], line["decision"]) == (-1, 1)


def test_the_log_line_of_an_analysed_build_names_its_runs_change_and_patch_set(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    farm.report(MachineReport(Outcome.FAILED, ("a reason",)), 1)
    line = line_of("build.finished", lambda: farm.analyse(1))
    assert (line["build"], line["runs"], line["outcome"]) == ("perf/1", [1], Outcome.FAILED)
    assert (line["change"], line["patch_set"]) == (f"{KEY.instance}~{KEY.number}", 1)


def test_the_log_line_of_a_build_that_was_given_up_names_it_and_follows_the_commit(tmp_path: Path) -> None:
    store, broken = farm_with(tmp_path).service.store, WithoutCommit()
    broken.memory = store.memory

    def end() -> None:
        with pytest.raises(Transient):
            give_up(broken, 1, "no machine")
        give_up(store, 1, "no machine")

    line = line_of("build.finished", end)
    assert (line["build"], line["change"]) == ("perf/1", f"{KEY.instance}~{KEY.number}")


def test_a_finished_run_is_decided_and_its_review_queued(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    finish(farm, Outcome.FAILED)
    farm.service.vote()
    memory = farm.service.store.memory

    (decision,) = memory.decisions
    assert (decision.vote, decision.number, decision.header) == (-1, 1, "Build Failed")
    assert farm.service.runs() == [("patch1", RunState.FINISHED)]
    (review,) = memory.reviews.values()
    assert (review.review.change, review.review.revision) == (KEY, "patch1")
    assert review.review.labels == {"Performance": -1}
    assert review.review.marker == "https://bench.example.com/runs/1#v1"
    assert review.review.message == decision.message
    assert decision.message == (
        "Build Failed \n\nhttps://bench.example.com/job/perf/1/ : FAILURE\n\nfailed for a reason\n\n"
        "Next: repeat it on your machine: `benchgate gate --job perf`\n\n"
        "https://bench.example.com/runs/1#v1"
    )


def test_a_failure_that_the_parent_has_too_is_named_and_still_counts(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    flaky = failure_of(FailureKind.TEST, "ep.expiry", "Failed", "Test #1: ep.expiry ***Failed")
    check = farm.service.store.memory.runs[0]
    assert check.parent is not None
    parent = NewRun(
        RunKind.POST_SUBMIT, None, check.instance, check.project, check.branch, revision=check.parent
    )
    with farm.service.store.transaction() as tx:
        build = tx.builds.add(start(tx, parent), 0, named("perf"))
        tx.failures.store_failures(build, BuildFailures((flaky,)))
        tx.builds.finish(build, Outcome.FAILED, [])
    farm.report(MachineReport(Outcome.FAILED, (flaky.line,), failures=(flaky,)), 1)
    farm.analyse(1)
    farm.service.vote()
    (decision,) = farm.service.store.memory.decisions
    assert decision.vote == -1
    line = "\n\nTest #1: ep.expiry \\*\\*\\*Failed\n\nep.expiry also fails on the parent, build perf/2\n\n"
    assert line in decision.message


def test_it_waits_for_the_last_build(tmp_path: Path) -> None:
    farm = farm_with(tmp_path, TWO_JOBS)
    finish(farm, Outcome.PASSED)
    farm.service.vote()
    assert farm.service.store.memory.decisions == []

    farm.report(MachineReport(Outcome.FAILED), 2)
    farm.analyse(2)
    farm.service.vote()
    assert [decision.vote for decision in farm.service.store.memory.decisions] == [-1]


def test_a_run_is_decided_once(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    finish(farm, Outcome.PASSED)
    for _ in range(3):
        farm.service.vote()

    assert len(farm.service.store.memory.decisions) == len(farm.service.store.memory.reviews) == 1


@pytest.mark.parametrize(
    ("outcomes", "labels", "header"),
    [
        ((Outcome.PASSED, Outcome.UNDECIDED), {"Performance": 1}, "Build Successful"),
        ((Outcome.PASSED, Outcome.SLOWER), {"Performance": -1}, "Benchmarks Failed"),
        ((Outcome.PASSED, Outcome.INFRASTRUCTURE), {}, "Build Aborted"),
        ((Outcome.SLOWER, Outcome.INFRASTRUCTURE), {"Performance": -1}, "Benchmarks Failed"),
        ((Outcome.SLOWER, Outcome.FAILED), {"Performance": -1}, "Build Failed"),
        ((Outcome.NO_PARENT, Outcome.NO_PARENT), {"Performance": 1}, "Build Successful"),
        ((Outcome.UNDECIDED_WITHHELD, Outcome.PASSED), {}, "Build Unstable"),
    ],
)
def test_the_vote_is_the_minimum_and_the_header_follows_it(
    tmp_path: Path, outcomes: tuple[Outcome, ...], labels: dict[str, int], header: str
) -> None:
    farm = farm_with(tmp_path, TWO_JOBS)
    finish(farm, *outcomes)
    farm.service.vote()

    (review,) = farm.service.store.memory.reviews.values()
    assert review.review.labels == labels
    assert review.review.message.startswith(f"{header} \n\n")


@pytest.mark.parametrize(
    ("unit", "style", "header"),
    [
        (MachineReport(Outcome.FAILED, seconds={PATCH_BUILT: 3.0, "test": 1.0}), PASSED, "Tests Failed"),
        (MachineReport(Outcome.FAILED), PASSED, "Build Failed"),
        (PASSED, MachineReport(Outcome.FAILED, seconds={"check": 1.0}), "Format Check Failed"),
        (
            MachineReport(Outcome.FAILED, seconds={PATCH_BUILT: 3.0}),
            MachineReport(Outcome.FAILED),
            "Build Failed",
        ),
    ],
)
def test_the_header_says_what_failed_once_the_sources_are_built(
    tmp_path: Path, unit: MachineReport, style: MachineReport, header: str
) -> None:
    farm = farm_with(tmp_path, TESTS)
    for build_id, report in enumerate((unit, style), 1):
        farm.report(report, build_id)
        farm.analyse(build_id)
    farm.service.vote()

    (decision,) = farm.service.store.memory.decisions
    assert decision.header == header


@pytest.mark.parametrize(("seconds", "header"), [({CHECKED: 0.1}, "Lint Check Failed"), ({}, "Build Failed")])
def test_the_header_does_not_blame_an_unneeded_build(
    tmp_path: Path, seconds: dict[str, float], header: str
) -> None:
    """A patch set that changes too much to be checked is not built."""
    farm = farm_with(tmp_path, TIDY)
    farm.report(MachineReport(Outcome.FAILED, seconds=seconds), 1)
    farm.analyse(1)
    farm.service.vote()

    (decision,) = farm.service.store.memory.decisions
    assert decision.header == header


def test_a_cancelled_run_casts_no_vote_and_posts_nothing(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    finish(farm, Outcome.FAILED)
    farm.service.see(change_at(2))
    farm.service.vote()

    assert farm.service.store.memory.decisions == []
    assert farm.service.store.memory.reviews == {}


def test_a_run_of_the_branch_is_reported_on_its_change_without_a_vote(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    farm.service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="patch1"))
    farm.service.source.refs["refs/heads/master"] = "patch1"
    farm.service.plan()
    finish(farm, Outcome.SLOWER)
    farm.service.vote()
    memory = farm.service.store.memory

    assert farm.service.runs(RunKind.POST_SUBMIT) == [("patch1", RunState.FINISHED)]
    assert [(decision.vote, decision.header) for decision in memory.decisions] == [
        (None, "Benchmarks Failed")
    ]
    started, ended = (stored.review for stored in memory.reviews.values())
    assert started.message == "Build Started https://bench.example.com/runs/1"
    assert "Next:" not in ended.message, "nobody can vote on it any more"
    assert ended.message.startswith("Benchmarks Failed \n\nhttps://bench.example.com/job/perf/1/ : FAILURE")
    assert started.labels == ended.labels == {}


def test_what_a_merged_commit_makes_slower_is_a_regression(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    farm.service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="patch1"))
    farm.service.source.refs["refs/heads/master"] = "patch1"
    farm.service.plan()
    farm.execute()
    farm.analyse()
    farm.service.vote()
    farm.service.vote()

    [found] = farm.service.store.memory.regressions
    assert (found.run_id, found.state) == (1, RegressionState.UNTRIAGED)
    assert [(each.build_id, each.weight, said) for each, said in found.results] == [
        (1, Weight.COUNTS, GateSaid.NO_CHECK)
    ]


def test_a_merged_commit_that_its_check_measured_needs_no_more_pairs(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    farm.review()
    farm.execute()
    farm.analyse()
    farm.service.vote()
    pairs = [*farm.service.store.memory.pairs[1]]
    farm.service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="patch1"))
    farm.service.source.refs["refs/heads/master"] = "patch1"
    farm.service.plan(2)
    farm.execute(2)
    farm.analyse(2)
    farm.service.vote(2)

    memory = farm.service.store.memory
    assert {sequence: [*stored] for sequence, stored in memory.pairs.items()} == {1: pairs}
    assert memory.results[1].comparisons == memory.results[2].comparisons
    [found] = memory.regressions
    assert [said for _, said in found.results] == [GateSaid.VOTED]


def test_a_patch_set_with_the_same_code_says_that_its_result_is_kept(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    finish(farm, Outcome.FAILED)
    farm.service.vote()
    source, edited = farm.service.source, change_at(2)
    source.commit("patch2", "parent", source.commits["patch1"].files, "refs/changes/07/7/2")
    farm.service.see(replace(edited, current=replace(edited.current, kind=PatchSetKind.OTHER_MESSAGE)))
    farm.service.plan(2)
    farm.service.vote(2)

    first, second = (stored.review.message for stored in farm.service.store.memory.reviews.values())
    assert second.startswith("Build Failed \n\nSame code as patch set 1: result kept.\n\nhttps://")
    assert "result kept" not in first


def test_a_patch_set_with_the_same_code_and_nothing_to_build_keeps_no_result(tmp_path: Path) -> None:
    farm = farm_with(tmp_path, TWO_JOBS.replace('"bench.json", "src/"', '"docs/"'))
    source, edited = farm.service.source, change_at(2)
    source.commit("patch2", "parent", source.commits["patch1"].files, "refs/changes/07/7/2")
    farm.service.see(replace(edited, current=replace(edited.current, kind=PatchSetKind.OTHER_MESSAGE)))
    farm.service.plan(2)
    farm.service.vote(2)

    assert "result kept" not in farm.service.store.memory.decisions[-1].message


def test_a_merged_change_that_builds_nothing_gets_no_message(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    farm.service.source = project(TWO_JOBS.replace('"bench.json", "src/"', '"docs/"'))
    farm.service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="patch1"))
    farm.service.source.refs["refs/heads/master"] = "patch1"
    farm.service.plan()
    farm.service.vote()

    assert [each.header for each in farm.service.store.memory.decisions] == ["No Builds Executed"]
    assert farm.service.store.memory.reviews == {}


@pytest.mark.parametrize(("policy", "labels"), [("pass", {"Performance": 1}), ("none", {})])
def test_without_anything_to_build_the_project_file_decides(
    tmp_path: Path, policy: str, labels: dict[str, int]
) -> None:
    text = TWO_JOBS.replace('"bench.json", "src/"', '"docs/"')
    first, _, rest = text.rpartition("probation: off")
    farm = farm_with(tmp_path, f"{first}on_nothing_to_build: {policy}{rest}")
    farm.service.vote()

    (review,) = farm.service.store.memory.reviews.values()
    assert review.review.labels == labels
    assert review.review.message.startswith("No Builds Executed \n\n")


def test_the_next_step_names_only_commands_that_somebody_may_use(tmp_path: Path) -> None:
    farm = farm_with(tmp_path, PROJECT_FILE + "commands: {override: perf-owners}\n")
    finish(farm, Outcome.FAILED)
    farm.service.vote()

    assert farm.service.store.memory.decisions[0].message.split("\n\n")[-3:] == [
        "Next: repeat it on your machine: `benchgate gate --job perf`",
        "Other ways:",
        "https://bench.example.com/runs/1#v1",
    ]


def test_a_message_about_a_success_has_no_next_step(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    finish(farm, Outcome.PASSED)
    farm.service.vote()

    assert "Next:" not in farm.service.store.memory.decisions[0].message


def test_jobs_that_do_not_vote_are_reported_without_a_vote(tmp_path: Path) -> None:
    farm = farm_with(tmp_path, PROJECT_FILE + "    voting: false\n")
    finish(farm, Outcome.INFRASTRUCTURE)
    farm.service.vote()

    (review,) = farm.service.store.memory.reviews.values()
    assert review.review.labels == {}
    assert review.review.message.startswith("Build Aborted \n\n")


def test_decisions_are_numbered_by_patch_set(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    finish(farm, Outcome.PASSED)
    farm.service.vote(1)
    farm.review(2)
    farm.report(MachineReport(Outcome.FAILED), 2)
    farm.analyse(2)
    farm.service.vote(2)

    decisions = farm.service.store.memory.decisions
    assert [(decision.run_id, decision.number, decision.vote) for decision in decisions] == [
        (1, 1, 1),
        (2, 1, -1),
    ]


def test_links_lead_to_pages() -> None:
    links = Links("https://bench.example.com/ci/")

    assert links.run(3) == "https://bench.example.com/ci/runs/3"
    assert links.decision(3, 2) == "https://bench.example.com/ci/runs/3#v2"
    assert links.build(BuildName("perf", 4)) == "https://bench.example.com/ci/job/perf/4/"


def test_a_whole_run_from_upload_to_vote(tmp_path: Path) -> None:
    farm = farm_with(tmp_path)
    farm.execute()
    farm.analyse()
    farm.service.vote()

    (review,) = farm.service.store.memory.reviews.values()
    assert review.review.labels == {"Performance": -1}
    assert "1 of 2 results is slower; worst: BM_a CPU time +" in review.review.message


def test_the_start_message_names_the_time_that_the_branchs_last_runs_took(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    farm.service.see(change_at(1, status=ChangeStatus.MERGED, merged_as="patch1"))
    farm.service.source.refs["refs/heads/master"] = "patch1"
    memory = farm.service.store.memory
    for earlier in range(2, 5):
        memory.runs.append(replace(memory.runs[0], id=earlier, state=RunState.FINISHED))
        memory.created[earlier], memory.ended[earlier] = 0.0, 4200.0
    farm.service.plan()

    (started,) = (stored.review for stored in memory.reviews.values())
    assert started.message == (
        "Build Started https://bench.example.com/runs/1\n\n"
        "About 1 h 10 min, as the last 3 runs on master took."
    )
