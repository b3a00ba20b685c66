"""Supervise real processes."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from service.adapters.embedded.children import ChildState, ChildStatus, Supervisor
from service.adapters.embedded.process import Child
from service.domain.values.errors import Permanent
from tests.support.waiting import eventually

pytestmark = pytest.mark.integration

FOREVER = (sys.executable, "-c", "import signal; signal.pause()")


def is_gone(process: int) -> bool:
    """Return whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class TestSupervisor:
    def test_a_killed_child_is_restarted_and_counted(self, tmp_path: Path) -> None:
        seen: list[ChildStatus] = []
        child = Child("part", FOREVER, tmp_path / "part.log")
        with Supervisor(seen.append, first_delay=0.01) as supervisor:
            supervisor.start(child)
            first = supervisor.statuses()[0].pid
            assert first is not None
            os.kill(first, signal.SIGKILL)
            deadline = time.monotonic() + 20
            supervisor.run(lambda: supervisor.statuses()[0].restarts == 1 or time.monotonic() > deadline)
            supervisor.run(
                lambda: supervisor.statuses()[0].state is ChildState.READY or time.monotonic() > deadline
            )
        assert [status.state for status in seen][:3] == [
            ChildState.STARTING,
            ChildState.READY,
            ChildState.RESTARTING,
        ]
        assert seen[2].note == "ended by SIGKILL"
        assert (seen[-2].state, seen[-2].restarts) == (ChildState.READY, 1)
        assert seen[-1].state is ChildState.STOPPED

    def test_parts_start_in_order_and_stop_in_reverse(self, tmp_path: Path) -> None:
        seen: list[tuple[str, ChildState]] = []
        with Supervisor(lambda status: seen.append((status.name, status.state))) as supervisor:
            supervisor.start(*(Child(name, FOREVER, tmp_path / f"{name}.log") for name in ("a", "b")))
        ready = [name for name, state in seen if state is ChildState.READY]
        stopped = [name for name, state in seen if state is ChildState.STOPPED]
        assert (ready, stopped) == (["a", "b"], ["b", "a"])

    def test_children_that_take_their_time_end_together(self, tmp_path: Path) -> None:
        """Each ends when it sees that the other was asked to end, and is killed if that takes too long."""
        wait = "while [ ! -e {other} ]; do sleep 0.02; done"
        script = f"trap 'touch {{own}}; {wait}; touch {{own}}-ended; exit' TERM; touch {{own}}-ready; "
        script += "while :; do sleep 0.02; done"
        children = [
            Child(
                own,
                ("/bin/sh", "-c", script.format(own=own, other=other)),
                tmp_path / f"{own}.log",
                ready=(tmp_path / f"{own}-ready").exists,
                cwd=tmp_path,
            )
            for own, other in (("a", "b"), ("b", "a"))
        ]
        with Supervisor() as supervisor:
            supervisor.start(*children)
        assert [(tmp_path / f"{name}-ended").exists() for name in ("a", "b")] == [True, True]

    def test_a_child_that_does_not_stop_is_killed_with_its_group(self, tmp_path: Path) -> None:
        stubborn = 'trap "" TERM; sleep 600 & echo $! > below; while :; do wait; done'
        argv, below = ("/bin/sh", "-c", stubborn), tmp_path / "below"
        child = Child("part", argv, tmp_path / "part.log", stop_seconds=0.1, cwd=tmp_path)
        with Supervisor() as supervisor:
            supervisor.start(child)
            first = supervisor.statuses()[0].pid
            assert first is not None
            assert eventually(lambda: below.exists() and below.read_text().endswith("\n"))
        assert is_gone(first)
        assert eventually(lambda: is_gone(int(below.read_text())))

    def test_a_failed_start_shows_the_end_of_the_log(self, tmp_path: Path) -> None:
        (tmp_path / "part.log").write_text("from an earlier start\n")
        child = Child(
            "part", ("/bin/sh", "-c", "echo no room; exit 3"), tmp_path / "part.log", ready=lambda: False
        )
        with Supervisor() as supervisor, pytest.raises(Permanent) as caught:
            supervisor.start(child)
        assert "part did not start: exit code 3" in str(caught.value)
        assert str(caught.value).endswith(":\nno room")
        assert "earlier" not in str(caught.value)

    def test_a_child_that_never_gets_ready_is_stopped(self, tmp_path: Path) -> None:
        child = Child("part", FOREVER, tmp_path / "part.log", ready=lambda: False, start_seconds=0.1)
        seen: list[ChildStatus] = []
        with Supervisor(seen.append) as supervisor, pytest.raises(Permanent, match="not ready within"):
            supervisor.start(child)
        assert seen[-1].state is ChildState.FAILED
        pids = [status.pid for status in seen if status.pid is not None]
        assert all(is_gone(pid) for pid in pids)

    def test_a_program_that_does_not_exist_is_named(self, tmp_path: Path) -> None:
        child = Child("part", ("/nowhere/program",), tmp_path / "part.log", ready=lambda: False)
        with Supervisor() as supervisor, pytest.raises(Permanent, match=r"/nowhere/program: No such file"):
            supervisor.start(child)
