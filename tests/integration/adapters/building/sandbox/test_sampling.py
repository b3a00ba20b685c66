"""Samples of the real profiler in the real sandbox, of programs with a known amount of work."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.domain.measuring.sampled_stacks import Function
from service.domain.values.identity import Side
from service.domain.verdict.comparison.attribution import LAUNCHES, attribute
from service.steps.measuring.launching import Launcher
from tests.integration.adapters.building.sandbox.test_callgrind import JOB, built
from tests.support.building.build_host import MemorySandbox, memory_host, session_of
from tests.support.building.memory_source import MemorySource

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration


def test_the_function_with_more_work_holds_the_slow_down(tmp_path: Path) -> None:
    trees = {Side.BASE: built(tmp_path / "base", 0), Side.PATCH: built(tmp_path / "patch", 50)}
    (tmp_path / "scratch").mkdir()
    host = memory_host(MemorySource(), MemorySandbox(), tmp_path / "scratch")
    launcher = Launcher(session_of(replace(host, sandbox=BubblewrapSandbox()), JOB), trees)
    suite = launcher.suites["knob"]
    sides = []
    for side in Side:
        profiles = [launcher.sample(suite, side, "BM_Large", k, 60.0) for k in range(LAUNCHES)]
        sides.append(launcher.name(suite, side, profiles, 60.0))
    base, patch = sides
    part, *others = attribute(base, patch, 0.5).parts
    assert not others
    assert part.function.startswith("(anonymous namespace)::")
    assert part.growth == pytest.approx(0.5, abs=0.15)
    allocating = launcher.sample(suite, Side.BASE, "BM_Allocating", 0, 60.0)
    (found,) = launcher.name(suite, Side.BASE, [allocating], 60.0)
    assert {stack[0].name for stack in found.stacks} == {"(anonymous namespace)::BM_Allocating"}
    assert any(stack[1:2] == (Function("malloc", is_library=True),) for stack in found.stacks)
