"""Real commits, built and launched in the sandbox: which suites are seen to run the same program."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.adapters.machines.local_build import LocalBuild
from service.domain.project.project_file import parse_project_file
from service.domain.values.identity import Side
from service.steps.building.session import BuildSession
from service.steps.measuring.find_identical_programs import find_identical_programs
from service.steps.measuring.prepare_sides import prepare_sides
from service.steps.runs.gate import local_spec
from service.wiring.build_host import make_build_host
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.support.building.build_host import Silence

if TYPE_CHECKING:
    from service.steps.building.session import BuildHost

pytestmark = pytest.mark.integration

PROJECT_FILE = """\
version: 1
jobs:
  perf:
    kind: benchmark
    build: {compile: sh build.sh}
    suites:
      - {name: uses-library, program: build/a}
      - {name: alone, program: build/b}
      - {name: reads, program: build/reads}
"""
BUILD = b"""\
set -e
g++ -O1 -g -fPIC -shared work.cc -o build/libwork.so
g++ -O1 -g a.cc -Lbuild -lwork -Wl,-rpath,/src/build -o build/a
g++ -O1 -g b.cc -o build/b
g++ -O1 -g reads.cc -o build/reads
"""
# A parser, or a compiler of kernels, that is measured on files beside its code.
READS = b"""\
#include <dirent.h>
#include <initializer_list>
#include <stdio.h>
int main() {
  int sum = 0;
  for (const char* path : {"table.h", "page.md", "tests/latest/case"})
    if (FILE* file = fopen(path, "r")) { sum += fgetc(file); fclose(file); }
  if (DIR* all = opendir("list")) { while (readdir(all)) ++sum; closedir(all); }
  return sum == 0;
}
"""
FILES: dict[str, bytes | Path] = {
    "build.sh": BUILD,
    "work.cc": b"int work(int n) { return n * 3; }\n",
    "a.cc": b"int work(int); int main(int n, char**) { return work(n); }\n",
    "b.cc": b"int main() { return 0; }\n",
    "reads.cc": READS,
    "table.h": b"1",
    "page.md": b"1",
    "keys.txt": b"1",
    "tests/latest": Path("old"),
    "tests/old/case": b"1",
    "tests/new/case": b"2",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture(scope="module")
def host(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> BuildHost:
    home = tmp_path_factory.mktemp("home")
    return make_build_host(home, lambda _: str(repository.path), (), is_sandboxed=True)


ALL = {"uses-library", "alone", "reads"}


@pytest.mark.parametrize(
    ("path", "content", "same"),
    [
        ("README.md", b"Fast.\n", ALL),
        ("unused.h", b"int unused;\n", ALL),
        ("keys.txt", b"2", ALL),
        # A line more is another line number in the debug information.
        ("work.cc", b"// Triples.\nint work(int n) { return n * 3; }\n", ALL),
        ("b.cc", b"int main() { return 7; }\n", ALL - {"alone"}),
        ("a.cc", b"int work(int); int main(int n, char**) { return work(n) + 1; }\n", ALL - {"uses-library"}),
        ("work.cc", b"int work(int n) { return n * 5; }\n", set()),
        ("table.h", b"2", ALL - {"reads"}),
        ("page.md", b"2", ALL - {"reads"}),
        ("page.md", None, ALL - {"reads"}),
        ("tests/latest", Path("new"), ALL - {"reads"}),
        ("tests/new/case", b"3", ALL),
        ("list/c.md", b"", ALL - {"reads"}),
        (".gitattributes", b"page.md text eol=crlf\n", ALL),
        (".gitattributes", b"page.md working-tree-encoding=UTF-16\n", ALL - {"reads"}),
    ],
)
def test_a_suite_is_the_same_where_nothing_that_it_loads_or_reads_changed(
    repository: Repository,
    host: BuildHost,
    tmp_path: Path,
    path: str,
    content: bytes | Path | None,
    same: set[str],
) -> None:
    """Only what launches open counts, however it is named and for whatever reason it differs."""
    changed = {**FILES, path: content}
    base = repository.commit(FILES)
    patch = repository.commit({name: text for name, text in changed.items() if text is not None}, base)
    host.source.fetch("kv", base, patch)
    job = parse_project_file(PROJECT_FILE).job("perf")
    spec = local_spec(host.source, "kv", base, patch, job)
    build = LocalBuild(spec, "seed", tmp_path / "cache")
    session = BuildSession(build, spec, host, Silence())
    with ExitStack() as stack:
        sides = prepare_sides(session, stack, {}, is_new=True)

        assert set(sides.trees) == set(Side)
        assert find_identical_programs(session, sides) == same
