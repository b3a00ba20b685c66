"""`benchgate bisect`: a commit of a line, one inside a merge, and a line without a slow-down."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command import benchgate
from tests.support.project.tiny_project import TinyProject

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


@pytest.fixture
def project(tmp_path: Path) -> TinyProject:
    return TinyProject(tmp_path / "tiny")


def bisect(project: TinyProject, good: str, *words: str) -> CompletedProcess[str]:
    given = ("bisect", good, "HEAD", "--benchmark", "BM_Work", "--repo", str(project.path), *words)
    return benchgate(*given, cache=str(project.path.parent / "cache"))


def test_the_slower_commit_is_named_and_confirmed_beside_one_that_does_not_build(
    project: TinyProject,
) -> None:
    good = project.git("rev-parse", "HEAD")
    project.commit({"note.txt": "1"})
    project.commit({"broken.txt": "yes"})
    project.commit({"broken.txt": None})
    culprit = project.commit({"time.txt": "120"})
    project.commit({"note.txt": "2"})

    done = bisect(project, good)

    assert done.returncode == 0, done.stderr
    assert f"culprit: {culprit[:10]} a change, by Ada on " in done.stdout
    assert "slower, +20.0 %" in done.stdout


def test_the_search_goes_into_a_merge(project: TinyProject) -> None:
    good = project.git("rev-parse", "HEAD")
    project.git("checkout", "-q", "-b", "side")
    project.commit({"note.txt": "1"})
    culprit = project.commit({"time.txt": "120"})
    project.git("checkout", "-q", "main")
    project.commit({"other.txt": "1"})
    project.git("merge", "-q", "--no-ff", "-m", "a merge", "side")

    done = bisect(project, good, "--json")

    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert [each["revision"] for each in found["suspects"]] == [culprit]
    assert [each["subject"] for each in found["merges"]] == ["a merge"]


def test_a_line_without_a_slow_down_exits_with_3(project: TinyProject) -> None:
    good = project.git("rev-parse", "HEAD")
    project.commit({"note.txt": "1"})
    done = bisect(project, good)
    assert done.returncode == 3
    assert "BAD is not slower than GOOD on this machine" in done.stdout
    assert bisect(project, "HEAD").returncode == 2
