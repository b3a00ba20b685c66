"""Properties and load of the machine that runs the tests."""

from __future__ import annotations

import io
import json
import os
import platform
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.adapters.machines.linux import keep_off, read_environment, read_load
from service.domain.building.sandbox_command import Command
from service.domain.machines.environment import load_between
from service.domain.machines.fitness import findings

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.integration


def test_the_environment_agrees_with_system_programs() -> None:
    environment = read_environment()

    assert environment.kernel == platform.release()
    assert set(os.sched_getaffinity(0)) <= set(environment.online_cpus)
    assert environment.memory_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert json.loads(json.dumps(environment.to_mapping()))["kernel"] == platform.release()
    assert environment.fingerprint({}) == read_environment().fingerprint({})
    assert environment.fingerprint({}, {"c++": "g++ 13"}) != environment.fingerprint({})


def test_two_readings_of_the_load_give_shares() -> None:
    before = read_load()
    own = os.times()
    while (now := os.times()).user + now.system - own.user - own.system < 0.2:
        pass
    after = read_load()

    busy = sum(after.busy_ticks.values()) - sum(before.busy_ticks.values())
    seen = load_between(before, after, before.busy_ticks, now.user + now.system - own.user - own.system)
    assert after.at > before.at
    assert busy / before.ticks_per_second > 0.1
    assert 0 <= seen.steal_share <= 1
    assert seen.foreign_share is not None
    assert 0 <= seen.foreign_share <= 1


@pytest.fixture
def cpus() -> Iterator[list[int]]:
    """The CPUs of this process, restored after the test."""
    before = os.sched_getaffinity(0)
    yield sorted(before)
    os.sched_setaffinity(0, before)


def test_a_worker_stays_off_the_measured_cpus_and_pins_programs_to_them(cpus: list[int]) -> None:
    if len(cpus) == 1:
        pytest.skip("there is nowhere else to go on one CPU")
    keep_off(cpus[-1:])
    log = io.BytesIO()
    DirectRunner().run(Command(("nproc",)), log=log, watch=lambda: None)
    DirectRunner().run(
        Command(("sh", "-c", "taskset -cp $$"), cpus=tuple(cpus[-1:])), log=log, watch=lambda: None
    )
    own, measured = log.getvalue().decode().splitlines()

    assert os.sched_getaffinity(0) == set(cpus[:-1])
    assert int(own) == len(cpus) - 1
    assert measured.endswith(f"affinity list: {cpus[-1]}")


def test_a_worker_uses_all_cpus_if_all_are_measured(cpus: list[int]) -> None:
    keep_off([*cpus, 4095])

    assert os.sched_getaffinity(0) == set(cpus)


def test_every_finding_is_a_state_and_a_value() -> None:
    found = findings(read_environment(), read_load())

    assert len({finding.name for finding in found}) == len(found)
    assert all(finding.value for finding in found)
