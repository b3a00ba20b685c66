"""`benchgate gate` and `benchgate compare`: verdicts and exit codes without a server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.command import benchgate
from tests.support.project.tiny_project import PROGRAM, PROJECT_FILE, TinyProject
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import CompletedProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]
SAMPLE = Path(__file__).parents[1] / "samples" / "gbench" / "v1.7.1_once.json"


@pytest.fixture
def project(tmp_path: Path) -> TinyProject:
    return TinyProject(tmp_path / "tiny")


def test_a_slower_commit_exits_with_1(project: TinyProject) -> None:
    project.commit({"time.txt": "130"})
    with started(project) as running:
        printed, _ = running.communicate(timeout=100)
    assert running.returncode == 1
    assert "1 of 1 result is slower; worst: BM_Work CPU time +30.0 %" in printed
    assert "judged without history" in printed


def test_a_faster_commit_exits_with_0_and_its_json_has_the_times_and_the_log(project: TinyProject) -> None:
    project.commit({"time.txt": "70"})
    done = gate(project, "--json")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    (row,) = document["benchmarks"]
    assert (row["name"], row["metric"], row["verdict"], row["pairs"]) == ("BM_Work", "cpu_time", "faster", 14)
    assert row["ratio"] == pytest.approx(0.7)
    assert row["interval"] == [pytest.approx(0.7), pytest.approx(0.7)]
    assert document["schema_version"] == 1
    (job,) = document["jobs"]
    assert set(job["seconds"]) == {"build patch", "build base", "measure"}
    assert Path(job["log"]).is_file()


@pytest.mark.parametrize("option", ["--job=tiny-perf", "--json"])
def test_an_interrupted_gate_prints_the_verdicts_so_far(project: TinyProject, option: str) -> None:
    project.commit({"program.sh": PROGRAM + "sleep 0.3\n", "time.txt": "130"})
    with started(project, option) as running:
        assert running.stderr is not None
        assert any("a pair of launches takes" in line for line in running.stderr)
        running.send_signal(signal.SIGINT)
        printed, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted after" in printed
    assert "BM_Work" in printed


def test_an_interrupted_gate_without_a_pair_prints_no_verdict(project: TinyProject) -> None:
    project.commit({"slow.txt": "30"})
    with started(project) as running:
        assert running.stderr is not None
        assert running.stderr.readline()  # it has begun
        running.send_signal(signal.SIGINT)
        printed, said = running.communicate(timeout=60)
    assert (running.returncode, printed) == (130, "")
    assert "interrupted" in said


def test_an_interrupt_between_jobs_loses_no_finished_one(project: TinyProject) -> None:
    last = "  later-perf:\n" + PROJECT_FILE.partition("  tiny-perf:\n")[2].replace(
        "sh compile.sh", "sleep 60"
    )
    project.commit({"benchgate.yaml": PROJECT_FILE + last})
    project.commit({"time.txt": "130"})
    with started(project, "--json") as running:
        logs = project.path.parent / "cache/benchgate/logs"
        assert eventually(lambda: any(logs.rglob("tiny-perf.log")), seconds=60.0)
        running.send_signal(signal.SIGINT)
        printed, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    document = json.loads(printed)
    assert (document["interrupted"], [job["outcome"] for job in document["jobs"]]) == (True, ["slower"])


def test_two_named_revisions_are_compared(project: TinyProject) -> None:
    base = project.commit({"time.txt": "100"})
    project.commit({"time.txt": "200"})
    patch = project.commit({"time.txt": "100.5"})
    done = gate(project, "--base", base, "--patch", patch)
    assert done.returncode == 0, done.stderr
    assert "same" in done.stdout


def test_a_commit_that_does_not_compile_exits_with_1_and_shows_the_error(project: TinyProject) -> None:
    project.commit({"broken.txt": "yes"})
    done = gate(project)
    assert done.returncode == 1
    assert "Compile error at tiny.cc:7: error: no such thing" in done.stdout
    assert "\ntiny.cc:7: error: no such thing\n" in done.stderr
    named = re.search(r"^the whole log: (.*)$", done.stderr, re.MULTILINE)
    assert named
    assert Path(named[1]).read_text() == (
        "== compile: sh compile.sh\n" * 2 + "tiny.cc:7: error: no such thing\n"
    ), "the parent is built first"


def test_a_failure_without_a_compilers_error_shows_the_end_of_the_log(project: TinyProject) -> None:
    project.commit({"compile.sh": "echo 'no rule to make it' >&2; exit 2\n"})
    done = gate(project)
    assert done.returncode == 1
    assert "no rule to make it\n" in done.stderr


def test_a_program_that_neither_side_builds_is_misconfigured_and_says_what_to_do(
    project: TinyProject,
) -> None:
    done = gate_patch(
        project, {"benchgate.yaml": PROJECT_FILE.replace("build/tiny", "build/other")}, {"time.txt": "70"}
    )
    assert done.returncode == 3
    assert done.stdout == (
        "tiny-perf: misconfigured\n"
        "  neither the patch nor its parent makes program build/other: check benchgate.yaml, or rebase\n"
    )


def test_a_program_that_is_built_elsewhere_is_named(project: TinyProject) -> None:
    done = gate_patch(
        project,
        {
            "benchgate.yaml": PROJECT_FILE.replace(
                "sh compile.sh", "sh compile.sh && mkdir build/bin && mv build/tiny build/bin"
            )
        },
        {"time.txt": "70"},
    )
    assert done.returncode == 3
    assert "makes program build/tiny, but build/bin/tiny: name that one in benchgate.yaml\n" in done.stdout


def test_a_package_that_neither_side_finds_is_named_with_what_to_do(project: TinyProject) -> None:
    configure = "{configure: cmake -S . -B build, compile: sh compile.sh}"
    needing = "project(tiny NONE)\nfind_package(NoSuchPackage REQUIRED)\n"
    done = gate_patch(
        project,
        {
            "benchgate.yaml": PROJECT_FILE.replace("{compile: sh compile.sh}", configure),
            "CMakeLists.txt": f"cmake_minimum_required(VERSION 3.16)\n{needing}",
        },
        {"time.txt": "70"},
    )
    assert done.returncode == 3
    assert "configure failed: package NoSuchPackage is not found: install it on the machines" in done.stdout
    assert "rebase" not in done.stdout


def test_a_broken_commit_on_a_broken_parent_exits_with_3(project: TinyProject) -> None:
    done = gate_patch(project, {"broken.txt": "yes"}, {"note.txt": "nothing to do with it"})
    assert done.returncode == 3
    assert "the parent does not build either (compile failed: tiny.cc:7: error: no such thing)" in done.stdout


def test_a_program_that_prints_other_lines_is_measured(project: TinyProject) -> None:
    done = gate_patch(
        project,
        {"program.sh": PROGRAM.replace("#!/bin/sh\n", "#!/bin/sh\necho 'Loading (all) ...'\n")},
        {"time.txt": "130"},
    )
    assert done.returncode == 1
    assert "1 of 1 result is slower; worst: BM_Work" in done.stdout


def test_a_program_without_benchmarks_exits_with_3(project: TinyProject) -> None:
    done = gate_patch(
        project, {"program.sh": "#!/bin/sh\necho \"Invalid flag '$1'\" >&2\nexit 1\n"}, {"time.txt": "130"}
    )
    assert done.returncode == 3
    assert "misconfigured" in done.stdout
    assert "fails on both sides (exit code 1: Invalid flag '--benchmark_list_tests=true')" in done.stdout


def test_a_parent_that_does_not_compile_exits_with_3(project: TinyProject) -> None:
    done = gate_patch(project, {"broken.txt": "yes"}, {"broken.txt": None})
    assert done.returncode == 3
    assert "nothing to compare with" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--base", "no-such-revision"), "there is no revision 'no-such-revision'\n"),
        (("--job", "no-such-job"), "there are: tiny-perf"),
        (("--repo", "/"), "not a git repository"),
        (("--no-such-option",), "No such option"),
    ],
)
def test_wrong_usage_exits_with_2_and_a_message(
    project: TinyProject, words: tuple[str, ...], message: str
) -> None:
    project.commit({"time.txt": "99"})
    done = gate(project, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_in_the_project_file_is_named_with_line_and_key(project: TinyProject) -> None:
    done = gate_patch(
        project,
        {"benchgate.yaml": "version: 1\njobs:\n  a:\n    kind: benchmark\n    pol: p\n"},
        {"time.txt": "99"},
    )
    assert done.returncode == 2
    assert ":5: jobs.a.pol: " in done.stderr


def test_a_project_file_that_only_the_patch_has_is_used_with_a_note(project: TinyProject) -> None:
    done = gate_patch(project, {"benchgate.yaml": None}, {"benchgate.yaml": PROJECT_FILE, "time.txt": "130"})
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("note: HEAD^ has no benchgate.yaml; using that of HEAD. ")


def test_a_project_file_can_be_tried_before_it_is_committed(project: TinyProject, tmp_path: Path) -> None:
    project.commit({"benchgate.yaml": None})
    project.commit({"time.txt": "130"})
    file = tmp_path / "mine.yaml"
    file.write_text(PROJECT_FILE.replace("tiny-perf", "mine"))

    missing, done = gate(project), gate(project, "--project-file", str(file))

    assert missing.returncode == 2
    assert (
        "HEAD^ and HEAD: there is no regular file benchgate.yaml at the top: `benchgate init`"
        in missing.stderr
    )
    assert done.returncode == 1, done.stderr
    assert "mine: slower" in done.stdout


def test_a_named_project_file_is_named_in_its_errors(project: TinyProject, tmp_path: Path) -> None:
    project.commit({"time.txt": "130"})
    file = tmp_path / "mine.yaml"
    file.write_text("version: 1\njobs:\n  a:\n    kind: benchmark\n    pol: p\n")
    done = gate(project, "--project-file", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}:5: jobs.a.pol: " in done.stderr


MISCONFIGURED = (
    "a: misconfigured: benchgate.yaml of HEAD^:4: jobs.a.kind: this version does not run bench; it runs"
)


def test_a_file_without_a_job_that_this_version_runs_exits_with_2(project: TinyProject) -> None:
    done = gate_patch(
        project, {"benchgate.yaml": "version: 1\njobs:\n  a:\n    kind: bench\n"}, {"time.txt": "99"}
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(MISCONFIGURED)
    assert done.stderr.splitlines()[1:] == [
        "correct the file; `--project-file FILE` tries it before you commit it"
    ]


def test_a_misconfigured_job_is_named_and_the_others_are_measured(project: TinyProject) -> None:
    first, rest = PROJECT_FILE.split("jobs:\n")
    done = gate_patch(
        project, {"benchgate.yaml": f"{first}jobs:\n  a:\n    kind: bench\n{rest}"}, {"time.txt": "130"}
    )
    assert done.returncode == 1
    assert done.stderr.startswith(MISCONFIGURED)
    assert "tiny-perf: slower" in done.stdout


def test_programs_run_without_a_sandbox_on_request(project: TinyProject) -> None:
    project.commit({"time.txt": "130"})
    assert gate(project, "--no-sandbox").returncode == 1


@pytest.mark.parametrize("words", [(), ("--no-sandbox",)])
def test_data_that_looks_like_a_source_or_document_is_measured_if_the_program_reads_it(
    project: TinyProject, words: tuple[str, ...]
) -> None:
    """Before, it was not: a parser of Markdown could get any slower on its pages."""
    everything = PROJECT_FILE.replace('    paths: ["*.txt", "*.sh"]\n', "")
    program = PROGRAM.replace("@TIME@", "$(( $(cat table.h) + $(cat page.md) ))")
    read = {"table.h": "50", "page.md": "50"}
    project.commit({"benchgate.yaml": everything, "program.sh": program, **read, "other.h": "", "a.md": ""})
    base = project.commit({"other.h": "int other;", "a.md": "A text."})
    honest = gate(project, *words)
    project.commit(dict.fromkeys(read, "100"))
    slower = gate(project, "--base", base, *words)

    assert honest.returncode == 0, honest.stderr
    assert "the program is identical on both sides" in honest.stdout
    assert slower.returncode == 1, slower.stderr
    assert "1 of 1 result is slower; worst: BM_Work CPU time ×2" in slower.stdout
    assert "its launches open files that differ: page.md, table.h\n" in slower.stderr


def test_a_closed_stdout_exits_with_141() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as unread:
        argv = [sys.executable, "-m", "service.cli", "compare", "--base", str(SAMPLE), "--patch", str(SAMPLE)]
        assert subprocess.run(argv, stdout=unread, stderr=unread, check=False).returncode == 141


def test_recorded_files_are_compared_in_pairs() -> None:
    files = [str(SAMPLE)] * 8
    done = benchgate("compare", "--base", *files, "--patch", *files, "--json", "--sequential")
    assert done.returncode == 0, done.stderr
    assert "judged without history" in done.stderr
    rows = json.loads(done.stdout)["benchmarks"]
    assert {"name", "metric", "verdict", "ratio", "interval", "pairs"} <= set(rows[0])
    assert {row["verdict"] for row in rows} <= {"same", "failing"}


def test_two_files_are_base_and_patch_and_the_last_line_sums_up() -> None:
    done = benchgate("compare", str(SAMPLE), str(SAMPLE))
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ results: .*; nothing would vote -1", done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--base", str(SAMPLE), str(SAMPLE), "--patch", str(SAMPLE)), "2 base and 1 patch files"),
        (("--base", str(SAMPLE)), "add --patch FILE..."),
        ((), "add --base FILE..."),
        ((str(SAMPLE),), "give two files, the base's and the patch's"),
        ((str(SAMPLE), "--base", str(SAMPLE)), "say which side"),
        (("--base", __file__, "--patch", str(SAMPLE)), "test_gate.py"),
        (("--base", "/no/such/file.json", "--patch", str(SAMPLE)), "/no/such/file.json"),
    ],
)
def test_files_that_cannot_be_compared_are_named(words: tuple[str, ...], message: str) -> None:
    done = benchgate("compare", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def gate_patch(
    project: TinyProject, parent: Mapping[str, str | None], patch: Mapping[str, str | None]
) -> CompletedProcess[str]:
    """Commit files for the parent, then for the patch, and run `benchgate gate`."""
    project.commit(parent)
    project.commit(patch)
    return gate(project)


def gate(project: TinyProject, *words: str) -> CompletedProcess[str]:
    """Run `benchgate gate` in the project, with a cache beside it."""
    return benchgate("gate", "--repo", str(project.path), *words, cache=str(project.path.parent / "cache"))


def started(project: TinyProject, *words: str, command: str = "gate") -> subprocess.Popen[str]:
    """Start `benchgate gate`, or another command, in the project."""
    # A shell that starts the tests in the background lets them ignore this signal.
    heeding = ["env", "--default-signal=INT"]
    argv = [*heeding, sys.executable, "-m", "service.cli", command, "--repo", str(project.path), *words]
    environment = {**os.environ, "XDG_CACHE_HOME": str(project.path.parent / "cache"), "NO_COLOR": "1"}
    return subprocess.Popen(
        argv,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_program_that_lists_no_benchmark_exits_with_3(project: TinyProject) -> None:
    done = gate_patch(project, {"program.sh": "#!/bin/sh\nexit 0\n"}, {"time.txt": "99"})
    assert done.returncode == 3
    assert "suite tiny lists no benchmark on either side" in done.stdout


def test_files_without_benchmarks_exit_with_2(tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text('{"context": {}, "benchmarks": []}')
    done = benchgate("compare", "--base", str(empty), "--patch", str(empty))
    assert done.returncode == 2
    assert "no benchmark that could be compared" in done.stderr


TESTS = """\
version: 1
jobs:
  tests: {kind: ctest, build: {configure: cmake -S . -B build}}
  elsewhere: {kind: external}
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.21)
project(tiny NONE)
enable_testing()
add_test(NAME note COMMAND grep good ${CMAKE_SOURCE_DIR}/note.txt)
"""


@pytest.mark.parametrize(("note", "code", "outcome"), [("good", 0, "passed"), ("bad", 1, "failed")])
def test_a_commit_is_tested_too(project: TinyProject, note: str, code: int, outcome: str) -> None:
    parent = {"benchgate.yaml": TESTS, "CMakeLists.txt": CMAKE, "note.txt": "good"}
    done = gate_patch(project, parent, {"note.txt": note + "\n", "README": "new"})
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(f"tests: {outcome}\n")
    assert ("\n  note: failed, and its output does not say why\n" in done.stdout) == (note == "bad")
