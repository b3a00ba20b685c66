"""`benchgate gate` on a clone of one of two repositories, which a manifest lays out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.command import benchgate
from tests.support.project.tiny_project import COMPILE, TinyProject

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]
MANIFEST = """\
<manifest>
  <remote name="own" fetch="."/>
  <default remote="own" revision="main"/>
  <project name="tiny" path="src/tiny">
    <linkfile src="compile.sh" dest="compile.sh"/>
    <copyfile src="program.sh" dest="program.sh"/>
  </project>
  <project name="times" path="libs/times"/>
</manifest>
"""
FROM_OTHER = COMPILE.replace("cat time.txt", "cat libs/times/time.txt")


@pytest.fixture
def project(tmp_path: Path) -> TinyProject:
    """A clone as `repo` makes it; its benchmark takes as long as the other repository says."""
    server = tmp_path / "server"
    TinyProject(server / "times")
    manifest = TinyProject(server / "manifest")
    manifest.commit({"default.xml": MANIFEST})
    clone = TinyProject(tmp_path / "clone", "manifest: {git: ../manifest, branch: main}\n")
    clone.git("remote", "add", "review", str(server / "tiny"))
    clone.commit({"compile.sh": FROM_OTHER, "time.txt": None})
    return clone


def gate(project: TinyProject) -> CompletedProcess[str]:
    return benchgate("gate", "--repo", str(project.path), cache=str(project.path.parent / "cache"))


def test_a_change_is_judged_among_the_other_repositories(project: TinyProject) -> None:
    project.commit({"compile.sh": FROM_OTHER.replace("$(cat libs/times/time.txt)", "130")})

    done = gate(project)
    assert done.returncode == 1, done.stderr
    assert "worst: BM_Work CPU time +30.0 %" in done.stdout


def test_a_clone_that_the_manifest_does_not_have_is_refused(project: TinyProject) -> None:
    project.git("remote", "set-url", "review", str(project.path.parent / "server/other"))
    project.commit({"compile.sh": f"{FROM_OTHER}true\n"})

    done = gate(project)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "manifest ../manifest, default.xml: the manifest has no project" in done.stderr
