"""A failure is the program's own unless the host caused it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox import disk_watch
from service.adapters.building.sandbox.host_faults import HostFaults
from service.domain.building.sandbox_command import Command, Completed, Mount, StoppedBy
from service.domain.machines.disk import Disk
from service.domain.values.errors import Transient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Ending:
    """A sandbox in which every program ends in the same way, after an event and some looks at the host."""

    def __init__(self, done: Completed, happens: Callable[[], None] = lambda: None, looks: int = 0) -> None:
        self.done = done
        self.happens = happens
        self.looks = looks

    def in_force(self) -> dict[str, str]:
        return {}

    def run(self, command: Command, watch: Callable[[], None], **_: object) -> Completed:
        self.happens()
        for _look in range(self.looks):
            watch()
        return self.done


FAILED = Completed(1, 0.1)


def run(sandbox: Ending, tmp_path: Path) -> Completed:
    vmstat = tmp_path / "vmstat"
    if not vmstat.exists():
        vmstat.write_text("nr_free_pages 7\noom_kill 3\n")
    return HostFaults(sandbox, tmp_path, vmstat).run(Command(("x",)), log=None, watch=lambda: None)


@pytest.mark.parametrize("done", [Completed(0, 0.1), FAILED, Completed(139, 0.1)])
def test_a_failure_of_the_program_is_its_own(tmp_path: Path, done: Completed) -> None:
    assert run(Ending(done), tmp_path) == done


def test_a_limit_is_the_programs_own_failure(tmp_path: Path) -> None:
    done = Completed(137, 0.1, StoppedBy.MEMORY)
    assert run(Ending(done), tmp_path) == done


def on_disk_with(monkeypatch: pytest.MonkeyPatch, *free: int) -> None:
    """Let the disk of 100 GiB have so much free at each look, at last as much as at the one before."""
    left = [*free]
    monkeypatch.setattr(
        disk_watch, "disk_of", lambda _: Disk(100 << 30, left.pop(0) if len(left) > 1 else left[0])
    )


def test_no_program_begins_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk_with(monkeypatch, 5 << 20)
    with pytest.raises(Transient, match="5 MiB left"):
        run(Ending(Completed(0, 0.1)), tmp_path)


def test_a_disk_that_gets_full_ends_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk_with(monkeypatch, 9 << 30, 3 << 20)
    with pytest.raises(Transient, match="3 MiB left"):
        run(Ending(Completed(0, 0.1), looks=1), tmp_path)


@pytest.mark.parametrize(
    "done", [FAILED, Completed(137, 0.1, StoppedBy.WALL), Completed(137, 0.1, StoppedBy.LOG)]
)
def test_a_disk_that_was_full_at_the_end_is_the_hosts_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: Completed
) -> None:
    on_disk_with(monkeypatch, 9 << 30, 9 << 30, 3 << 20)
    with pytest.raises(Transient, match="3 MiB left"):
        run(Ending(done, looks=1), tmp_path)


def test_room_that_is_free_again_at_the_end_blames_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk_with(monkeypatch, 50 << 30, 3 << 20, 50 << 30)
    command = Command(("x",), (Mount(tmp_path, "/build", writable=True),))
    sandbox = HostFaults(Ending(Completed(0, 0.1), looks=1), tmp_path, tmp_path / "vmstat")
    with pytest.raises(Transient, match="3 MiB left"):
        sandbox.run(command, log=None, watch=lambda: None)


def test_a_kill_for_lack_of_memory_is_the_hosts_failure(tmp_path: Path) -> None:
    def kill() -> None:
        (tmp_path / "vmstat").write_text("oom_kill 4\n")

    with pytest.raises(Transient, match="out of memory"):
        run(Ending(FAILED, kill), tmp_path)


def test_a_kill_outside_the_program_is_no_fault_if_the_sandbox_counts_its_own(tmp_path: Path) -> None:
    def kill() -> None:
        (tmp_path / "vmstat").write_text("oom_kill 4\n")

    done = Completed(1, 0.1, is_host_out_of_memory=False)
    assert run(Ending(done, kill), tmp_path) == done


def test_a_kill_within_the_programs_limit_is_the_hosts_failure(tmp_path: Path) -> None:
    with pytest.raises(Transient, match="out of memory"):
        run(Ending(Completed(137, 0.1, is_host_out_of_memory=True)), tmp_path)


def test_a_kill_without_a_limit_or_a_lack_of_memory_is_the_programs_own(tmp_path: Path) -> None:
    done = run(Ending(Completed(137, 0.1)), tmp_path)

    assert done.is_killed
    assert done.end == "exit code 137: a SIGKILL that neither a limit nor a lack of memory caused"
    assert not Completed(137, 0.1, StoppedBy.MEMORY).is_killed
