"""Run measured programs before others, in the sandbox and without one."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.adapters.system import priority
from service.adapters.system.priority import NICE, can_raise_priority, raise_session
from tests.integration.adapters.building.sandbox.sandboxed import PYTHON, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.ports.building import Sandbox

pytestmark = pytest.mark.integration
OWN = os.nice(0)
PRIORITY = """
import os, resource, sys, time
group, deadline = "/proc/self/autogroup", time.monotonic() + float(sys.argv[1])
while os.path.exists(group) and open(group).read().split()[-1] == "0" and time.monotonic() < deadline:
    time.sleep(0.005)
print(os.nice(0), open(group).read().split()[-1] if os.path.exists(group) else os.nice(0))
print(*resource.getrlimit(13))  # RLIMIT_NICE
"""
SHARE_OF_CPU = """
import time
begun = time.monotonic()
while time.process_time() < 0.4: pass
print(0.4 / (time.monotonic() - begun))
"""


@pytest.fixture(params=[BubblewrapSandbox, DirectRunner])
def runner(request: pytest.FixtureRequest) -> Sandbox:
    make: Callable[[], Sandbox] = request.param
    return make()


def test_a_program_gets_priority_only_on_request_and_cannot_raise_it(runner: Sandbox) -> None:
    usual = run(runner, PYTHON, "-c", PRIORITY, "0")[1]
    raised = run(runner, PYTHON, "-c", PRIORITY, "10", has_priority=True)[1]

    assert usual == f"{OWN} 0\n0 0\n"
    assert raised == (f"{NICE} {NICE}\n0 0\n" if can_raise_priority() else usual)


def test_the_conditions_say_so(runner: Sandbox) -> None:
    assert runner.in_force().get("priority") == (f"nice {NICE}" if can_raise_priority() else None)


def test_without_the_right_a_program_runs_as_all_others(
    runner: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(which: int, who: int, nice: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)

    assert run(runner, PYTHON, "-c", PRIORITY, "0", has_priority=True)[1] == f"{OWN} 0\n0 0\n"
    assert "priority" not in runner.in_force()


def test_this_process_keeps_its_own_priority(runner: Sandbox) -> None:
    can_raise_priority()
    run(runner, "true", has_priority=True)

    assert os.getpriority(os.PRIO_PROCESS, 0) == OWN


@pytest.mark.skipif(not can_raise_priority(), reason="this user may not raise a priority")
def test_a_measured_program_gets_most_of_a_busy_cpu() -> None:
    """Four others have sessions of their own; without priority, each gets as much as the program's."""
    cpu = max(os.sched_getaffinity(0))
    with ExitStack() as others:
        for _ in range(4):
            endless = ["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]
            process = others.enter_context(subprocess.Popen(endless, start_new_session=True))
            others.callback(process.kill)
        _, share = run(BubblewrapSandbox(), PYTHON, "-c", SHARE_OF_CPU, cpus=(cpu,), has_priority=True)

    assert float(share) > 0.5


def test_a_process_that_has_ended_or_leads_no_session_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "_SESSION_WITHIN", 0.05)
    child = subprocess.Popen(["sleep", "10"])
    try:
        raise_session(child.pid)
    finally:
        child.kill()
        child.wait()
    raise_session(child.pid)
