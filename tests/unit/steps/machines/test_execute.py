from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.building.spec import BuildSpec, Revision
from service.domain.measuring.pair_record import decode
from service.domain.project.project_file import parse_project_file
from service.domain.runs.judge_build import judge_measured
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.states import MAX_ATTEMPTS
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput, Cancelled, CommandFailed, NotFound, Transient, Unfit
from service.domain.values.identity import RunKind, Side
from service.steps.machines.execute import RETRY_AFTER, execute_build
from tests.support.building.build_host import MemoryClaimed, MemorySandbox, Silence, memory_host
from tests.support.building.memory_source import CODE
from tests.support.memory.files import MemoryArtifacts, MemoryPacker
from tests.support.review.changes import PROJECT_FILE, project

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from service.ports.building import Artifacts
    from service.steps.building.session import BuildHost
    from tests.support.building.memory_source import MemorySource

JOB = parse_project_file(PROJECT_FILE).job("perf")


def spec_of(source: MemorySource, base: str | None = "parent", patch: str = "patch1") -> BuildSpec:
    def revision(commit: str, trust: str) -> Revision:
        return Revision(commit, source.tree("kv", commit), "refs/changes/07/7/1", trust)

    parent = revision(base, "reviewed") if base else None
    return BuildSpec(RunKind.CHECK, "gerrit", "kv", "master", parent, revision(patch, "unreviewed"), JOB)


class Machine:
    """A build host in memory that works on a claimed build."""

    def __init__(
        self, scratch: Path, source: MemorySource | None = None, base: str | None = "parent"
    ) -> None:
        self.source = source or project()
        self.sandbox = MemorySandbox()
        self.artifacts = MemoryArtifacts()
        self.host: BuildHost = memory_host(self.source, self.sandbox, scratch, artifacts=self.artifacts)
        self.claimed = MemoryClaimed(spec=spec_of(self.source, base).to_mapping())

    def write(self, commit: str, program: str) -> None:
        """A commit with other code; the build is planned anew."""
        old = self.source.commits[commit]
        self.source.commit(commit, old.parent, {**old.files, CODE: program})
        self.claimed = MemoryClaimed(spec=spec_of(self.source).to_mapping())

    def write_in_place(self, commit: str, program: str) -> None:
        """The build of a commit changes, although the trees of the build do not."""
        old = self.source.commits[commit]
        self.source.commit(commit, old.parent, {**old.files, CODE: program})

    def trust_parent(self, trust: str) -> None:
        """Plan the build anew, with a parent of that trust."""
        spec = BuildSpec.from_mapping(self.claimed.spec)
        assert spec.base is not None
        self.claimed.spec = replace(spec, base=replace(spec.base, trust=trust)).to_mapping()

    def work(self, *, is_draining: bool = False) -> MachineReport | None:
        return execute_build(self.claimed, self.host, Silence(), lambda: is_draining)


def judged(machine: Machine) -> Outcome:
    """Judge the pairs that the machine recorded."""
    return judge_measured(JOB, machine.claimed.fixed, machine.claimed.measured).judgement.outcome


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


