"""`benchgate bisect` and `why`: culprits, the working tree, Ctrl-C, and an explanation on demand."""

from __future__ import annotations

import json
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.test_gate import started
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


def test_ctrl_c_prints_the_command_that_goes_on(project: TinyProject) -> None:
    good = project.git("rev-parse", "HEAD")
    before = project.commit({"note.txt": "1"})
    culprit = project.commit({"time.txt": "120"})

    with started(project, good, "HEAD", "--benchmark", "Work", "--minutes", "5", command="bisect") as running:
        assert running.stdout is not None
        assert any("slower, +20.0 % " in line for line in running.stdout)
        running.send_signal(signal.SIGINT)
        printed, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert (
        f"one of 2 commits made it slower, from {before[:10]} a change to {culprit[:10]} a change" in printed
    )
    words = f"{good[:10]} {culprit[:10]} --benchmark BM_Work --repo {project.path} --minutes 5"
    assert f"to go on: benchgate bisect {words}\n" in said


def test_the_working_tree_is_no_commit_and_the_project_file_may_be_another(
    project: TinyProject, tmp_path: Path
) -> None:
    file = tmp_path / "new.yaml"
    file.write_text((project.path / "benchgate.yaml").read_text())
    good = project.commit({"benchgate.yaml": None})
    (project.path / "time.txt").write_text("120")
    given = ("bisect", good, "WORKTREE", "--benchmark", "BM_Work", "--repo", str(project.path))
    cache = str(tmp_path / "cache")

    refused, done = (
        benchgate(*given, cache=cache),
        benchgate(*given, "--project-file", str(file), cache=cache),
    )

    assert refused.returncode == 2
    assert "add `--project-file benchgate.yaml`" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert re.search("^culprit: your uncommitted changes$", done.stdout, re.MULTILINE)


def test_a_benchmark_that_cannot_be_counted_has_no_answer(project: TinyProject) -> None:
    """Callgrind finds no loop in a shell script."""
    project.commit({"time.txt": "70"})
    given = ("why", "HEAD^", "HEAD", "--repo", str(project.path), "--benchmark")
    cache = str(project.path.parent / "cache")

    done, none = benchgate(*given, "Work", cache=cache), benchgate(*given, "Nothing", "--json", cache=cache)

    assert done.returncode == 3
    assert re.search(r"^faster +−30\.0 %.* BM_Work$", done.stdout, re.MULTILINE)
    assert "BM_Work: not explained: base: exit code " in done.stdout
    assert "`benchgate why HEAD HEAD^`" in done.stderr
    assert none.returncode == 2
    assert "the job has BM_Work" in none.stderr
