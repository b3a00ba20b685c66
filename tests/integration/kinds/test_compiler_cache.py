"""Use the real ccache in the real sandbox, and let a patch set try to poison it."""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import pytest
from typing_extensions import override

from service.domain.building.spec import REVIEWED, UNREVIEWED, BuildSpec, Revision
from service.domain.project.project_file import parse_project_file
from service.domain.values.identity import RunKind
from service.steps.building.build_log import BuildLog
from service.steps.building.build_sources import built_sources
from service.steps.building.session import BuildSession
from tests.support.building.build_host import MemoryClaimed, Silence

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.integration.kinds.conftest import Machine

pytestmark = pytest.mark.integration

CMAKE: Final = """\
cmake_minimum_required(VERSION 3.20)
project(p CXX)
add_executable(p main.cc a.cc b.cc)
"""
FILES: Final = {
    "CMakeLists.txt": CMAKE.encode(),
    "main.cc": b"int a(); int b(); int main() { return a() + b(); }\n",
    "a.cc": b"int a() { return 1; }\n",
    "b.cc": b"int b() { return 2; }\n",
}
JOB: Final = (
    "    kind: command\n    command: 'true'\n    build: {configure: cmake -B build -G Ninja, compile: %s}\n"
)
UNCHANGED: Final[Mapping[str, bytes]] = MappingProxyType({})
CHANGED: Final = MappingProxyType({"a.cc": b"int a() { return 7; }\n"})
# A patch can run anything, so it may look for the cache and write to all that it finds.
POISON: Final = """\
cmake --build build
find /compiler-cache -type f | while read -r entry; do echo poison > "$entry"; done
for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do mkdir -p /compiler-cache/$i; echo x > /compiler-cache/$i/x; done
mv /compiler-cache /compiler-cache-moved; rm -rf /compiler-cache; ln -s /src /compiler-cache
env -u CCACHE_READONLY CCACHE_RECACHE=1 ccache c++ -c /src/a.cc -o /tmp/a.o
echo "max_size = 1" > /compiler-cache/ccache.conf
true
"""


class Notes(Silence):
    """The lines that stay."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    @override
    def note(self, text: str) -> None:
        self.notes.append(text)


class Builds:
    """Builds of one project on one machine, each of new sources."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def entries(self) -> dict[Path, bytes]:
        """Read the files of all caches."""
        cache = self._machine.host.compiler_cache
        assert cache is not None
        return {path: path.read_bytes() for path in cache.directory.rglob("*") if path.is_file()}

    def build(
        self,
        trust: str,
        changed: Mapping[str, bytes] = UNCHANGED,
        *,
        compile_: str = "cmake --build build",
        instance: str = "gerrit",
    ) -> tuple[int, int, bytes]:
        """Build a commit; return the files from the cache, all files, and the bytes of the program."""
        commit, _ = self._machine.commits({**FILES, **changed}, {"README": b"after"})
        host = self._machine.host
        job = parse_project_file(f"version: 1\njobs:\n  job:\n{JOB % json.dumps(compile_)}").job("job")
        side = Revision(commit, host.source.tree("kv", commit), commit, trust)
        spec = BuildSpec(RunKind.CHECK, instance, "kv", "master", None, side, job)
        log, progress = BuildLog(), Notes()
        with built_sources(BuildSession(MemoryClaimed(), spec, host, progress, log), side) as tree:
            program = (tree / "build/p").read_bytes()
        found = re.search(rb"compiler cache: (\d+) of (\d+)", log.kept())
        assert found, log.kept().decode()
        assert progress.notes == [], "only the log says it"
        return int(found[1]), int(found[2]), program


@pytest.fixture
def builds(machine: Machine) -> Builds:
    return Builds(machine)


def test_a_patch_set_compiles_only_what_differs_from_the_reviewed_code(builds: Builds) -> None:
    none, everything, program = builds.build(REVIEWED)
    again, _, same = builds.build(UNREVIEWED)
    changed, _, other = builds.build(UNREVIEWED, CHANGED)

    assert (none, again, changed) == (0, 3, 2)
    assert everything > 2
    assert program == same != other


def test_a_changed_header_that_comes_before_a_known_one_is_compiled(builds: Builds) -> None:
    files = {
        "CMakeLists.txt": f"{CMAKE}include_directories(first second)\n".encode(),
        "a.cc": b'#include "value.h"\nint a() { return VALUE; }\n',
        "second/value.h": b"#define VALUE 1\n",
    }
    _, _, before = builds.build(REVIEWED, files)
    hits, _, after = builds.build(UNREVIEWED, {**files, "first/value.h": b"#define VALUE 2\n"})

    assert hits == 2
    assert before != after


def test_all_that_imports_a_changed_module_is_compiled(builds: Builds) -> None:
    """Its preprocessed source has the import, and nothing of the module."""
    files = {
        "a.cc": b"export module m;\nexport inline int value() { return 1; }\n",
        "main.cc": b"import m;\nint main() { return value(); }\n",
    }
    compiler = "ccache g++ -std=c++20 -c"
    units = f"for i in a main; do {compiler} -fmodules-ts $i.cc; done"
    line = f"{compiler} b.cc; {units}; g++ *.o -o build/p"
    _, _, before = builds.build(REVIEWED, files, compile_=line)
    changed = {**files, "a.cc": files["a.cc"].replace(b"1", b"2")}
    hits, _, after = builds.build(UNREVIEWED, changed, compile_=line)

    assert hits == 1
    assert before != after


def test_code_under_review_adds_nothing(builds: Builds) -> None:
    builds.build(REVIEWED)

    assert [builds.build(UNREVIEWED, CHANGED)[0] for _ in range(2)] == [2, 2]


def test_another_server_has_another_cache(builds: Builds) -> None:
    builds.build(REVIEWED)

    assert builds.build(REVIEWED, instance="other")[0] == 0


def test_a_patch_set_cannot_poison_the_cache(builds: Builds) -> None:
    _, _, program = builds.build(REVIEWED)
    before = builds.entries()
    builds.build(UNREVIEWED, CHANGED, compile_=POISON)
    assert builds.entries() == before
    hits, _, again = builds.build(UNREVIEWED)

    assert (hits, again) == (3, program)


def test_a_cache_cut_off_during_a_write_is_repaired(builds: Builds) -> None:
    _, _, program = builds.build(REVIEWED)
    for entry in builds.entries():
        entry.write_bytes(entry.read_bytes()[:40])

    assert builds.build(UNREVIEWED)[2] == program
    assert builds.build(REVIEWED)[2] == program
    assert builds.build(UNREVIEWED)[0] == 3
