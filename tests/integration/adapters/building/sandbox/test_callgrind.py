"""Instruction counts with the real Valgrind in the real sandbox, of programs with a known amount of work."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.domain.measuring.callgrind_events import Event
from service.domain.measuring.listing import Listing
from service.domain.project.benchmark import BenchmarkConfiguration, Instructions, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.values.identity import Side
from service.domain.verdict.comparison.grown_functions import grown
from service.domain.verdict.comparison.instruction_counts import AGREEMENT, added_share, compare_counts
from service.domain.verdict.explanation.causes import Cause, Kind, causes
from service.domain.verdict.explanation.explanation import Explanation
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from service.domain.wording.build_causes import SEVERAL_THREADS
from service.steps.measuring.count_instructions import count_instructions
from service.steps.measuring.disassemble import disassembled, listed
from service.steps.measuring.launching import Launcher
from tests.support.building.build_host import MemorySandbox, memory_host, session_of
from tests.support.building.memory_source import MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.measuring.callgrind import Counts

pytestmark = pytest.mark.integration

# Every item is the same few instructions, so that PERCENT more items are PERCENT more instructions.
PROGRAM: Final = """
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace {

void work(std::uint64_t items) {
    std::uint64_t state = 1;
    for (std::uint64_t k = 0; k < items; ++k) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        benchmark::DoNotOptimize(state);
    }
}

void BM_Tiny(benchmark::State& state) {
    for (auto _ : state) work(200 + 2 * PERCENT);
}
BENCHMARK(BM_Tiny);

void BM_Large(benchmark::State& state) {
    for (auto _ : state) work(200000 + 2000 * PERCENT);
}
BENCHMARK(BM_Large);

void BM_Repeated(benchmark::State& state) {
    for (auto _ : state) work(20000 + 200 * PERCENT);
}
BENCHMARK(BM_Repeated)->Iterations(7);

void BM_Setup(benchmark::State& state) {
    work(100000 * (1 + PERCENT));
    for (auto _ : state) work(500);
}
BENCHMARK(BM_Setup);

void BM_Allocating(benchmark::State& state) {
    std::mt19937 sizes(1);
    for (auto _ : state) {
        void* block = std::malloc(16 + sizes() % 4096);
        benchmark::DoNotOptimize(block);
        std::free(block);
    }
}
BENCHMARK(BM_Allocating);

void BM_Random(benchmark::State& state) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    for (auto _ : state) work(1000 + now % 1009);
}
BENCHMARK(BM_Random);

void BM_Threads(benchmark::State& state) {
    for (auto _ : state) work(100);
}
BENCHMARK(BM_Threads)->Threads(2);

}  // namespace