class TestOutcomes:
    def test_both_sides_are_built_and_measured_and_the_analysis_decides(self, machine: Machine) -> None:
        report = machine.work()

        assert report is not None
        assert report.outcome is None
        assert report.pairs == len(machine.claimed.records) == 14
        assert set(report.seconds) == {"build patch", "build base", "measure"}
        assert report.conditions == {"sandbox": {"isolation": "none"}, "toolchain": "gcc 14", "tools": {}}
        assert machine.claimed.phases == ["build base", "build patch", "measure"]
        assert machine.claimed.told[:2] == ["build base", "compile"]
        assert machine.claimed.told[-3].startswith("pair 14 of at most ")
        assert [MachineReport.from_mapping(each) for each in machine.claimed.executions] == [report]
        assert machine.claimed.log == b"== compile: make\n" * 2

    def test_a_patch_that_does_not_compile_has_failed(self, machine: Machine) -> None:
        machine.write("patch1", '{"does not compile": 1}')
        report = machine.work()

        assert report is not None
        assert (report.outcome, report.causes) == (Outcome.FAILED, ("compile failed: exit code 2",))
        assert machine.claimed.phases == ["build base", "build patch"]

    def test_programs_that_cannot_be_copied_are_the_machines_fault(self, machine: Machine) -> None:
        full = Transient("copying of the programs: exit code 1: cp: no space left on device")
        machine.host = replace(machine.host, packer=MemoryPacker(fault=full))
        assert machine.work() is None  # it is tried again

        machine.claimed.attempt = MAX_ATTEMPTS
        report = machine.work()
        assert report is not None
        assert report.outcome is Outcome.INFRASTRUCTURE
        assert report.causes[0].endswith(str(full))

    def test_a_patch_that_makes_no_program_has_failed(self, machine: Machine) -> None:
        machine.write("patch1", '{"benchmarks": {}, "makes nothing": 1}')
        report = machine.work()

        assert report is not None
        assert report.outcome is Outcome.FAILED
        assert report.causes == ("program build/bench: the build did not create it",)

    def test_a_program_that_neither_side_makes_is_nobodys_fault(self, machine: Machine) -> None:
        """The project file is the branch's: an older patch set may know its program by another name."""
        spec = spec_of(machine.source)
        machine.claimed.spec = {**spec.to_mapping(), "config": {**spec.job.source, "build": {}}}
        report = machine.work()

        assert report is not None
        assert report.outcome is Outcome.MISCONFIGURED
        assert report.causes == (
            "neither the patch nor its parent makes program build/bench: check benchgate.yaml, or rebase",
        )

    def test_a_parent_that_does_not_compile_leaves_nothing_to_compare_with(self, machine: Machine) -> None:
        machine.write("parent", '{"does not compile": 1}')
        report = machine.work()

        assert report is not None
        assert report.outcome is Outcome.NO_PARENT
        assert report.causes == (
            "nothing to compare with: the parent does not build (compile failed: exit code 2)",
        )

    def test_a_root_commit_is_built_and_compared_with_nothing(self, tmp_path: Path) -> None:
        machine = Machine(tmp_path, base=None)
        report = machine.work()

        assert report is not None
        assert (report.outcome, report.causes) == (
            Outcome.NO_PARENT,
            ("nothing to compare with: the commit has no parent",),
        )
        assert machine.claimed.phases == ["build patch"]

    @pytest.mark.parametrize(
        ("commit", "outcome", "cause"),
        [
            ("patch1", Outcome.MEASURED_NOTHING, "measured nothing: suite bench: exit code 139"),
            (
                "parent",
                Outcome.NO_PARENT,
                "nothing to compare with: the parent does not run (suite bench: exit code 139)",
            ),
        ],
    )
    def test_a_suite_that_crashes_is_its_own_sides_fault(
        self, machine: Machine, commit: str, outcome: Outcome, cause: str
    ) -> None:
        machine.write(commit, '{"benchmarks": {"BM_a": 1}, "crashes": 1}')
        report = machine.work()

        assert report is not None
        assert (report.outcome, report.causes) == (outcome, (cause,))

    @pytest.mark.parametrize("commit", ["parent", "patch1"])
    def test_a_crash_that_does_not_come_again_ends_nothing(self, machine: Machine, commit: str) -> None:
        machine.write(commit, '{"benchmarks": {"BM_a": 1e-6, "BM_b": 2e-6}, "crashes at": [3]}')
        report = machine.work()

        assert report is not None
        assert report.outcome is None

    def test_a_parent_that_crashes_late_leaves_the_measured_pairs(self, machine: Machine) -> None:
        machine.write("parent", '{"benchmarks": {"BM_a": 1e-6, "BM_b": 2e-6}, "crashes at": [6, 7]}')
        report = machine.work()

        assert report is not None
        assert (report.outcome, report.pairs) == (None, 5)
        assert (
            report.causes[0] == "measuring ended early because the parent failed (suite bench: exit code 139)"
        )

    def test_a_patch_that_crashes_late_keeps_its_pairs_and_gives_no_answer_in_that_one(
        self, machine: Machine
    ) -> None:
        """Before, one crash that came twice was a -1, and no pair before it counted."""
        machine.write("patch1", '{"benchmarks": {"BM_a": 1e-6, "BM_b": 2e-6}, "crashes at": [4, 5]}')
        report = machine.work()

        assert report is not None
        assert (report.outcome, report.pairs) == (None, len(machine.claimed.records))
        assert report.causes[0] == (
            "the patch gave no answer in some pairs because it failed (suite bench: exit code 139)"
        )
        sides = [[launch.side for launch in decode(each.raw)] for each in machine.claimed.records]
        assert sides[3] == [Side.BASE]
        assert all(len(each) == len(Side) for each in (*sides[:3], *sides[4:]))
        assert judged(machine) is Outcome.UNDECIDED_WITHHELD

    def test_a_patch_that_crashes_from_the_second_pair_on_is_broken(self, machine: Machine) -> None:
        crashes = list(range(2, 100))
        machine.write("patch1", json.dumps({"benchmarks": {"BM_a": 1e-6}, "crashes at": crashes}))
        machine.write_in_place("parent", '{"benchmarks": {"BM_a": 1e-6}}')
        machine.claimed = MemoryClaimed(spec=spec_of(machine.source).to_mapping())
        machine.work()

        assert judged(machine) is Outcome.BROKEN

    @pytest.mark.parametrize("written", ["", "<html>", '{"context": {}}'])
    def test_a_suite_that_writes_rubbish_measured_nothing_and_no_pair_is_kept(
        self, machine: Machine, written: str
    ) -> None:
        """It is the change's fault, not the machine's: trying again would not help."""
        machine.write("patch1", json.dumps({"benchmarks": {"BM_a": 1e-6}, "writes": written}))
        report = machine.work()

        assert report is not None
        assert report.outcome is Outcome.MEASURED_NOTHING
        assert report.causes[0].startswith("measured nothing: suite bench: result.json: it")
        assert machine.claimed.records == []


