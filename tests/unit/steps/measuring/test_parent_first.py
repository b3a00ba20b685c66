"""Sides that do not build or run: the parent comes first, so that no patch can make it fail for a +1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from service.domain.building.sandbox_command import Completed
from service.domain.runs.vote import Outcome
from service.steps.machines.execute import RETRY_AFTER
from tests.support.building.build_host import MemorySandbox, memory_host
from tests.support.building.memory_source import CODE
from tests.unit.steps.machines.test_execute import Machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.building.sandbox_command import Command
    from service.ports.building import ByteSink


class Spoiler(MemorySandbox):
    """A sandbox in which a patch, once any of its code has run, makes every command of its parent fail."""

    is_spoilt = False

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        code = json.loads((Path(command.mounts[0].source) / CODE).read_text())
        self.is_spoilt |= "spoils" in code
        if self.is_spoilt and "spoils" not in code:
            return Completed(1, 0.1)
        return super().run(command, log=log, watch=watch)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


class TestBothSidesFail:
    def test_a_patch_on_a_parent_that_does_not_compile_either_is_not_blamed(self, machine: Machine) -> None:
        """Before, a broken head of the branch gave -1 to everybody."""
        machine.write("parent", '{"does not compile": 1}')
        machine.write("patch1", '{"does not compile": 2}')
        report = machine.work()

        assert report is not None
        assert (report.outcome, report.findings) == (Outcome.PARENT_BROKEN, ())
        assert report.causes == (
            (
                "the parent does not build either (compile failed: exit code 2): "
                "rebase onto a commit that builds"
            ),
        )

    def test_an_unmerged_parent_that_does_not_compile_gives_no_plus(self, machine: Machine) -> None:
        """Its author is the patch's, who could choose it to have nothing to compare with."""
        machine.write("parent", '{"does not compile": 1}')
        machine.trust_parent("unreviewed")
        report = machine.work()

        assert report is not None
        assert report.outcome is Outcome.PARENT_BROKEN
        assert report.causes == (
            (
                "the parent, which is not merged, does not build (compile failed: exit code 2): "
                "fix it first, or rebase"
            ),
        )

    @pytest.mark.parametrize(
        ("code", "end"),
        [
            ('{"benchmarks": {"BM_a": 1}, "crashes": %d}', "suite bench fails on both sides (exit code 139)"),
            (
                '{"benchmarks": {"BM_a": 1}, "does not list": %d}',
                "suite bench fails on both sides (exit code 1)",
            ),
            ('{"benchmarks": {}, "lists nothing": %d}', "suite bench lists no benchmark on either side"),
            (
                '{"benchmarks": {}, "prints": ["Hello", "%d"]}',
                "suite bench fails on both sides (left no result of what it lists)",
            ),
        ],
    )
    def test_programs_that_run_on_neither_side_are_misconfigured(
        self, machine: Machine, code: str, end: str
    ) -> None:
        """Before, that was a -1 for everybody, or a +1."""
        machine.write("parent", code % 1)
        machine.write("patch1", code % 2)
        report = machine.work()

        assert report is not None
        assert report.outcome is Outcome.MISCONFIGURED
        assert report.causes[0].startswith(end)
        assert "benchgate.yaml" in report.causes[0]

    def test_a_suite_failing_in_the_parent_alone_is_named_and_the_others_are_measured(
        self, machine: Machine
    ) -> None:
        machine.write("parent", '{"benchmarks": {"BM_a": 1e-6, "BM_b": 1e-6}, "crashes on": ["BM_b"]}')
        machine.write("patch1", '{"benchmarks": {"BM_a": 2e-6, "BM_b": 1e-6}}')
        config = machine.claimed.spec["config"]
        (suite,) = config["suites"]
        suites = [{**suite, "name": name, "filter": name} for name in ("BM_a", "BM_b")]
        machine.claimed.spec = {**machine.claimed.spec, "config": {**config, "suites": suites}}
        report = machine.work()

        assert report is not None
        assert (report.outcome, report.pairs) == (None, 14)
        assert report.causes[0] == (
            "nothing to compare with: the parent does not run (suite BM_b: exit code 139)"
        )
        assert [(each.base, each.patch) for each in machine.claimed.fixed] == [
            (("BM_a",), ("BM_a",)),
            ((), ("BM_b",)),
        ]

    def test_a_patch_without_listed_benchmarks_measured_nothing(self, machine: Machine) -> None:
        machine.write("patch1", '{"benchmarks": {}}')
        report = machine.work()

        assert report is not None
        assert report.outcome is Outcome.MEASURED_NOTHING
        assert report.causes == ("suite bench measured nothing: the patch lists no benchmark",)


class TestParentFirst:
    def test_a_patch_cannot_make_its_parent_fail_for_a_plus(self, tmp_path: Path) -> None:
        """The patch used to be built first, and could fill the disk while its parent was built: +1."""
        machine = Machine(tmp_path)
        machine.sandbox = Spoiler()
        machine.host = memory_host(machine.source, machine.sandbox, tmp_path, artifacts=machine.artifacts)
        machine.write("patch1", '{"benchmarks": {"BM_a": 1e-6}, "spoils": 1}')
        report = machine.work()

        assert report is not None
        assert report.outcome is Outcome.INFRASTRUCTURE

    def test_the_parent_is_rehearsed_before_the_patch_is_built(self, machine: Machine) -> None:
        machine.write("patch1", '{"does not compile": 1}')
        machine.work()

        assert machine.sandbox.commands == ["make", "make"]
        assert [json.loads(program) for program, _ in machine.sandbox.warm_ups] == [
            json.loads(machine.source.commits["parent"].files[CODE])
        ]

    def test_a_measured_parent_that_no_longer_builds_is_tried_again(self, machine: Machine) -> None:
        """Code of the patch ran since, and may be the reason."""
        machine.work()
        machine.claimed.binaries.clear()
        machine.write_in_place("parent", '{"does not compile": 1}')

        assert machine.work() is None
        assert machine.claimed.releases == [RETRY_AFTER]

    def test_a_parent_that_ran_and_then_fails_is_no_reason_for_a_vote(self, machine: Machine) -> None:
        """A patch could make it fail; before, that gave +1."""
        machine.write("parent", '{"benchmarks": {"BM_a": 1e-6}, "crashes at": [1, 2]}')
        report = machine.work()

        assert report is not None
        assert report.outcome is Outcome.INFRASTRUCTURE
        assert report.causes == (
            "the parent ran before the patch did, and fails since (suite bench: exit code 139)",
        )
