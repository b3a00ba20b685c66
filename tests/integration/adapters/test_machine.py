"""Reading the machine that the tests run on."""

from __future__ import annotations

import json
import os
import platform

import pytest

from service.adapters.machine import read_environment, read_load
from service.domain.fitness import findings
from service.domain.machine import load_between

pytestmark = pytest.mark.integration


def test_the_environment_agrees_with_what_the_system_says() -> None:
    environment = read_environment()

    assert environment.kernel == platform.release()
    assert set(os.sched_getaffinity(0)) <= set(environment.online_cpus)
    assert environment.memory_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert json.loads(json.dumps(environment.to_mapping()))["kernel"] == platform.release()
    assert environment.fingerprint({}) == read_environment().fingerprint({})


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


def test_every_finding_is_a_state_and_a_value() -> None:
    found = findings(read_environment(), read_load())

    assert len({finding.name for finding in found}) == len(found)
    assert all(finding.value for finding in found)
