"""Choose by options of `benchgate gate` what is judged, and how long it is measured."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.e2e.test_gate import CMAKE, TESTS, gate
from tests.support.project.tiny_project import PROGRAM, PROJECT_FILE, TinyProject

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

WITH_TESTS = PROJECT_FILE + TESTS.partition("jobs:\n")[2].partition("  elsewhere")[0]
# Its benchmark has the CPUs in its name on which it may run.
ON_CPUS = PROGRAM.replace(
    "#!/bin/sh\n", "#!/bin/sh\ncpus=$(sed -n 's/Cpus_allowed_list:\t//p' /proc/self/status)\n"
)


@pytest.fixture
def project(tmp_path: Path) -> TinyProject:
    project = TinyProject(tmp_path / "tiny")
    project.commit({"time.txt": "130"})
    return project


def test_the_working_tree_is_judged_and_stays_as_it_is(project: TinyProject) -> None:
    (project.path / "time.txt").write_text("200")
    (project.path / "new.txt").write_text("untracked")
    before = project.git("status", "--short")

    done = gate(project, "--patch", "WORKTREE", "--json")

    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["benchmarks"][0]["ratio"] == pytest.approx(200 / 130)
    assert (found["asked"]["base"], found["asked"]["patch"]) == ("HEAD", "WORKTREE")
    assert project.git("status", "--short") == before


def test_a_directory_of_the_repository_stands_for_all_of_it(project: TinyProject) -> None:
    (project.path / "below").mkdir()
    (project.path / "time.txt").write_text("200")
    done = gate(project, "--patch", "WORKTREE", "--repo", str(project.path / "below"))
    assert done.returncode == 1, done.stderr


def test_a_working_tree_without_changes_exits_with_2(project: TinyProject) -> None:
    done = gate(project, "--patch", "WORKTREE")
    assert done.returncode == 2
    assert done.stderr.endswith(
        "the working tree has the files of HEAD, so there is nothing to judge; `HEAD` instead of "
        "WORKTREE is the last commit\n"
    )


def test_a_commit_without_a_parent_exits_with_2(project: TinyProject) -> None:
    project.git("checkout", "-q", "--orphan", "first")
    project.git("commit", "-qm", "first")
    done = gate(project)
    assert done.returncode == 2
    assert "HEAD has no parent here, so there is nothing to compare it with: `--base` names" in done.stderr


def test_a_job_without_a_changed_file_that_concerns_it_is_not_built(project: TinyProject) -> None:
    project.commit({"README": "nothing to measure"})
    done, named = gate(project), gate(project, "--job", "tiny-perf")

    assert done.returncode == 0
    assert done.stdout == (
        "tiny-perf: not built\n  no matching files changed; `--job tiny-perf` runs it nevertheless\n"
    )
    assert "BM_Work" in named.stdout


def test_a_filter_that_no_benchmark_fits_exits_with_2_and_names_some(project: TinyProject) -> None:
    done = gate(project, "--filter", "nosuch", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "tiny-perf: no benchmark is named like the filter nosuch" in done.stderr
    assert done.stderr.endswith("the job has BM_Work\n")


def test_json_has_the_requested_options(project: TinyProject) -> None:
    done = gate(project, "--filter", "BM_W*k", "--pairs", "14", "--minutes", "2", "--json")
    assert done.returncode == 1, done.stderr
    asked = json.loads(done.stdout)["asked"]
    revisions = {name: project.git("rev-parse", asked.pop(f"{name}_commit")) for name in ("base", "patch")}
    assert revisions == {"base": project.git("rev-parse", "HEAD^"), "patch": project.git("rev-parse", "HEAD")}
    assert asked == {
        "base": "HEAD^",
        "patch": "HEAD",
        "job": None,
        "project_file": None,
        "filter": "BM_W*k",
        "pairs": 14,
        "minutes": 2,
        "why": False,
    }


def test_a_listing_exits_with_0_and_has_the_benchmarks_and_the_pairs_that_fit(project: TinyProject) -> None:
    done = gate(project, "--list", "--minutes", "1")

    assert done.returncode == 0, done.stderr
    title, head, row, sentence, *names = done.stdout.splitlines()
    assert title == "tiny-perf"
    assert " ".join(head.split()) == "suite benchmarks base launch patch launch pairs in 60 s"
    assert row.split()[:2] == ["tiny", "1"]
    assert "and 14 are needed to find a difference" in sentence
    assert names == ["benchmarks of tiny:", "  BM_Work"]


def test_each_stage_of_a_listing_has_a_line_without_a_terminal(project: TinyProject) -> None:
    job, sides = "tiny-perf", ("base", "patch")
    stages = [
        (f"{job}: build {side}", f"{job}: compile", f"{job}: list and launch 1 program of {side} once")
        for side in sides
    ]

    lines = gate(project, "--list").stderr.splitlines()

    assert lines[:7] == [*(line for side in stages for line in side), f"{job}: measure"]


def test_a_listing_in_json_has_seconds(project: TinyProject) -> None:
    (job,) = json.loads(gate(project, "--list", "--json").stdout)["jobs"]
    (suite,) = job["suites"]

    assert (suite["base"], suite["patch"]) == (["BM_Work"], ["BM_Work"])
    assert set(suite["launch_seconds"]) == {"base", "patch"}
    assert job["pairs"] == suite["pairs"] == int(600 / job["pair_seconds"])
    assert job["pairs_needed"] == 14


def test_a_listing_of_what_does_not_compile_is_the_failure(project: TinyProject) -> None:
    project.commit({"broken.txt": "yes"})
    done = gate(project, "--list")
    assert done.returncode == 1
    assert done.stdout.startswith("tiny-perf: failed\n")


def test_jobs_that_measure_nothing_are_left_out_with_a_note(project: TinyProject) -> None:
    project.commit({"benchgate.yaml": WITH_TESTS, "CMakeLists.txt": CMAKE, "note.txt": "good"})
    project.commit({"time.txt": "70"})
    done, named = gate(project, "--pairs", "14"), gate(project, "--pairs", "14", "--job", "tests")

    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(
        "left out, because only jobs that measure both sides were asked for: tests\n"
    )
    assert named.returncode == 2
    assert "and there is none: tests (ctest)" in named.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--filter", ""), "--filter is empty, and would choose nothing"),
        (("--list", "--pairs", "14"), "--list measures one pair: leave out --pairs"),
        (("--pairs", "4"), "4 is not in the range 5<=x<=1000"),
        (("--minutes", "0"), "0 is not in the range 1<=x<=1440"),
        (("--base", "WORKTREE"), "only what is judged can be WORKTREE: the base is a commit"),
    ],
)
def test_wrong_values_exit_with_2_and_a_sentence(
    project: TinyProject, words: tuple[str, ...], message: str
) -> None:
    done = gate(project, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_programs_run_on_the_cpus_of_the_setting(
    project: TinyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu = min(os.sched_getaffinity(0))
    monkeypatch.setenv("BENCHGATE_CPUS", f"[{cpu}]")
    program = ON_CPUS.replace("BM_Work", 'BM_on_"$cpus"', 1).replace("BM_Work", "BM_on_$cpus")
    project.commit({"program.sh": program})
    project.commit({"time.txt": "99"})

    assert f"  BM_on_{cpu}\n" in gate(project, "--list").stdout


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[99999]", "BENCHGATE_CPUS: these requested CPUs are not available"),
        ("two", "BENCHGATE_CPUS: is not JSON"),
    ],
)
def test_cpus_that_cannot_be_used_exit_with_2(
    project: TinyProject, monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    monkeypatch.setenv("BENCHGATE_CPUS", value)
    done = gate(project)
    assert done.returncode == 2
    assert message in done.stderr
