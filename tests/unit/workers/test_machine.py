from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.machines.disk import Disk
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Transient
from service.ports.machines import Upcoming
from tests.support.building.build_host import MemoryClaimed
from tests.support.log_lines import line_of
from workers import machine as tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

FULL = Disk(100 << 30, 1 << 30).obstacle
STOLEN = "30% of its CPU time is stolen by its host"


@dataclass
class HinderedMachine:
    """A machine and its worklist, with an obstacle now and then."""

    upcoming: Upcoming = Upcoming.EXCLUSIVE
    hindered_by: str = ""
    is_full: str = ""
    fault: OSError | None = None
    seen: list[str | None] = field(default_factory=list)
    claims: list[bool] = field(default_factory=list)
    progress: None = None
    build: MemoryClaimed | None = None
    looks: int = 0

    @property
    def worklist(self) -> HinderedMachine:
        return self

    def room(self) -> str:
        if self.fault:
            raise self.fault
        return self.is_full

    def obstacle(self) -> str:
        self.looks += 1
        return self.hindered_by

    def heartbeat(self, obstacle: str | None = None) -> None:
        self.seen.append(obstacle)

    def peek(self) -> Upcoming:
        return self.upcoming

    def claim(self, *, may_measure: bool) -> MemoryClaimed | None:
        self.claims.append(may_measure)
        return self.build

    def host_for(self, instance: str) -> None:
        pass

    def in_use(self) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> HinderedMachine:
    """The machine of a worker that has just started, while a build waits that needs the host to itself."""
    machine = HinderedMachine()
    monkeypatch.setattr(tasks, "machine", lambda: machine)
    monkeypatch.setattr(tasks, "_is_free", threading.Event())
    return machine


def test_a_heartbeat_reports_whether_an_obstacle_is_still_there(machine: HinderedMachine) -> None:
    machine.hindered_by = STOLEN
    tasks.execute_task(1)
    tasks.heartbeat_task(0)
    machine.hindered_by = ""
    tasks.heartbeat_task(0)

    assert machine.seen == [STOLEN, STOLEN, ""]


def test_an_obstacle_keeps_a_machine_from_measuring_but_not_from_other_builds(
    machine: HinderedMachine,
) -> None:
    machine.hindered_by = STOLEN
    tasks.execute_task(1)

    assert machine.claims == [False]


def test_a_full_disk_keeps_a_machine_from_every_build_until_there_is_room(machine: HinderedMachine) -> None:
    machine.is_full, machine.upcoming = FULL, Upcoming.ORDINARY
    tasks.execute_task(1)
    tasks.heartbeat_task(0)
    machine.is_full = ""
    tasks.heartbeat_task(0)
    tasks.execute_task(2)

    assert machine.seen == [FULL, FULL, "", ""]
    assert machine.claims == [False]


@pytest.mark.parametrize("upcoming", [Upcoming.NOTHING, Upcoming.WAIT])
def test_nothing_is_evicted_unless_the_machine_may_take_a_build(
    machine: HinderedMachine, upcoming: Upcoming
) -> None:
    machine.is_full, machine.upcoming = FULL, upcoming
    tasks.execute_task(1)

    assert machine.seen == [""]


def test_a_disk_that_does_not_answer_is_an_obstacle(machine: HinderedMachine) -> None:
    machine.fault = OSError(5, "Input/output error")
    tasks.execute_task(1)

    assert machine.seen == ["its disk has an error: Input/output error"]
    assert not machine.claims


def test_a_machine_without_an_obstacle_does_not_check_again_for_each_task(machine: HinderedMachine) -> None:
    """Tasks that arrive during a long build are all read at its end, before the next build."""
    for _ in range(3):
        tasks.heartbeat_task(0)

    assert machine.seen == ["", None, None]
    assert machine.looks == 1


def test_a_machine_checks_for_obstacles_before_it_measures(machine: HinderedMachine) -> None:
    tasks.execute_task(1)
    machine.hindered_by = STOLEN
    tasks.execute_task(2)
    machine.hindered_by = ""
    tasks.heartbeat_task(0)

    assert machine.seen == ["", STOLEN, ""]
    assert machine.claims == [True, False]


@pytest.mark.parametrize("upcoming", [Upcoming.NOTHING, Upcoming.WAIT, Upcoming.ORDINARY])
def test_builds_that_run_on_the_host_already_are_no_obstacle(
    machine: HinderedMachine, upcoming: Upcoming
) -> None:
    """The check cannot tell the compilers of another build from the work of strangers."""
    machine.hindered_by = STOLEN
    tasks.execute_task(1)
    machine.upcoming = upcoming
    tasks.heartbeat_task(0)
    tasks.execute_task(2)

    assert machine.seen == [STOLEN, "", ""]
    assert machine.looks == 1
    assert machine.claims == [False, False]


class Asked(MemoryClaimed):
    def asked_by(self) -> Mapping[str, Any]:
        if self.fault:
            raise self.fault
        return {"run": 12, "change": "gerrit~7", "patch_set": 1}


@pytest.mark.parametrize(
    ("fault", "run"),
    [(None, 12), (Transient("the database restarts"), None), (LookupError("an older database"), None)],
)
def test_the_lines_of_a_build_name_the_run_that_waits_for_it_if_the_database_tells(
    machine: HinderedMachine, monkeypatch: pytest.MonkeyPatch, fault: Exception | None, run: int | None
) -> None:
    monkeypatch.setattr(tasks, "execute_build", lambda *_: MachineReport(Outcome.PASSED))
    machine.build = Asked(fault=fault)
    line = line_of("build.executed", lambda: tasks.execute_task(1))
    assert (line["build"], line.get("run")) == ("perf/1", run)
