"""`benchgate gate` of programs that need a directory, a variable and arguments, and of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.test_gate import gate
from tests.support.project.tiny_project import PROJECT_FILE, TinyProject

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]
SUITE = 'name: tiny, program: build/tiny, cwd: data, env: {SIZE: "10"}, args: [/dev/stdout, "a b"]'
NEEDS = '[ "$(cat size.txt) $SIZE $2" = "10 10 a b" ] || { echo "cannot open size.txt" >&2; exit 3; }\n'
NANOBENCH = """\
#!/bin/sh
%s
echo '| ns/op | op/s | err%% | total | benchmark'
cat > "$1" <<END
{"results": [{"name": "work", "batch": 1, "measurements": [{"iterations": 1e+06, "elapsed": @TIME@e-9}]}]}
END
echo 'done'
"""
CATCH2 = """\
#!/bin/sh
%s
while [ $# -gt 0 ]; do
  case "$1" in
    --benchmark_list_tests=true) echo 'Unrecognised token: --benchmark_list_tests' >&2; exit 1 ;;
    --out) out=$2 ;;
  esac
  shift
done
cat > "${out:-/dev/null}" <<END
<Catch2TestRun><TestCase name="t">
<BenchmarkResults name="work"><mean value="@TIME@"/></BenchmarkResults>
</TestCase></Catch2TestRun>
END
"""


def project_of(tmp_path: Path, program: str, suite: str) -> TinyProject:
    project = TinyProject(tmp_path / "tiny")
    (project.path / "data").mkdir()
    file = PROJECT_FILE.replace("name: tiny, program: build/tiny, repetitions: 1", suite)
    project.commit({"data/size.txt": "10\n", "program.sh": program % NEEDS, "benchgate.yaml": file})
    project.commit({"time.txt": "130"})
    return project


@pytest.mark.parametrize("words", [(), ("--no-sandbox",)], ids=["sandbox", "no sandbox"])
@pytest.mark.parametrize(
    ("program", "library", "name"),
    [(NANOBENCH, "nanobench", "work"), (CATCH2, "catch2", "t/work")],
    ids=["nanobench", "catch2"],
)
def test_a_program_of_another_library_is_measured_where_its_suite_says(
    tmp_path: Path, program: str, library: str, name: str, words: tuple[str, ...]
) -> None:
    done = gate(project_of(tmp_path, program, f"{SUITE}, format: {library}"), *words)

    assert done.returncode == 1, done.stderr
    assert f"1 of 1 result is slower; worst: {name} real time +30.0 %" in done.stdout


@pytest.mark.parametrize(
    ("suite", "cause"),
    [
        (
            SUITE,
            "Unrecognised token: --benchmark_list_tests): its program uses Catch2: set `format: catch2` in",
        ),
        (
            "name: tiny, program: build/tiny",
            "cannot open size.txt): its program does not find a file: set `cwd`",
        ),
        (SUITE.replace("cwd: data", "cwd: none"), "can't cd to ./none): check its program, args, cwd, "),
    ],
)
def test_a_program_started_in_the_wrong_way_is_misconfigured(tmp_path: Path, suite: str, cause: str) -> None:
    done = gate(project_of(tmp_path, CATCH2, suite))

    assert done.returncode == 3
    assert "tiny-perf: misconfigured" in done.stdout
    assert cause in done.stdout
