"""``python -m bench.builds``: measure the time that the compiler cache saves `gate` and a patch set."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from typing_extensions import override

from bench.timing import CAVEAT, met, say, say_load
from service.adapters.machines.local_build import LocalBuild
from service.domain.building.spec import REVIEWED, UNREVIEWED, BuildSpec, Revision
from service.domain.project.project_file import parse_project_file
from service.domain.values.identity import RunKind
from service.steps.building.build_sources import built_sources
from service.steps.building.session import BuildSession
from service.steps.runs.gate import gate, local_spec
from service.wiring.build_host import make_build_host
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.support.building.build_host import MemoryClaimed, Silence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.measuring.pair_record import PairRecord
    from service.domain.project.job import Job
    from service.steps.building.session import BuildHost

GATE_GOAL: Final = 3.0
PATCH_GOAL: Final = 10.0
_PROJECT: Final = "bench"
_CMAKE: Final = """\
cmake_minimum_required(VERSION 3.20)
project(many CXX)
set(CMAKE_BUILD_TYPE Release)
set(CMAKE_CXX_STANDARD 17)
find_package(benchmark REQUIRED)
file(GLOB sources CONFIGURE_DEPENDS part_*.cc)
add_executable(many main.cc ${sources})
target_link_libraries(many benchmark::benchmark)
"""
_MAIN: Final = """\
#include <benchmark/benchmark.h>
int part_0(int);
void BM_Part(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(part_0(static_cast<int>(state.iterations())));
}
BENCHMARK(BM_Part);
BENCHMARK_MAIN();
"""
# Like a file of a project that uses the standard library: about half a second to compile.
_PART: Final = """\
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>
int part_{number}(int given) {{
  std::map<std::string, std::vector<int>> found;
  for (int i = 0; i < {constant}; ++i) found[std::to_string(i % 7)].push_back(given ^ i);
  std::function<bool(int, int)> before = [given](int a, int b) {{ return (a ^ given) < (b ^ given); }};
  for (auto& each : found) std::sort(each.second.begin(), each.second.end(), before);
  return found.begin()->second.front() + {number};
}}
"""
_JOB: Final = """\
version: 1
jobs:
  many:
    kind: benchmark
    build: {configure: cmake -G Ninja -B build, compile: cmake --build build}
    suites: [{name: many, program: build/many}]
"""


class _FirstPair(BaseException):
    """Raised to end a measured gate; a build ends with its cause after any other error."""


class _UntilFirstPair(LocalBuild):
    @override
    def record(self, pair: PairRecord, launches: Sequence[Mapping[str, object]]) -> None:
        raise _FirstPair


@dataclass(frozen=True, slots=True)
class _Place:
    """A repository, and machines with and without a cache that build its commits."""

    repository: Repository
    home: Path
    files: int

    def commit(self, constant: int, *parents: str) -> str:
        """Commit the project; the constant is in the first of its files."""
        parts = {
            f"part_{n}.cc": _PART.format(number=n, constant=constant if n == 0 else 40).encode()
            for n in range(self.files)
        }
        files = {"CMakeLists.txt": _CMAKE.encode(), "main.cc": _MAIN.encode(), **parts}
        return self.repository.commit(dict(files), *parents)

    def host(self, name: str, *, has_cache: bool) -> BuildHost:
        """Return a machine on which nothing was built."""
        found = make_build_host(self.home / name, lambda _: str(self.repository.path), (), is_sandboxed=True)
        found.source.fetch(_PROJECT, "refs/heads/master")
        return found if has_cache else replace(found, compiler_cache=None)


@click.command()
@click.option("--files", default=500, show_default=True, type=click.IntRange(1), help="Files of the project.")
def main(files: int) -> None:
    """Build a generated project with and without the cache, and print the seconds and their ratios."""
    say(CAVEAT)
    say_load("before")
    directory = Path(tempfile.mkdtemp(prefix="benchgate-bench-"))
    try:
        place = _Place(Repository(directory / "repository"), directory, files)
        job = parse_project_file(_JOB).job("many")
        base = place.commit(40)
        first, second = place.commit(41, base), place.commit(42, base)
        place.repository.git("update-ref", "refs/heads/master", second)
        place.repository.git("update-ref", "refs/heads/first", first)
        _compare_patch_sets(place, job, base, first)
        _compare_gates(place, job, base, first, second)
    finally:
        shutil.rmtree(directory)
    say_load("after")


def _compare_patch_sets(place: _Place, job: Job, base: str, patch: str) -> None:
    seconds: dict[bool, dict[str, float]] = {}
    for has_cache in (False, True):
        host = place.host(f"machine-{has_cache}", has_cache=has_cache)
        host.source.fetch(_PROJECT, "refs/heads/first")
        seconds[has_cache] = {
            name: _build(host, job, Revision(commit, host.source.tree(_PROJECT, commit), commit, trust))
            for name, commit, trust in (("base", base, REVIEWED), ("patch set", patch, UNREVIEWED))
        }
        for name, taken in seconds[has_cache].items():
            say(f"{name} of {place.files} files, {_word(has_cache)} the cache: {taken:.1f} s")
    ratio = seconds[False]["patch set"] / seconds[True]["patch set"]
    say(f"a patch set that touches one file: {ratio:.1f} times as fast, {met(ratio >= PATCH_GOAL)}")
    extra = seconds[True]["base"] / seconds[False]["base"]
    say(f"the first build, which fills the cache: {extra:.2f} times the seconds")


def _build(host: BuildHost, job: Job, side: Revision) -> float:
    spec = BuildSpec(RunKind.CHECK, "gerrit", _PROJECT, "master", None, side, job)
    begun = time.monotonic()
    with built_sources(BuildSession(MemoryClaimed(), spec, host, Silence()), side):
        return time.monotonic() - begun


def _compare_gates(place: _Place, job: Job, base: str, first: str, second: str) -> None:
    for has_cache in (False, True):
        name = f"local-{has_cache}"
        host = place.host(name, has_cache=has_cache)
        host.source.fetch(_PROJECT, "refs/heads/first")
        seconds = []
        for patch in (first, second):
            spec = local_spec(host.source, _PROJECT, base, patch, job)
            begun = time.monotonic()
            try:
                gate(spec, _UntilFirstPair(spec, "seed", place.home / name / "binaries"), host, Silence())
            except _FirstPair:
                seconds.append(time.monotonic() - begun)
        before, after = seconds
        goal = f", {met(before / after >= GATE_GOAL)}" if has_cache else ""
        say(
            f"gate {_word(has_cache)} the cache: first pair after {before:.1f} s, of the next patch after "
            f"{after:.1f} s: {before / after:.1f} times as fast{goal}"
        )


def _word(has_cache: bool) -> str:  # noqa: FBT001 - reads as a sentence where it is called
    return "with" if has_cache else "without"


if __name__ == "__main__":
    main()
