"""Run the user's own programs without a sandbox."""

from __future__ import annotations

import io
import os
import signal
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.domain.building.sandbox_command import Command, Limits, Mount, StoppedBy
from service.domain.values.errors import Cancelled, Permanent, Unfit
from tests.integration.adapters.building.sandbox.sandboxed import (
    COMPUTING,
    MOST_AT_START,
    PYTHON,
    QUICK,
    a_busy_neighbour,
    processes_named,
    run,
    writable,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

RUNNER = DirectRunner()


def test_in_force_says_that_there_is_no_sandbox() -> None:
    assert (RUNNER.in_force()["sandbox"], RUNNER.in_force()["network"]) == ("none", "host")


def test_the_working_directory_is_the_mounts_source(tmp_path: Path) -> None:
    (tmp_path / "build/deep").mkdir(parents=True)
    mounts = (Mount(tmp_path, "/src"), writable(tmp_path / "build"))
    program = 'pwd; echo "$BENCHGATE_SRC $BENCHGATE_BUILD"'
    _, output = run(RUNNER, "sh", "-c", program, mounts=mounts, cwd="/build/deep")

    assert output == f"{tmp_path}/build/deep\n{tmp_path} {tmp_path}/build\n"


def test_a_relative_program_is_found_from_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "tool").chmod(0o755)

    assert (
        run(RUNNER, "./tool", mounts=(Mount(tmp_path, "/build"),), cwd="/build", cpus=(0,), aslr=False)[1]
        == "ran\n"
    )


def test_the_program_gets_the_users_and_the_commands_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN", "kept")

    assert run(RUNNER, "sh", "-c", "echo $OWN $N", env={"N": "1"})[1] == "kept 1\n"


def test_the_program_does_not_get_hidden_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable is another thing: CMake can tell it from one that is not set."""
    monkeypatch.setenv("OWN", "kept")
    monkeypatch.setenv("CACHE", "hidden")

    assert run(DirectRunner(without=("CACHE",)), "sh", "-c", "echo $OWN ${CACHE-unset}")[1] == "kept unset\n"


@pytest.mark.parametrize(
    ("program", "code"), [("exit 3", 3), ("kill -SEGV $$", 139), ("no-such-program", 127)]
)
def test_exit_codes_and_signals_are_reported(program: str, code: int) -> None:
    assert run(RUNNER, "sh", "-c", program)[0].exit_code == code


def test_both_outputs_are_kept_in_the_order_they_were_written() -> None:
    assert run(RUNNER, "sh", "-c", "echo 1; echo 2 >&2; echo 3")[1] == "1\n2\n3\n"


def test_a_log_is_not_required() -> None:
    command = Command(("sh", "-c", "echo out; echo wrong >&2"), limits=QUICK)

    assert RUNNER.run(command, log=None, watch=lambda: None).is_success


def test_a_cancellation_ends_the_group_first(tmp_path: Path) -> None:
    token = f"token-{os.getpid()}-{tmp_path.name}"

    def watch() -> None:
        if len(processes_named(token)) >= 2:
            raise Cancelled

    program = f"sh -c 'sleep 600; true' {token} & sleep 600; true"
    with pytest.raises(Cancelled):
        RUNNER.run(Command(("sh", "-c", program, token), limits=QUICK), log=io.BytesIO(), watch=watch)

    assert processes_named(token) == []


def test_limits_end_a_program() -> None:
    wall, _ = run(RUNNER, "sleep", "600", limits=Limits(wall_seconds=0.3))
    log, kept = run(RUNNER, "yes", limits=Limits(wall_seconds=60, log_bytes=1000))
    hog = "import time; x = bytearray(b'x') * (150 << 20); time.sleep(60)"
    memory, _ = run(RUNNER, PYTHON, "-c", hog, limits=Limits(wall_seconds=60, memory_bytes=100 << 20))

    assert (wall.stopped_by, wall.exit_code) == (StoppedBy.WALL, 128 + signal.SIGKILL)
    assert (log.stopped_by, len(kept)) == (StoppedBy.LOG, 1000)
    assert memory.stopped_by is StoppedBy.MEMORY


def test_addresses_are_fixed_on_request_and_cpus_confine() -> None:
    cpu = max(os.sched_getaffinity(0))
    program = (
        "import os; print(os.sched_getaffinity(0), [l for l in open('/proc/self/maps') if '[stack]' in l])"
    )
    seen = {run(RUNNER, PYTHON, "-c", program, aslr=False, cpus=(cpu,))[1] for _ in range(3)}

    assert len(seen) == 1
    assert seen.pop().startswith(f"{{{cpu}}}")
    with pytest.raises(Unfit):
        run(RUNNER, "true", cpus=(4000,))


def test_cpu_time_of_reaped_children_is_counted() -> None:
    program = (
        "end = __import__('time').process_time() + 0.2\nwhile __import__('time').process_time() < end: pass"
    )
    ended, _ = run(RUNNER, PYTHON, "-c", program)

    assert ended.cpu_seconds is not None
    assert 0.2 <= ended.cpu_seconds < 2.0


def test_waits_are_counted_apart_from_preemptions() -> None:
    waiting, _ = run(RUNNER, PYTHON, "-c", "import time\nfor _ in range(100): time.sleep(0.001)")
    with a_busy_neighbour() as cpu:
        computing, _ = run(RUNNER, "sh", "-c", COMPUTING, cpus=(cpu,))

    assert waiting.voluntary_switches is not None
    assert computing.voluntary_switches is not None
    assert waiting.voluntary_switches >= 100
    assert computing.voluntary_switches < MOST_AT_START


def test_a_missing_working_directory_is_not_the_programs_failure(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="cannot be started"):
        run(RUNNER, "true", mounts=(Mount(tmp_path / "absent", "/src"),), cwd="/src")
