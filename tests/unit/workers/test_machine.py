from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

from workers import machine as tasks

STOLEN = "30% of its CPU time is stolen by its host"


@dataclass
class HinderedMachine:
    """A machine, and its worklist, that other work hinders now and then."""

    hindered_by: str = ""
    seen: list[str | None] = field(default_factory=list)
    claims: int = 0
    looks: int = 0

    @property
    def worklist(self) -> HinderedMachine:
        return self

    def obstacle(self) -> str:
        self.looks += 1
        return self.hindered_by

    def heartbeat(self, obstacle: str | None = None) -> None:
        self.seen.append(obstacle)

    def claim(self) -> None:
        self.claims += 1


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> HinderedMachine:
    """The machine of a worker that has just started."""
    machine = HinderedMachine()
    monkeypatch.setattr(tasks, "machine", lambda: machine)
    monkeypatch.setattr(tasks, "_is_free", threading.Event())
    return machine


def test_a_machine_that_shows_itself_says_whether_it_is_hindered_still(machine: HinderedMachine) -> None:
    machine.hindered_by = STOLEN
    tasks.execute_task(1)
    tasks.heartbeat_task(0)
    machine.hindered_by = ""
    tasks.heartbeat_task(0)

    assert machine.seen == [STOLEN, STOLEN, ""]
    assert machine.claims == 0


def test_one_that_is_free_does_not_look_again_for_each_hint(machine: HinderedMachine) -> None:
    """Those that came during a long build are all read at its end, before the next one."""
    for _ in range(3):
        tasks.heartbeat_task(0)

    assert machine.seen == ["", None, None]
    assert machine.looks == 1


def test_one_that_was_free_is_asked_again_before_it_takes_a_build(machine: HinderedMachine) -> None:
    tasks.execute_task(1)
    machine.hindered_by = STOLEN
    tasks.execute_task(2)
    machine.hindered_by = ""
    tasks.heartbeat_task(0)

    assert machine.seen == ["", STOLEN, ""]
    assert machine.claims == 1
