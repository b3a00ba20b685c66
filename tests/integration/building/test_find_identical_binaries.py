"""Real commits, built by a real compiler in the sandbox: which suites are seen to run the same program."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from service.adapters.machines.local_build import LocalBuild
from service.domain.project.project_file import parse_project_file
from service.domain.values.identity import Side
from service.steps.building.build_sides import built_tree
from service.steps.building.find_identical_binaries import find_identical_binaries
from service.steps.building.session import BuildSession
from service.steps.runs.gate import local_spec
from service.wiring.build_host import make_build_host
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.support.building.build_host import Silence

if TYPE_CHECKING:
    from pathlib import Path

    from service.steps.building.session import BuildHost

pytestmark = pytest.mark.integration

PROJECT_FILE = """\
version: 1
jobs:
  perf:
    kind: benchmark
    build: {compile: sh build.sh}
    suites: [{name: uses-library, program: build/a}, {name: alone, program: build/b}]
"""
BUILD = b"""\
set -e
g++ -O1 -g -fPIC -shared work.cc -o build/libwork.so
g++ -O1 -g a.cc -Lbuild -lwork -Wl,-rpath,/src/build -o build/a
g++ -O1 -g b.cc -o build/b
"""
FILES: dict[str, bytes | Path] = {
    "build.sh": BUILD,
    "work.cc": b"int work(int n) { return n * 3; }\n",
    "a.cc": b"int work(int); int main(int n, char**) { return work(n); }\n",
    "b.cc": b"int main() { return 0; }\n",
    "keys.txt": b"1",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture(scope="module")
def host(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> BuildHost:
    home = tmp_path_factory.mktemp("home")
    return make_build_host(home, lambda _: str(repository.path), (), is_sandboxed=True)


@pytest.mark.parametrize(
    ("path", "content", "same"),
    [
        ("README.md", b"Fast.\n", {"uses-library", "alone"}),
        # A line more is another line number in the debug information.
        ("work.cc", b"// Triples.\nint work(int n) { return n * 3; }\n", {"uses-library", "alone"}),
        ("b.cc", b"int main() { return 7; }\n", {"uses-library"}),
        ("a.cc", b"int work(int); int main(int n, char**) { return work(n) + 1; }\n", {"alone"}),
        ("work.cc", b"int work(int n) { return n * 5; }\n", set()),
        ("keys.txt", b"2", set()),
    ],
)
def test_a_suite_is_the_same_where_nothing_that_it_loads_or_reads_changed(
    repository: Repository, host: BuildHost, tmp_path: Path, path: str, content: bytes, same: set[str]
) -> None:
    base = repository.commit(FILES)
    patch = repository.commit({**FILES, path: content}, base)
    host.source.fetch("kv", base, patch)
    job = parse_project_file(PROJECT_FILE).job("perf")
    spec = local_spec(host.source, "kv", base, patch, job)
    assert spec.base is not None
    build = LocalBuild(spec, "seed", tmp_path / "cache")
    session = BuildSession(build, spec, host, Silence())
    with ExitStack() as stack:
        trees = {
            side: stack.enter_context(built_tree(session, revision))
            for side, revision in ((Side.BASE, spec.base), (Side.PATCH, spec.patch))
        }
        assert find_identical_binaries(session, trees) == same
