"""Fetch a job's dependencies before its build begins, and mount them wherever its code runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from service.domain.building.sandbox_command import Mount
from service.domain.project.project_file import parse_job
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput, Transient
from tests.support.building.build_host import MemoryClaimed, MemorySandbox, memory_host
from tests.support.memory.dependencies import MemoryDependencies
from tests.unit.steps.machines.test_execute import JOB, Machine, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from service.domain.building.sandbox_command import Command, Completed
    from service.ports.building import ByteSink

URL = "https://example.org/fmt.h"
WANTED = {"fmt": {"url": URL, "sha256": "a" * 64}}


@dataclass
class Watched(MemorySandbox):
    """A sandbox that remembers all mounts but those of a command's own."""

    mounts: list[tuple[Mount, ...]] = field(default_factory=list)

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        self.mounts.append(tuple(mount for mount in command.mounts if mount.target.startswith("/deps")))
        return super().run(command, log=log, watch=watch)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.sandbox = Watched()
    given = MemoryDependencies(tmp_path / "deps", {URL: {"fmt.h": "int f;"}})
    made.host = memory_host(made.source, made.sandbox, tmp_path, dependencies=given)
    build = {"compile": "make", "dependencies": WANTED}
    job = parse_job("perf", {**JOB.source, "build": build})
    made.claimed = MemoryClaimed(spec=replace(spec_of(made.source), job=job).to_mapping())
    return made


def mounts_of(machine: Machine) -> list[tuple[Mount, ...]]:
    assert isinstance(machine.sandbox, Watched)
    return machine.sandbox.mounts


def test_every_build_and_launch_sees_them_read_only(machine: Machine, tmp_path: Path) -> None:
    report = machine.work()

    assert report is not None
    assert report.outcome is None
    (place,) = (tmp_path / "deps").iterdir()
    assert set(mounts_of(machine)) == {(Mount(place, "/deps"),)}
    assert len(mounts_of(machine)) > len(machine.sandbox.launches) > 0


def test_build_commands_get_their_variables(machine: Machine) -> None:
    machine.work()

    first, *_, last = machine.sandbox.commands[0].splitlines()
    assert first == 'export BENCHGATE_DEPS="${BENCHGATE_DEPS:-/deps}"'
    assert last == "make"
    assert machine.claimed.log == b"== compile: make\n" * 2


def test_a_job_without_dependencies_has_no_mount(machine: Machine) -> None:
    machine.claimed.spec = spec_of(machine.source).to_mapping()
    machine.work()

    assert set(mounts_of(machine)) == {()}
    assert machine.sandbox.commands == ["make", "make"]


def test_one_that_cannot_be_used_is_no_fault_of_the_patch(machine: Machine) -> None:
    refused = BadInput("this machine does not fetch from there", URL)
    machine.host = replace(
        machine.host, dependencies=MemoryDependencies(machine_path(machine), fault=refused)
    )
    report = machine.work()

    assert report is not None
    assert (report.outcome, report.causes) == (Outcome.MISCONFIGURED, (str(refused),))
    assert machine.sandbox.commands == []


def test_a_source_that_does_not_answer_is_asked_again(machine: Machine) -> None:
    down = Transient("the server answers 503")
    machine.host = replace(machine.host, dependencies=MemoryDependencies(machine_path(machine), fault=down))

    assert machine.work() is None
    assert machine.claimed.releases


def machine_path(machine: Machine) -> Path:
    assert isinstance(machine.host.dependencies, MemoryDependencies)
    return machine.host.dependencies.root
