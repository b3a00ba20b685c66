"""The fitness of a machine for measuring: findings, each with its remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.machine.environment import (
    FAST_CLOCKS,
    FOREIGN_BAD,
    LOAD_WARN,
    MEMORY_BAD,
    MEMORY_WARN,
    STEAL_BAD,
    STEAL_WARN,
    UNKNOWN,
    Finding,
    State,
)

if TYPE_CHECKING:
    from service.domain.machine.environment import Disturbance, Load, MachineEnvironment

CPU_FILES = "/sys/devices/system/cpu"
_COOLING: Final = "the processor gets too hot; check fans and air flow, or lower its clock rate"
_ON_HOST: Final = "the host of this virtual machine decides it; ask the host's operator"


def findings(
    environment: MachineEnvironment, load: Load, recent: Disturbance | None = None
) -> tuple[Finding, ...]:
    """Judge each property that adds measurement noise, the most worthwhile to fix first.

    Args:
        environment: the machine's properties.
        load: its load now.
        recent: the disturbance of the last seconds; None: judge steal since boot.
    """
    return (
        _governor(environment),
        _turbo(environment),
        _smt(environment),
        _aslr(environment),
        _huge_pages(environment),
        _clock(environment),
        _virtualised(environment),
        _cpus(environment),
        _memory_nodes(environment),
        _load(environment, load),
        _steal(load, recent),
        _throttling(environment, load, recent),
        _memory(environment, load),
        _swap(load),
    )


def obstacles(recent: Disturbance) -> tuple[Finding, ...]:
    """List the disturbances that are too large to measure now; none on a quiet machine.

    Args:
        recent: the disturbance over some time in which this machine measured nothing.
    """
    foreign = recent.foreign_share or 0.0
    large = []
    if recent.steal_share >= STEAL_BAD:
        value = f"{recent.steal_share:.0%} of its CPU time is stolen by its host"
        large.append(Finding("steal", State.BAD, value))
    if foreign >= FOREIGN_BAD:
        large.append(Finding("load", State.BAD, f"other work takes {foreign:.0%} of its CPUs"))
    return tuple(large)


def _governor(environment: MachineEnvironment) -> Finding:
    if environment.governor is None:
        return _hidden("governor", _ON_HOST)
    if environment.governor == "performance":
        return Finding("governor", State.OK, environment.governor)
    remedy = f"echo performance | sudo tee {CPU_FILES}/cpu*/cpufreq/scaling_governor"
    return Finding("governor", State.BAD, environment.governor, remedy)


def _turbo(environment: MachineEnvironment) -> Finding:
    if environment.turbo is None:
        return _hidden("turbo", _ON_HOST)
    if not environment.turbo:
        return Finding("turbo", State.OK, "off")
    # One driver's file says that turbo is off, the other's that it is on.
    off = "1" if (environment.turbo_switch or "").endswith("no_turbo") else "0"
    remedy = f"echo {off} | sudo tee {environment.turbo_switch}"
    return Finding("turbo", State.WARN, "on", remedy)


def _smt(environment: MachineEnvironment) -> Finding:
    if environment.smt is None:
        return _hidden("smt", _ON_HOST)
    if not environment.smt:
        return Finding("smt", State.OK, "off")
    return Finding("smt", State.WARN, "on", f"echo off | sudo tee {CPU_FILES}/smt/control")


def _aslr(environment: MachineEnvironment) -> Finding:
    if environment.aslr is None:
        return _hidden("aslr", "")
    # Each launch turns it off for itself; the host need not change.
    value = "off" if environment.aslr == 0 else "on; measured programs run without it"
    return Finding("aslr", State.OK, value)


def _huge_pages(environment: MachineEnvironment) -> Finding:
    if environment.thp is None:
        return _hidden("huge pages", "")
    if environment.thp != "always":
        return Finding("huge pages", State.OK, environment.thp)
    remedy = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
    return Finding("huge pages", State.WARN, environment.thp, remedy)


def _clock(environment: MachineEnvironment) -> Finding:
    clock = environment.clocksource
    if clock is None:
        return _hidden("clock", "")
    if clock in FAST_CLOCKS:
        return Finding("clock", State.OK, clock)
    remedy = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
    return Finding("clock", State.BAD, clock, remedy)


def _virtualised(environment: MachineEnvironment) -> Finding:
    if environment.is_virtualised is None:
        return _hidden("virtual machine", "")
    if not environment.is_virtualised:
        return Finding("virtual machine", State.OK, "no")
    remedy = "other guests of its host add noise that it cannot see; use a physical machine if you can"
    return Finding("virtual machine", State.WARN, "yes", remedy)


def _cpus(environment: MachineEnvironment) -> Finding:
    count = len(environment.online_cpus)
    if count == 0:
        return _hidden("cpus", "")
    if count == 1:
        remedy = "the service and the measured program share one CPU; add a second one"
        return Finding("cpus", State.BAD, "1 online", remedy)
    return Finding("cpus", State.OK, f"{count} online")


def _memory_nodes(environment: MachineEnvironment) -> Finding:
    nodes = environment.numa_nodes
    if nodes is None or (nodes == 1 and environment.is_virtualised):
        return _hidden("memory nodes", _ON_HOST)
    if nodes == 1:
        return Finding("memory nodes", State.OK, "1")
    remedy = "measure on the CPUs of one node: set BENCHGATE_CPUS; lscpu lists the CPUs of each node"
    return Finding("memory nodes", State.WARN, str(nodes), remedy)


def _throttling(environment: MachineEnvironment, load: Load, recent: Disturbance | None) -> Finding:
    just_now = None if recent is None else recent.throttles
    # A host may slow its guest down although the guest's counters stay at zero.
    if load.throttles is None or (not load.throttles and environment.is_virtualised):
        return _hidden("throttling", _ON_HOST)
    if just_now:
        return Finding("throttling", State.BAD, f"{just_now} times just now", _COOLING)
    if load.throttles:
        return Finding("throttling", State.WARN, f"{load.throttles} times since boot", _COOLING)
    return Finding("throttling", State.OK, "never since boot")


def _load(environment: MachineEnvironment, load: Load) -> Finding:
    value = f"{load.load1:.2f} over a minute"
    if load.load1 < LOAD_WARN:
        return Finding("load", State.OK, value)
    state = State.BAD if load.load1 >= max(1, len(environment.online_cpus)) else State.WARN
    return Finding(
        "load", state, value, "stop other work; list it: ps -eo pcpu,pid,user,args --sort=-pcpu | head"
    )


def _steal(load: Load, recent: Disturbance | None) -> Finding:
    share = load.steal_share if recent is None else recent.steal_share
    if share is None:
        return _hidden("steal", "")
    value = f"{share:.1%} {'since boot' if recent is None else 'just now'}"
    if share < STEAL_WARN:
        return Finding("steal", State.OK, value)
    state = State.BAD if share >= STEAL_BAD else State.WARN
    return Finding("steal", state, value, "the host is overcommitted; ask its operator for dedicated CPUs")


def _memory(environment: MachineEnvironment, load: Load) -> Finding:
    if load.available_bytes is None or not environment.memory_bytes:
        return _hidden("free memory", "")
    share = load.available_bytes / environment.memory_bytes
    value = f"{_gigabytes(load.available_bytes)} of {_gigabytes(environment.memory_bytes)}"
    if share >= MEMORY_WARN:
        return Finding("free memory", State.OK, value)
    state = State.BAD if share < MEMORY_BAD else State.WARN
    return Finding(
        "free memory",
        state,
        value,
        "free some memory; list users: ps -eo rss,pid,user,args --sort=-rss | head",
    )


def _swap(load: Load) -> Finding:
    if load.swapped_bytes is None:
        return _hidden("swap", "")
    if load.swapped_bytes == 0:
        return Finding("swap", State.OK, "not used")
    return Finding("swap", State.WARN, f"{_gigabytes(load.swapped_bytes)} used", "sudo swapoff -a")


def _hidden(name: str, remedy: str) -> Finding:
    return Finding(name, State.UNKNOWN, UNKNOWN, remedy)


def _gigabytes(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"