class TestEndings:
    def test_a_cancelled_build_ends_as_cancelled(self, machine: Machine) -> None:
        machine.claimed.fault = Cancelled("a newer patch set")
        report = machine.work()

        assert report == MachineReport(Outcome.CANCELLED)
        assert len(machine.claimed.executions) == 1

    @pytest.mark.parametrize("launch", [0, 1, 9])
    def test_a_lost_lease_writes_nothing_more(self, machine: Machine, launch: int) -> None:
        def lose(number: int) -> None:
            machine.claimed.is_lost = number >= launch

        machine.sandbox.before = lose

        assert machine.work() is None
        assert machine.claimed.executions == []
        assert machine.claimed.releases == []
        assert len(machine.claimed.records) == launch // 2

    def test_a_lease_lost_at_the_very_end_is_no_error(self, machine: Machine) -> None:
        machine.claimed.is_lost_at_last = True

        assert machine.work() is None
        assert machine.claimed.executions == []

    def test_a_lease_lost_while_handing_back_is_no_error(self, machine: Machine) -> None:
        machine.claimed.is_lost_at_last = True

        assert machine.work(is_draining=True) is None
        assert machine.claimed.releases == []

    def test_a_draining_worker_hands_the_build_back_unharmed(self, machine: Machine) -> None:
        assert machine.work(is_draining=True) is None
        assert machine.claimed.releases == [0.0]
        assert machine.claimed.executions == []

    def test_a_worker_that_drains_while_the_artifacts_do_not_take_its_log_hands_the_build_back(
        self, machine: Machine
    ) -> None:
        class Draining(MemoryClaimed):
            def complete(self, execution: Mapping[str, Any]) -> None:
                stop.set()
                super().complete(execution)

        stop = threading.Event()
        machine.claimed = Draining(spec=machine.claimed.spec, waits_at_last=True)
        assert execute_build(machine.claimed, machine.host, Silence(), stop.is_set) is None
        assert machine.claimed.releases == [0.0]

    def test_a_worker_that_drains_waits_for_no_artifact(self, machine: Machine) -> None:
        class Away(MemoryArtifacts):
            def watched(self, watch: Callable[[], None]) -> Artifacts:
                self.watch = watch
                return self

            def put_file(self, path: Path) -> str:
                stop.set()
                self.watch()
                raise AssertionError(f"{path} is still waited for")

        stop = threading.Event()
        host = replace(machine.host, artifacts=Away())
        assert execute_build(machine.claimed, host, Silence(), stop.is_set) is None
        assert machine.claimed.releases == [0.0]

    @pytest.mark.parametrize("attempt", range(1, MAX_ATTEMPTS))
    def test_a_passing_fault_is_tried_again_later(self, machine: Machine, attempt: int) -> None:
        machine.claimed.attempt = attempt
        machine.source.fault = Transient("the mirror does not answer")

        assert machine.work() is None
        assert machine.claimed.releases == [RETRY_AFTER]

    def test_a_fault_in_the_last_attempt_is_the_infrastructures(self, machine: Machine) -> None:
        machine.claimed.attempt = MAX_ATTEMPTS
        machine.source.fault = Transient("the mirror does not answer")
        report = machine.work()

        assert report == MachineReport(
            Outcome.INFRASTRUCTURE,
            (f"{MAX_ATTEMPTS} attempts failed, the last one with: the mirror does not answer",),
        )

    @pytest.mark.parametrize(
        ("fault", "cause"),
        [
            (Unfit("no sandbox"), "the machine cannot run builds: no sandbox"),
            (NotFound("no revision patch1"), "no revision patch1"),
        ],
    )
    def test_a_permanent_failure_is_not_retried(self, machine: Machine, fault: Exception, cause: str) -> None:
        machine.source.fault = fault

        assert machine.work() == MachineReport(Outcome.INFRASTRUCTURE, (cause,))
        assert machine.claimed.releases == []


