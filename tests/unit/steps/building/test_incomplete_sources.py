"""Sources that lack a submodule: a patch is to blame only if its parent's are complete."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.project.project_file import parse_job
from service.domain.runs.vote import Outcome
from service.domain.sources.workspace import PlacedFile, Workspace
from service.domain.values.errors import Incomplete
from service.kinds.runners import RUNNERS
from service.steps.building.build_sources import complete_sources
from tests.support.building.build_host import MemorySandbox, memory_host, session_of
from tests.support.building.memory_source import Commit, MemorySource
from tests.support.kinds.linted import ReplayedTidy
from tests.unit.steps.machines.test_execute import Machine

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.runs.machine_report import MachineReport

MISSING = Incomplete("submodule lib", "https://example.com/lib at 1234: the server has no such commit")
FOREIGN = Incomplete(
    "submodule lib",
    "https://example.com/lib at 1234: add example.com to BENCHGATE_FETCH_FROM",
    is_foreign=True,
)
OF_PARENT = f"the sources of the parent are not complete either ({MISSING})"
ONE_SIDED = [{"kind": "ctest"}, {"kind": "command", "command": "make"}, {"kind": "clang-tidy"}]


class TestComparingBuilds:
    @pytest.mark.parametrize(
        ("incomplete", "outcome", "cause"),
        [
            (["patch1"], Outcome.FAILED, str(MISSING)),
            (["parent", "patch1"], Outcome.PARENT_BROKEN, OF_PARENT),
            (
                ["parent"],
                Outcome.NO_PARENT,
                f"nothing to compare with: the parent does not build ({MISSING})",
            ),
        ],
    )
    def test_only_a_patch_that_its_parent_is_not_like_is_blamed(
        self, tmp_path: Path, incomplete: list[str], outcome: Outcome, cause: str
    ) -> None:
        machine = Machine(tmp_path)
        for name in incomplete:
            machine.source.commits[name] = replace(machine.source.commits[name], incomplete=MISSING)
        report = machine.work()

        assert report is not None
        assert (report.outcome, report.causes) == (outcome, (cause,))
        assert f"== {MISSING}\n".encode() in machine.claimed.log

    @pytest.mark.parametrize("incomplete", [["patch1"], ["parent", "patch1"]])
    def test_nobody_is_blamed_for_a_host_that_the_operator_does_not_allow(
        self, tmp_path: Path, incomplete: list[str]
    ) -> None:
        """As for a dependency from such a host."""
        machine = Machine(tmp_path)
        for name in incomplete:
            machine.source.commits[name] = replace(machine.source.commits[name], incomplete=FOREIGN)
        report = machine.work()

        assert report is not None
        assert (report.outcome, report.causes) == (Outcome.MISCONFIGURED, (str(FOREIGN),))


@pytest.mark.parametrize("job", ONE_SIDED, ids=[job["kind"] for job in ONE_SIDED])
class TestBuildsOfThePatchAlone:
    @staticmethod
    def run(
        tmp_path: Path, job: dict[str, str], *incomplete: str, why: Incomplete = MISSING
    ) -> MachineReport:
        source = MemorySource()
        for name, text in (("base", "int a;\n"), ("patch", "int b;\n")):
            missing = why if name in incomplete else None
            source.commits[name] = Commit(None, {"a.cpp": text}, missing)
        parsed = parse_job("checks", {**job, "build": {"configure": "cmake"}})
        host = replace(memory_host(source, MemorySandbox(), tmp_path), sandbox=ReplayedTidy([]))
        return RUNNERS[parsed.kind](session_of(host, parsed))

    def test_a_patch_that_alone_is_incomplete_has_failed(self, tmp_path: Path, job: dict[str, str]) -> None:
        report = self.run(tmp_path, job, "patch")

        assert report.outcome is Outcome.FAILED
        assert [(each.subject, each.headline) for each in report.failures] == [(MISSING.what, MISSING.why)]
        assert str(MISSING) in report.causes[0]

    def test_a_host_that_the_operator_does_not_allow_is_no_failure(
        self, tmp_path: Path, job: dict[str, str]
    ) -> None:
        report = self.run(tmp_path, job, "patch", why=FOREIGN)

        assert (report.outcome, report.causes, report.failures) == (
            *(Outcome.MISCONFIGURED, (str(FOREIGN),), ()),
        )

    def test_a_patch_as_incomplete_as_its_parent_is_not_blamed(
        self, tmp_path: Path, job: dict[str, str]
    ) -> None:
        report = self.run(tmp_path, job, "base", "patch")

        assert (report.outcome, report.causes) == (Outcome.PARENT_BROKEN, (OF_PARENT,))


def test_the_log_names_each_missing_file_that_the_manifest_copies(tmp_path: Path) -> None:
    """`repo` only logs it, too; a build that needs the file fails by itself."""
    source = MemorySource()
    source.commits["patch"] = Commit(None, {"there.txt": "x"})
    files = (
        PlacedFile("net/there.txt", "core/there.txt", is_link=False),
        PlacedFile("core/gone.txt", "gone.txt", is_link=False),
        PlacedFile("core/later", "link", is_link=True),
    )
    job = parse_job("checks", {"kind": "command", "command": "make"})
    session = session_of(memory_host(source, MemorySandbox(), tmp_path), job)
    workspace = Workspace("https://h/manifest", "c" * 40, "core", files=files)
    session = replace(session, spec=replace(session.spec, workspace=workspace))
    with complete_sources(session, session.spec.patch):
        pass

    assert session.log.kept() == b"== copyfile gone.txt: core/gone.txt is missing, so it is not copied\n"
