"""Samples of the real profiler in the real sandbox, of programs with a known amount of work."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.domain.measuring.sampled_stacks import Function
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


def sample_sides(tmp_path: Path, trees: dict[Side, Path], name: str) -> tuple[Launcher, list[list[Sampled]]]:
    (tmp_path / "scratch").mkdir()
    host = memory_host(MemorySource(), MemorySandbox(), tmp_path / "scratch")
    launcher = Launcher(session_of(replace(host, sandbox=BubblewrapSandbox()), JOB), trees)
    suite, sides = launcher.suites["knob"], []
    for side in Side:
        profiles = [launcher.sample(suite, side, name, k, 60.0) for k in range(LAUNCHES)]
        sides.append(list(launcher.name(suite, side, profiles, 60.0)))
    return launcher, sides


def test_the_function_that_waits_longer_for_a_lock_is_named(tmp_path: Path) -> None:
    trees = {side: tmp_path / side.value for side in Side}
    for side, tree in trees.items():
        (tree / "build").mkdir(parents=True)
        (tree / "waits.cpp").write_text(WAITS)
        flags = ["-O2", "-std=c++20", f"-DPATCH={side is Side.PATCH:d}", "-o", "build/knob"]
        libraries = ["-lbenchmark_main", "-lbenchmark", "-lpthread"]
        subprocess.run(["g++", *flags, "waits.cpp", *libraries], check=True, cwd=tree)
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