class TestUnexpectedErrors:
    """Before, each was three silent attempts, and then "the machine stopped responding"."""

    @pytest.mark.parametrize(
        ("error", "text"),
        [
            (BadInput("larger than 64 bytes", "artifact 1f"), "BadInput: artifact 1f: larger than 64 bytes"),
            (RecursionError("maximum recursion depth exceeded"), "RecursionError: maximum recursion depth"),
            (CommandFailed("relinking", "exit code 1"), "CommandFailed: relinking: exit code 1"),
        ],
    )
    def test_an_error_of_benchgate_ends_the_build_with_its_cause(
        self, machine: Machine, error: Exception, text: str
    ) -> None:
        machine.source.fault = error
        report = machine.work()

        assert report is not None
        assert report.outcome is Outcome.INFRASTRUCTURE
        assert report.causes[0].startswith(f"Benchgate failed while it worked on the build ({text}")
        assert len(machine.claimed.executions) == 1

    def test_an_error_of_the_operating_system_is_retried_and_named_at_last(self, machine: Machine) -> None:
        machine.source.fault = OSError(28, "No space left on device")
        assert machine.work() is None
        assert machine.claimed.releases == [RETRY_AFTER]

        machine.claimed.attempt = MAX_ATTEMPTS
        report = machine.work()
        assert report is not None
        assert report.causes == (
            f"{MAX_ATTEMPTS} attempts failed, the last one with: [Errno 28] No space left on device",
        )


class TestBinaries:
    def test_a_side_built_before_is_taken_from_the_cache(self, machine: Machine) -> None:
        machine.work()
        machine.claimed = MemoryClaimed(spec=machine.claimed.spec, binaries=machine.claimed.binaries)
        machine.sandbox.commands.clear()
        machine.work()

        assert machine.sandbox.commands == []
        assert len(machine.claimed.records) == 14

    def test_binaries_of_an_unreviewed_change_are_not_taken_for_a_parent(self, machine: Machine) -> None:
        machine.work()
        spec = spec_of(machine.source, base="patch1", patch="patch2")
        machine.claimed = MemoryClaimed(spec=spec.to_mapping(), binaries=machine.claimed.binaries)
        machine.sandbox.commands.clear()
        machine.work()

        assert machine.sandbox.commands == ["make", "make"]

    def test_a_fresh_binary_is_not_fetched_from_where_it_was_just_stored(self, tmp_path: Path) -> None:
        class OnlyStoring(MemoryArtifacts):
            def get_file(self, key: str, path: Path) -> None:
                raise NotFound(f"no artifact {key} for {path}")

        machine = Machine(tmp_path)
        machine.artifacts = OnlyStoring()
        machine.host = replace(machine.host, artifacts=machine.artifacts)
        report = machine.work()

        assert report is not None
        assert (report.outcome, len(machine.artifacts.kept)) == (None, 2)

    def test_a_lost_binary_is_built_again(self, machine: Machine) -> None:
        machine.work()
        machine.claimed = MemoryClaimed(spec=machine.claimed.spec, binaries=machine.claimed.binaries)
        machine.artifacts.kept.clear()
        report = machine.work()

        assert report is not None
        assert report.outcome is None

    def test_sources_with_a_link_named_build_are_refused(self, machine: Machine) -> None:
        old = machine.source.commits["patch1"]
        machine.source.commit("patch1", old.parent, {**old.files, "build": "a file"})
        machine.claimed = MemoryClaimed(spec=spec_of(machine.source).to_mapping())
        report = machine.work()

        assert report is not None
        assert report.causes == ("configure: the source tree has a file or link named 'build' at its top",)

    def test_nothing_is_left_behind(self, machine: Machine, tmp_path: Path) -> None:
        machine.work()

        assert list(tmp_path.iterdir()) == []
