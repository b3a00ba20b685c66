"""`benchgate gate` on a project with a submodule, which it takes from the user's clone."""

from __future__ import annotations

import subprocess
from shutil import rmtree
from typing import TYPE_CHECKING

import pytest

from tests.support.command import benchgate
from tests.support.project.tiny_project import COMPILE, TinyProject

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


@pytest.fixture
def project(tmp_path: Path) -> TinyProject:
    """A project; its benchmark takes as long as the submodule says."""
    other = TinyProject(tmp_path / "lib")
    found = TinyProject(tmp_path / "tiny")
    found.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "lib")
    found.commit({"compile.sh": f"cp lib/time.txt time.txt\n{COMPILE}"})
    return found


def gate(project: TinyProject) -> CompletedProcess[str]:
    """Run the job in the project, although its `paths` do not name the submodule, with a cache beside it."""
    words = ("gate", "--job", "tiny-perf", "--repo", str(project.path))
    return benchgate(*words, cache=str(project.path.parent / "cache"))


def test_an_unpushed_commit_of_a_submodule_is_judged(project: TinyProject) -> None:
    (project.path / "lib/time.txt").write_text("130")
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    subprocess.run(["git", "-C", str(project.path / "lib"), *identity, "commit", "-qam", "slow"], check=True)
    project.commit({})

    done = gate(project)
    assert done.returncode == 1, done.stderr
    assert "worst: BM_Work CPU time +30.0 %" in done.stdout


def test_a_submodule_missing_on_both_sides_names_the_command(project: TinyProject) -> None:
    project.commit({"note.txt": "new"})
    project.git("remote", "add", "origin", "https://review.example.com/tiny")
    rmtree(project.path / ".git/modules/lib")

    done = gate(project)
    assert done.returncode == 3, done.stderr
    assert "the sources of the parent are not complete either (submodule lib: " in done.stdout
    assert "or run `git submodule update --init --recursive`" in done.stdout
