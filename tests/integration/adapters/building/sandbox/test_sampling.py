"""Samples of the real profiler in the real sandbox, of programs with a known amount of work."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.domain.measuring.sampled_stacks import Function
from service.domain.project.benchmark import Format
from service.domain.values.identity import Side
from service.domain.verdict.explanation.attribution import LAUNCHES, attribute
from service.domain.verdict.explanation.waiting import waiting
from service.steps.measuring.launching import Launcher
from tests.integration.adapters.building.sandbox.test_callgrind import JOB, built
from tests.support.building.build_host import MemorySandbox, memory_host, session_of
from tests.support.building.memory_source import MemorySource

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.measuring.sampled_stacks import Sampled

pytestmark = pytest.mark.integration


# The patch works with the lock held.
WAITS: Final = """
#include <benchmark/benchmark.h>
#include <mutex>
std::mutex guard;
[[gnu::noinline]] void push() {
    std::unique_lock lock(guard);
    if (!PATCH) lock.unlock();
    for (int k = 0; k < 100000; ++k) benchmark::DoNotOptimize(k);
}
void BM_Queue(benchmark::State& state) { for (auto _ : state) push(); }
BENCHMARK(BM_Queue)->UseRealTime()->Threads(4);
"""


# The functions of nanobench and Catch2 that have the timed loops, and what chooses benchmarks.
LIBRARIES: Final = r"""
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
using Clock = std::chrono::steady_clock;
[[gnu::noinline]] void turn(int n) { for (int k = 0; k < n; ++k) asm volatile("" : "+r"(k)); }
[[gnu::noinline]] void grow(int n) { for (int k = 0; k < n; ++k) asm volatile("" : "+r"(k)); }
inline void changed() { turn(5000); grow(PATCH ? 20000 : 5000); }
template <typename F> [[gnu::always_inline]] inline double time_of(int n, F&& f) {
    double best = 1e9;  // of epochs, as nanobench has them: the machine may be busy
    for (int epoch = 0; epoch < 20; ++epoch) {
        const auto begin = Clock::now();
        for (int k = 0; k < n; ++k) f(k);
        const std::chrono::duration<double, std::nano> taken = Clock::now() - begin;
        best = std::min(best, taken.count() / n);
    }
    return best;
}
namespace ankerl::nanobench { struct Bench {
    template <typename F> [[gnu::noinline]] Bench& run(const char* name, F&& f) {
        const char* endless = std::getenv("NANOBENCH_ENDLESS");
        if (endless && endless == std::string(name)) {
            std::fprintf(stderr, "NANOBENCH_ENDLESS set: running '%s' endlessly\n", name);
            for (;;) f(0);
        }
        std::printf("| %f | 1.0 | 1%% | 0.1 | `%s`\n", time_of(100, f), name);
        return *this;
    }
}; }
namespace Catch::Benchmark { struct Chronometer { int runs; double taken; }; namespace Detail {
struct BenchmarkFunction { template <typename F> struct model {
    F f;
    [[gnu::noinline]] double call(Chronometer meter) const { return time_of(meter.runs, f); }
}; }; } }
FILE* report;
template <typename F> void catch2(const char* name, F f) {
    Catch::Benchmark::Detail::BenchmarkFunction::model<F> loop{f};
    loop.call({1500, 0});
    const char* row = "<BenchmarkResults name='%s'><mean value='%f'/></BenchmarkResults>";
    std::fprintf(report, row, name, loop.call({100, 0}));
}
int main(int count, char** words) {
    for (int k = 1; k < count; ++k)
        if (words[k] == std::string("--out")) report = std::fopen(words[k + 1], "w");
    if (!report) {
        std::puts("| ns/op | op/s | err% | total | benchmark");
        ankerl::nanobench::Bench bench;
        bench.run("other", [](int) { turn(40000); }).run("changed", [](int) { changed(); });
        return 0;
    }
    std::fputs("<Catch2TestRun><TestCase name='case'>", report);
    catch2("other", [](int) { turn(40000); });
    catch2("changed", [](int) { changed(); });
    std::fputs("</TestCase></Catch2TestRun>", report);
    return std::fclose(report);
}
"""


def sample_sides(
    tmp_path: Path, trees: dict[Side, Path], name: str, library: Format = Format.GOOGLE
) -> tuple[Launcher, list[list[Sampled]]]:
    (tmp_path / "scratch").mkdir()
    host = memory_host(MemorySource(), MemorySandbox(), tmp_path / "scratch")
    launcher = Launcher(session_of(replace(host, sandbox=BubblewrapSandbox()), JOB), trees)
    suite, sides = replace(launcher.suites["knob"], format=library), []
    for side in Side:
        profiles = [launcher.sample(suite, side, name, k, 60.0) for k in range(LAUNCHES)]
        sides.append(list(launcher.name(suite, side, profiles, 60.0)))
    return launcher, sides


def compiled(tmp_path: Path, code: str, *libraries: str) -> dict[Side, Path]:
    trees = {side: tmp_path / side.value for side in Side}
    for side, tree in trees.items():
        (tree / "build").mkdir(parents=True)
        (tree / "code.cpp").write_text(code)
        flags = ["-O2", "-std=c++20", f"-DPATCH={side is Side.PATCH:d}", "-o", "build/knob"]
        subprocess.run(["g++", *flags, "code.cpp", *libraries], check=True, cwd=tree)
    return trees


@pytest.mark.parametrize(
    ("library", "name"), [(Format.NANOBENCH, "changed"), (Format.CATCH2, "case/changed")], ids=str
)
def test_the_slower_function_of_another_library_is_named(tmp_path: Path, library: Format, name: str) -> None:
    _, (base, patch) = sample_sides(tmp_path, compiled(tmp_path, LIBRARIES), name, library)
    part, *others = attribute(base, patch, 1.5).parts
    assert (part.function, others) == ("grow", [])
    assert part.low > 0.5


def test_the_function_that_waits_longer_for_a_lock_is_named(tmp_path: Path) -> None:
    trees = compiled(tmp_path, WAITS, "-lbenchmark_main", "-lbenchmark", "-lpthread")
    _, (base, patch) = sample_sides(tmp_path, trees, "BM_Queue/real_time/threads:4")
    found = waiting(base, patch)
    assert found
    assert found.function == "push"


def test_the_function_with_more_work_holds_the_slow_down(tmp_path: Path) -> None:
    trees = {Side.BASE: built(tmp_path / "base", 0), Side.PATCH: built(tmp_path / "patch", 50)}
    launcher, sides = sample_sides(tmp_path, trees, "BM_Large")
    suite = launcher.suites["knob"]
    base, patch = sides
    part, *others = attribute(base, patch, 0.5).parts
    assert not others
    assert part.function.startswith("(anonymous namespace)::")
    assert part.growth == pytest.approx(0.5, abs=0.15)
    allocating = launcher.sample(suite, Side.BASE, "BM_Allocating", 0, 60.0)
    (found,) = launcher.name(suite, Side.BASE, [allocating], 60.0)
    assert {stack[0].name for stack in found.stacks} == {"(anonymous namespace)::BM_Allocating"}
    assert any(stack[1:2] == (Function("malloc", is_library=True),) for stack in found.stacks)
