"""A project of two repositories is built at the top of its manifest, in the real sandbox."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.git.command import unwatched
from service.adapters.sources.git.mirror import GitSource
from service.domain.building.findings import Finding
from service.domain.project.manifest_key import ManifestKey
from service.domain.runs.vote import Outcome
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.support.project.tiny_project import COMPILE, PROGRAM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from service.domain.sources.workspace import Workspace
    from tests.integration.kinds.conftest import Machine

pytestmark = pytest.mark.integration

MANIFEST = b"""\
<manifest>
  <remote name="own" fetch="."/>
  <default remote="own" revision="master"/>
  <project name="core" path="src/core"><linkfile src="top/compile.sh" dest="compile.sh"/></project>
  <project name="times" path="libs/times"><copyfile src="time.txt" dest="time.txt"/></project>
</manifest>
"""
CORE: dict[str, bytes | Path] = {
    "top/compile.sh": f"cp src/core/program.sh .\n{COMPILE}".encode(),
    "program.sh": PROGRAM.encode(),
}
BENCHMARK = """\
    kind: benchmark
    build: {compile: sh compile.sh}
    suites: [{name: tiny, program: build/tiny, repetitions: 1}]
    policy: {layout: off, probation: off, max_pairs: 14}
"""
BROKEN = """\
    kind: command
    build:
      compile: |
        test -e src/core/program.sh || exit 0
        echo src/core/a.cc:3:1: error: own; echo libs/times/b.cc:1:1: error: other; exit 1
    command: 'true'
"""


class Projects:
    """Two repositories and their manifest beside the machine's own."""

    def __init__(self, directory: Path) -> None:
        self.root = directory
        self.core, self.times, manifest = (
            Repository(directory / name) for name in ("core", "times", "manifest")
        )
        manifest.commit({"default.xml": MANIFEST})
        self.set_time("100")

    def set_time(self, nanoseconds: str) -> None:
        self.times.commit({"time.txt": nanoseconds.encode()})


class Moving(GitSource):
    """After each checkout, the other repository gets slower."""

    projects: Projects

    @contextmanager
    def checkout(
        self,
        project: str,
        revision: str,
        workspace: Workspace | None = None,
        *,
        whole: bool = True,
        watch: Callable[[], None] = unwatched,
    ) -> Iterator[Path]:
        with super().checkout(project, revision, workspace, whole=whole, watch=watch) as place:
            self.projects.set_time("200")
            yield place


@pytest.fixture
def projects(tmp_path: Path, machine: Machine) -> Projects:
    found = Projects(tmp_path / "projects")
    source = Moving(tmp_path / "git", lambda _: str(found.core.path))
    source.projects = found
    machine.give(found.core, source)
    machine.workspace = source.workspace("core", "master", ManifestKey("../manifest", "master"))
    return found


def test_a_branch_that_moves_between_parent_and_patch_does_not_count(
    machine: Machine, projects: Projects
) -> None:
    patch = {**CORE, "program.sh": PROGRAM.encode() + b"# another program\n"}
    verdict = machine.compare(CORE, patch, BENCHMARK)

    assert verdict.end.outcome is Outcome.PASSED, machine.log.decode()
    assert [row.ratio for row in verdict.comparisons] == [pytest.approx(1.0)]
    assert machine.workspace is not None
    (times,) = machine.workspace.others
    assert f"== libs/times: ./times at {times.commit}\n".encode() in machine.log


def test_only_errors_in_the_changes_own_repository_are_findings(machine: Machine, projects: Projects) -> None:
    report = machine.run(CORE, BROKEN)

    assert report.outcome is Outcome.FAILED
    assert report.findings == (Finding("a.cc", 3, "error: own"),)