BENCHMARK_MAIN();
"""
NAMES: Final = (
    "BM_Tiny",
    "BM_Large",
    "BM_Repeated/iterations:7",
    "BM_Setup",
    "BM_Allocating",
    "BM_Random",
    "BM_Threads/threads:2",
)
LISTING: Final = Listing("knob", NAMES, NAMES)
JOB: Final = Job(
    "perf",
    JobKind("benchmark"),
    BenchmarkConfiguration(suites=(Suite("knob", "build/knob"),), instructions=Instructions.REPORT),
)


def built(tree: Path, percent: int, *flags: str) -> Path:
    (tree / "build").mkdir(parents=True)
    (tree / "knob.cpp").write_text(PROGRAM)
    if flags:
        compiled(tree, percent, *flags)
    else:
        program = tree / "build" / "knob"
        program.write_bytes(without_lines(percent))
        program.chmod(0o755)
    return tree


def compiled(tree: Path, percent: int, *flags: str) -> Path:
    program = tree / "build" / "knob"
    command = ["g++", "-O2", *flags, f"-DPERCENT={percent}", "-o", str(program), str(tree / "knob.cpp")]
    subprocess.run([*command, "-lbenchmark", "-lpthread"], check=True)
    return program


@cache
def without_lines(percent: int) -> bytes:
    """Compile the program once; only one with lines has the names of directories."""
    with TemporaryDirectory() as directory:
        tree = Path(directory)
        (tree / "build").mkdir()
        (tree / "knob.cpp").write_text(PROGRAM)
        return compiled(tree, percent).read_bytes()


def counted(
    root: Path, percent: int, listing: Listing = LISTING, after: Callable[[Path], None] = lambda _: None
) -> Counts:
    """Count a base and a patch that does a given percentage more work, and compare them."""
    trees = {Side.BASE: built(root / "base", 0), Side.PATCH: built(root / "patch", percent)}
    for tree in trees.values():
        after(tree)
    scratch = root / "scratch"
    scratch.mkdir()
    host = memory_host(MemorySource(), MemorySandbox(), scratch)
    session = session_of(replace(host, sandbox=BubblewrapSandbox()), JOB)
    return count_instructions(Launcher(session, trees), [listing])


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counts:
    return counted(tmp_path_factory.mktemp("knob"), 5)


@pytest.fixture(scope="module")
def rows(counts: Counts) -> dict[str, Comparison]:
    return {row.row.benchmark: row for row in compare_counts([LISTING], counts, JOB.policy.floor)}


@pytest.mark.parametrize("name", ["BM_Tiny", "BM_Large", "BM_Repeated/iterations:7"])
def test_five_percent_more_work_is_five_percent_more_instructions(
    rows: dict[str, Comparison], name: str
) -> None:
    assert rows[name].verdict is Verdict.SLOWER
    assert rows[name].ratio == pytest.approx(1.05, abs=0.002)


@pytest.mark.parametrize("name", ["BM_Tiny", "BM_Large", "BM_Repeated/iterations:7"])
def test_the_function_with_more_work_is_named(counts: Counts, name: str) -> None:
    found = grown(counts, "knob", name, JOB.policy.floor)
    assert found is not None
    (function,) = found.functions
    assert function.share == pytest.approx(0.05, abs=0.002)
    assert function.name.startswith("(anonymous namespace)::")


def test_what_the_c_library_executes_is_that_of_its_caller(counts: Counts) -> None:
    functions = counts["knob", Side.PATCH]["BM_Allocating"].functions
    assert {"malloc", "free"} <= {each.library for each in functions if each.name.endswith("BM_Allocating")}


@pytest.mark.parametrize("name", ["BM_Setup", "BM_Allocating"])
def test_code_outside_the_timed_loop_is_not_counted(
    rows: dict[str, Comparison], counts: Counts, name: str
) -> None:
    assert rows[name].verdict is Verdict.SAME
    assert added_share(counts, "knob", name) == pytest.approx(0, abs=AGREEMENT)


def test_work_that_depends_on_the_clock_is_not_deterministic(
    rows: dict[str, Comparison], counts: Counts
) -> None:
    assert rows["BM_Random"].verdict is Verdict.UNDECIDED
    assert rows["BM_Random"].reasons == (Reason(ReasonKind.NOT_DETERMINISTIC),)
    assert added_share(counts, "knob", "BM_Random") is None


def test_several_threads_are_not_counted(rows: dict[str, Comparison]) -> None:
    reason = Reason(ReasonKind.NOT_COUNTED, (SEVERAL_THREADS,))
    assert rows["BM_Threads/threads:2"].reasons == (reason,)


def test_a_wrapper_script_is_a_reason_and_not_a_failure(tmp_path: Path) -> None:
    def wrap(tree: Path) -> None:
        program = tree / "build" / "knob"
        program.rename(tree / "build" / "real")
        program.write_text('#!/bin/sh\nexec /build/real "$@"\n')
        program.chmod(0o755)

    listing = Listing("knob", ("BM_Tiny",), ("BM_Tiny",))
    (row,) = compare_counts([listing], counted(tmp_path, 0, listing, wrap), JOB.policy.floor)
    (reason,) = row.reasons
    assert reason.kind is ReasonKind.NOT_COUNTED
    assert str(reason.facts[0]).startswith("base: no timed loop was found")


def launcher_of(root: Path, *flags: str) -> Launcher:
    trees = {Side.BASE: built(root / "base", 0, *flags), Side.PATCH: built(root / "patch", 5, *flags)}
    (root / "scratch").mkdir()
    host = memory_host(MemorySource(), MemorySandbox(), root / "scratch")
    return Launcher(session_of(replace(host, sandbox=BubblewrapSandbox()), JOB), trees)


def test_events_of_a_real_launch_name_the_kind_of_cause(tmp_path: Path) -> None:
    launcher = launcher_of(tmp_path)
    suite = launcher.suites["knob"]
    base, patch = ([launcher.count_events(suite, side, "BM_Tiny", 60.0) for _ in range(2)] for side in Side)
    assert causes(base, base, 0.05) == (), "nobody knows which instructions were executed"
    base[-1] = listed(launcher, suite, Side.BASE, base[-1], 60.0)
    (found,) = causes(base, patch, 0.05)
    assert found.kind is Kind.INSTRUCTIONS
    assert found.function.startswith("(anonymous namespace)::")
    assert found.patch / found.base == pytest.approx(1.05, abs=0.005)
    (same,) = causes(base, base, 0.05)
    assert same.kind is Kind.LAYOUT
    allocating = launcher.count_events(suite, Side.BASE, "BM_Allocating", 60.0)
    assert allocating.rates[Event.ALLOCATIONS] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("flags", [("-g1",), ()])
def test_a_function_is_disassembled_with_lines_if_the_program_has_them(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    launcher = launcher_of(tmp_path, *flags)
    suite = launcher.suites["knob"]
    sides = [[launcher.count_events(suite, side, "BM_Tiny", 60.0)] for side in Side]
    by_function = sides[1][0].functions[Event.INSTRUCTIONS]
    hottest = Cause(Kind.INSTRUCTIONS, max(by_function, key=by_function.__getitem__), 1.0, 1.05)
    found = disassembled(launcher, suite, Explanation("knob", "BM_Tiny", causes=(hottest,)), sides, 60.0)
    assert found.assembly is not None
    looped = {(row.base_rate, row.patch_rate) for row in found.assembly.rows if row.base_rate > 2}
    assert (200, 210) in looped, "iterations of the loop in work()"
    numbered = PROGRAM.splitlines()
    loop = [row for row in found.assembly.rows if row.base_rate == 200]
    sources = {numbered[row.line - 1].strip() for row in loop if row.path == "knob.cpp"}
    assert any("state * 6364136223846793005U" in line for line in sources) is bool(flags)
    assert all(row.path == "knob.cpp" for row in loop) is bool(flags)
