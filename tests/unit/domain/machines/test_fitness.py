"""Findings about a machine, and disturbances between two readings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.machines.environment import Disturbance, Load, MachineEnvironment, State, load_between
from service.domain.machines.fitness import findings, obstacles

QUIET = MachineEnvironment(
    cpu_model="Xeon",
    microcode="0x2006e05",
    cores=2,
    threads_per_core=1,
    online_cpus=(0, 1),
    caches=("L1d 32K",),
    numa_nodes=1,
    governor="performance",
    turbo=False,
    turbo_switch="/sys/devices/system/cpu/cpufreq/boost",
    smt=False,
    aslr=2,
    thp="madvise",
    kernel="6.1.0",
    clocksource="tsc",
    is_virtualised=False,
    memory_bytes=16 << 30,
)
IDLE = Load(
    at=100.0,
    load1=0.02,
    running=1,
    busy_ticks={0: 1000, 1: 1000},
    idle_ticks={0: 9000, 1: 9000},
    steal_ticks={0: 0, 1: 0},
    ticks_per_second=100,
    available_bytes=12 << 30,
    swapped_bytes=0,
    throttles=0,
)


def test_a_quiet_machine_needs_no_fix() -> None:
    results = findings(QUIET, IDLE)

    assert {finding.state for finding in results} == {State.OK}
    assert {finding.remedy for finding in results} == {""}


@pytest.mark.parametrize(
    ("environment", "name", "state", "remedy"),
    [
        (
            replace(QUIET, governor="powersave"),
            "governor",
            State.BAD,
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        ),
        (
            replace(QUIET, turbo=True),
            "turbo",
            State.WARN,
            "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        ),
        (
            replace(QUIET, turbo=True, turbo_switch="/sys/devices/system/cpu/intel_pstate/no_turbo"),
            "turbo",
            State.WARN,
            "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
        ),
        (
            replace(QUIET, smt=True),
            "smt",
            State.WARN,
            "echo off | sudo tee /sys/devices/system/cpu/smt/control",
        ),
        (
            replace(QUIET, thp="always"),
            "huge pages",
            State.WARN,
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        (
            replace(QUIET, numa_nodes=2),
            "memory nodes",
            State.WARN,
            "measure on the CPUs of one node: set BENCHGATE_CPUS; lscpu lists the CPUs of each node",
        ),
        (
            replace(QUIET, clocksource="hpet"),
            "clock",
            State.BAD,
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
    ],
)
def test_a_source_of_noise_is_named_with_the_command_that_fixes_it(
    environment: MachineEnvironment, name: str, state: State, remedy: str
) -> None:
    disturbing = [finding for finding in findings(environment, IDLE) if finding.state is not State.OK]

    assert [(finding.name, finding.state, finding.remedy) for finding in disturbing] == [
        (name, state, remedy)
    ]


@pytest.mark.parametrize(
    ("load", "name", "state"),
    [
        (replace(IDLE, load1=0.6), "load", State.WARN),
        (replace(IDLE, load1=2.5), "load", State.BAD),
        (replace(IDLE, steal_ticks={0: 300, 1: 0}), "steal", State.WARN),
        (replace(IDLE, steal_ticks={0: 3000, 1: 0}), "steal", State.BAD),
        (replace(IDLE, throttles=3), "throttling", State.WARN),
        (replace(IDLE, available_bytes=1 << 30), "free memory", State.WARN),
        (replace(IDLE, available_bytes=1 << 20), "free memory", State.BAD),
        (replace(IDLE, swapped_bytes=1 << 30), "swap", State.WARN),
    ],
)
def test_a_busy_machine_is_distinguished_from_a_quiet_one(load: Load, name: str, state: State) -> None:
    disturbing = [finding for finding in findings(QUIET, load) if finding.state is not State.OK]

    assert [(finding.name, finding.state) for finding in disturbing] == [(name, state)]
    assert disturbing[0].remedy


def test_a_property_that_a_guest_cannot_see_is_unknown_and_not_ok() -> None:
    guest = replace(QUIET, governor=None, turbo=None, smt=None, is_virtualised=True)
    states = {finding.name: finding.state for finding in findings(guest, IDLE)}

    assert (states["governor"], states["turbo"], states["smt"]) == (State.UNKNOWN,) * 3
    assert (states["memory nodes"], states["throttling"]) == (State.UNKNOWN,) * 2
    assert states["virtual machine"] is State.WARN


def test_steal_of_the_last_seconds_counts_more_than_steal_since_boot() -> None:
    results = {finding.name: finding for finding in findings(QUIET, IDLE, Disturbance(0.06, 0.0))}

    assert (results["steal"].state, results["steal"].value) == (State.BAD, "6.0% just now")


def test_throttling_now_is_worse_than_throttling_since_boot() -> None:
    before, after = replace(IDLE, throttles=3), replace(IDLE, at=102.0, throttles=5)
    results = findings(QUIET, after, load_between(before, after, [0, 1], None))
    throttling = next(finding for finding in results if finding.name == "throttling")

    assert (throttling.state, throttling.value) == (State.BAD, "2 times just now")


@pytest.mark.parametrize(
    ("recent", "values"),
    [
        (Disturbance(0.0, None), []),
        (Disturbance(0.049, 0.94), []),
        (Disturbance(0.05, 0.0), ["5% of its CPU time is stolen by its host"]),
        (Disturbance(0.0, 1.0), ["other work takes 100% of its CPUs"]),
        (
            Disturbance(0.2, 0.95),
            ["20% of its CPU time is stolen by its host", "other work takes 95% of its CPUs"],
        ),
    ],
)
def test_only_a_disturbance_of_every_launch_keeps_a_machine_from_measuring(
    recent: Disturbance, values: list[str]
) -> None:
    assert [finding.value for finding in obstacles(recent)] == values


def _later(seconds: float, busy: int, steal: int = 0) -> Load:
    return replace(
        IDLE,
        at=IDLE.at + seconds,
        busy_ticks={0: IDLE.busy_ticks[0] + busy, 1: IDLE.busy_ticks[1] + 500},
        steal_ticks={0: steal, 1: 0},
    )


def test_the_programs_own_time_is_not_foreign() -> None:
    assert load_between(IDLE, _later(10, busy=900), [0], 9.0) == Disturbance(0.0, 0.0, 0, 0.5)


def test_foreign_time_and_steal_are_shares_of_the_chosen_cpus() -> None:
    assert load_between(IDLE, _later(10, busy=900, steal=50), [0], 4.0) == Disturbance(0.05, 0.5, 0, 0.5)


def test_one_tick_of_other_work_counts_as_none() -> None:
    assert load_between(IDLE, _later(0.1, busy=10), [0], 0.091).foreign_share == 0.0


@pytest.mark.parametrize(("busy", "foreign"), [(50, 0.0), (52, 0.0), (53, 0.029)])
def test_two_ticks_of_other_work_are_within_the_counting_error(busy: int, foreign: float) -> None:
    disturbance = load_between(IDLE, _later(1.0, busy=busy), [0], 0.501)

    assert disturbance.foreign_share == pytest.approx(foreign)


def test_one_stolen_tick_counts_as_none() -> None:
    assert load_between(IDLE, _later(0.1, busy=9, steal=1), [0], 0.09).steal_share == 0.0
    assert load_between(IDLE, _later(0.1, busy=8, steal=2), [0], 0.09).steal_share == pytest.approx(0.2)


def test_foreign_time_is_unknown_if_the_programs_own_time_is_unknown() -> None:
    assert load_between(IDLE, _later(10, busy=900), [0], None).foreign_share is None


def test_work_on_the_other_cpus_is_a_share_of_its_own() -> None:
    assert load_between(IDLE, _later(10, busy=900), [0], 9.0).elsewhere_share == 0.5
    assert load_between(IDLE, _later(10, busy=900), [0, 1], 9.0).elsewhere_share == 0.0


def test_a_reading_over_no_time_shows_no_disturbance() -> None:
    assert load_between(IDLE, IDLE, [0], 0.0) == Disturbance(0.0, None)
