"""Builds of a patch alone that fail: the patch is to blame only if its parent gets further."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.building.findings import Finding
from service.domain.building.sandbox_command import Completed
from service.domain.project.project_file import parse_job
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome
from service.kinds.runners import RUNNERS
from tests.support.building.build_host import MemoryClaimed, memory_host, session_of
from tests.support.building.memory_source import MemorySource
from tests.support.kinds.linted import ReplayedTidy

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.building.sandbox_command import Command
    from service.domain.runs.machine_report import MachineReport
    from service.ports.building import ByteSink

BUILD = {"configure": "cmake", "compile": "make"}
ERROR = Finding("a.cpp", 7, "error: no such thing")
LACKS = "CMake Error at CMakeLists.txt:3 (find_package):\n  Could NOT find CURL (missing: CURL_LIBRARY)\n"
NEXT_STEP = (
    "configure failed: package CURL is not found: install it on the machines that build, or add it to "
    "`dependencies` in benchgate.yaml"
)
FAILS_ALIKE = (
    "the parent does not build either (compile failed: a.cpp:7: error: no such thing): "
    "rebase onto a commit that builds"
)


@dataclass
class Maker(ReplayedTidy):
    """A sandbox in which a command of the build fails if a.cpp has "breaks" and the command.

    A patch that "spoils" makes all later commands fail. ``ran`` has each command, a.cpp, and whether another
    command ran in these sources before.
    """

    ran: list[tuple[str, str, bool]] = field(default_factory=list)
    is_spoilt: bool = False

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        if command.argv[-1] not in BUILD.values():
            return super().run(command, log=log, watch=watch)
        tree = Path(command.mounts[0].source)
        text = (tree / "a.cpp").read_text()
        self.ran.append((command.argv[-1], text, (tree / "used").exists()))
        (tree / "used").touch()
        is_broken = self.is_spoilt or f"breaks {command.argv[-1]}" in text
        self.is_spoilt |= "spoils" in text
        if log is not None and is_broken:
            log.write(LACKS.encode() if "lacks" in text else f"a.cpp:7:1: {ERROR.text}\n".encode())
        return Completed(2 if is_broken else 0, 0.1)


@pytest.fixture(
    params=[
        {"kind": "ctest"},
        {"kind": "gtest", "programs": ["build/tests"]},
        {"kind": "command", "command": "true"},
        {"kind": "clang-tidy"},
    ],
    ids=lambda job: str(job["kind"]),
)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    return Site(tmp_path, request.param)


@dataclass
class Site:
    """A machine for a job that builds only the patch."""

    scratch: Path
    job: dict[str, Any]
    maker: Maker = field(default_factory=lambda: Maker([]))
    claimed: MemoryClaimed = field(default_factory=MemoryClaimed)

    def run(self, patch: str, base: str | None) -> MachineReport:
        source = MemorySource()
        for name, text in (("base", base), ("patch", patch)):
            if text is not None:
                source.commit(name, None, {"a.cpp": text})
        job = parse_job("checks", {**self.job, "build": BUILD})
        host = replace(memory_host(source, self.maker, self.scratch), clock=lambda: 0.0)  # type: ignore[arg-type]
        session = session_of(host, job, self.claimed)
        if base is None:
            session = replace(session, spec=replace(session.spec, base=None))
        return RUNNERS[job.kind](session)


def test_a_patch_on_a_parent_that_does_not_compile_either_is_not_blamed(site: Site) -> None:
    """Before, a broken head of the branch gave -1 to everybody, with comments on lines of others."""
    report = site.run("breaks make 2", "breaks make 1")

    assert (report.outcome, report.causes) == (Outcome.PARENT_BROKEN, (FAILS_ALIKE,))
    assert (report.findings, report.failures) == ((), ())


def test_a_patch_on_a_parent_that_compiles_is_blamed(site: Site) -> None:
    report = site.run("breaks make", "fine")

    assert (report.outcome, report.findings) == (Outcome.FAILED, (ERROR,))
    assert report.causes == (f"Compile error at a.cpp:7: {ERROR.text}",)
    assert set(report.seconds) >= {"build base"}
    assert site.claimed.phases == ["build patch", "build base"]


def test_a_patch_that_fails_earlier_than_its_parent_is_blamed(site: Site) -> None:
    assert site.run("breaks cmake", "breaks make").outcome is Outcome.FAILED


def test_the_parent_is_built_in_fresh_sources_up_to_the_stage_that_failed(site: Site) -> None:
    site.run("breaks cmake", "fine")

    assert site.maker.ran == [("cmake", "breaks cmake", False), ("cmake", "fine", False)]


def test_the_parent_of_a_patch_that_builds_is_not_built(site: Site) -> None:
    site.run("fine", "breaks make")

    assert [text for _, text, _ in site.maker.ran] == ["fine", "fine"]


def test_a_patch_that_makes_its_parent_fail_gets_no_plus(site: Site) -> None:
    report = site.run("spoils, breaks make", "fine")

    assert report.outcome is not None
    assert CONSEQUENCES[report.outcome].counts is Counts.NOTHING_CERTAIN


def test_a_root_commit_has_nobody_else_to_blame(site: Site) -> None:
    assert site.run("breaks make", None).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("base", "outcome"), [("lacks, breaks cmake 1", Outcome.MISCONFIGURED), ("fine", Outcome.FAILED)]
)
def test_a_missing_package_is_named_with_what_to_do(site: Site, base: str, outcome: Outcome) -> None:
    """No other parent helps if it lacks the package, too."""
    report = site.run("lacks, breaks cmake 2", base)

    assert (report.outcome, report.causes) == (outcome, (NEXT_STEP,))
