"""Judge a machine's fitness for measuring, with a remedy for each problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.machines.environment import (
    FAST_CLOCKS,
    FOREIGN_BAD,
    LOAD_WARN,
    MEMORY_BAD,
    MEMORY_WARN,
    STEAL_BAD,
    STEAL_WARN,
    UNKNOWN,
    MachineFinding,
    State,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.machines.environment import Disturbance, Load, MachineEnvironment

CPU_FILES = "/sys/devices/system/cpu"
_COOLING: Final = "the processor gets too hot; check fans and air flow, or lower its clock rate"
_ON_HOST: Final = "the host of this virtual machine decides it; ask the host's operator"


def findings(
    environment: MachineEnvironment, load: Load, recent: Disturbance | None = None
) -> tuple[MachineFinding, ...]:
    """Judge each property that adds measurement noise, the most worthwhile to fix first.

    ``recent`` is the disturbance of the last seconds; None: judge steal since boot.
    """
    return (
        *_settings(environment),
        *_hardware(environment),
        _load(environment, load),
        _steal(load, recent),
        _throttling(environment, load, recent),
        _memory(environment, load),
        _swap(load),
    )


def obstacles(recent: Disturbance) -> tuple[MachineFinding, ...]:
    """List the disturbances that are too large to measure now.

    ``recent`` covers a time in which this machine measured nothing.
    """
    foreign = recent.foreign_share or 0.0
    large = []
    if recent.steal_share >= STEAL_BAD:
        value = f"{recent.steal_share:.0%} of its CPU time is stolen by its host"
        large.append(MachineFinding("steal", State.BAD, value))
    if foreign >= FOREIGN_BAD:
        large.append(MachineFinding("load", State.BAD, f"other work takes {foreign:.0%} of its CPUs"))
    return tuple(large)


def _settings(environment: MachineEnvironment) -> Iterator[MachineFinding]:
    """Judge what the operator can set."""
    governor, thp, clock = environment.governor, environment.thp, environment.clocksource
    state = State.OK if governor == "performance" else State.BAD
    remedy = f"echo performance | sudo tee {CPU_FILES}/cpu*/cpufreq/scaling_governor"
    yield _finding("governor", governor, state, remedy, _ON_HOST)
    # intel_pstate's `no_turbo` is 1 when turbo is off, the other drivers' `boost` is 0.
    off = "1" if (environment.turbo_switch or "").endswith("no_turbo") else "0"
    remedy = f"echo {off} | sudo tee {environment.turbo_switch}"
    yield _off("turbo", ("on", "off"), remedy, _ON_HOST, is_on=environment.turbo)
    remedy = f"echo off | sudo tee {CPU_FILES}/smt/control"
    yield _off("smt", ("on", "off"), remedy, _ON_HOST, is_on=environment.smt)
    # Each launch turns it off for itself.
    on = "on; measured programs run without it"
    aslr = None if environment.aslr is None else on if environment.aslr else "off"
    yield _finding("aslr", aslr, State.OK)
    remedy = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
    yield _finding("huge pages", thp, State.WARN if thp == "always" else State.OK, remedy)
    remedy = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
    yield _finding("clock", clock, State.OK if clock in FAST_CLOCKS else State.BAD, remedy)


def _hardware(environment: MachineEnvironment) -> Iterator[MachineFinding]:
    """Judge what only another machine or other CPUs can change."""
    remedy = "other guests of its host add noise that it cannot see; use a physical machine if you can"
    yield _off("virtual machine", ("yes", "no"), remedy, is_on=environment.is_virtualised)
    cpus = len(environment.online_cpus)
    remedy = "the service and the measured program share one CPU; add a second one"
    yield _finding("cpus", f"{cpus} online" if cpus else None, State.BAD if cpus == 1 else State.OK, remedy)
    nodes = environment.numa_nodes
    is_shown = nodes is not None and not (nodes == 1 and environment.is_virtualised)
    remedy = "measure on the CPUs of one node: set BENCHGATE_CPUS; lscpu lists the CPUs of each node"
    state = State.OK if nodes == 1 else State.WARN
    yield _finding("memory nodes", str(nodes) if is_shown else None, state, remedy, _ON_HOST)


def _throttling(environment: MachineEnvironment, load: Load, recent: Disturbance | None) -> MachineFinding:
    # A host may throttle its guest while the guest's counters stay at zero.
    if load.throttles is None or (not load.throttles and environment.is_virtualised):
        return _finding("throttling", None, State.UNKNOWN, hidden=_ON_HOST)
    if recent is not None and recent.throttles:
        return _finding("throttling", f"{recent.throttles} times just now", State.BAD, _COOLING)
    if load.throttles:
        return _finding("throttling", f"{load.throttles} times since boot", State.WARN, _COOLING)
    return _finding("throttling", "never since boot", State.OK)


def _load(environment: MachineEnvironment, load: Load) -> MachineFinding:
    state = _grade(load.load1, LOAD_WARN, max(1, len(environment.online_cpus)))
    remedy = "stop other work; list it: ps -eo pcpu,pid,user,args --sort=-pcpu | head"
    return _finding("load", f"{load.load1:.2f} over a minute", state, remedy)


def _steal(load: Load, recent: Disturbance | None) -> MachineFinding:
    share = load.steal_share if recent is None else recent.steal_share
    if share is None:
        return _finding("steal", None, State.UNKNOWN)
    value = f"{share:.1%} {'since boot' if recent is None else 'just now'}"
    remedy = "the host is overcommitted; ask its operator for dedicated CPUs"
    return _finding("steal", value, _grade(share, STEAL_WARN, STEAL_BAD), remedy)


def _memory(environment: MachineEnvironment, load: Load) -> MachineFinding:
    free, total = load.available_bytes, environment.memory_bytes
    if free is None or not total:
        return _finding("free memory", None, State.UNKNOWN)
    share = free / total
    state = State.OK if share >= MEMORY_WARN else State.BAD if share < MEMORY_BAD else State.WARN
    remedy = "free some memory; list users: ps -eo rss,pid,user,args --sort=-rss | head"
    return _finding("free memory", f"{_gigabytes(free)} of {_gigabytes(total)}", state, remedy)


def _swap(load: Load) -> MachineFinding:
    size = load.swapped_bytes
    value = None if size is None else f"{_gigabytes(size)} used" if size else "not used"
    return _finding("swap", value, State.WARN if size else State.OK, "sudo swapoff -a")


def _off(
    name: str, words: tuple[str, str], remedy: str, hidden: str = "", *, is_on: bool | None
) -> MachineFinding:
    """Judge a property that should be off; ``words`` are its values when on and when off."""
    value = None if is_on is None else words[not is_on]
    return _finding(name, value, State.WARN if is_on else State.OK, remedy, hidden)


def _finding(
    name: str, value: str | None, state: State, remedy: str = "", hidden: str = ""
) -> MachineFinding:
    """Make a finding, without a remedy if all is well; without a value it is unknown."""
    if value is None:
        return MachineFinding(name, State.UNKNOWN, UNKNOWN, hidden)
    return MachineFinding(name, state, value, "" if state is State.OK else remedy)


def _grade(value: float, warn: float, bad: float) -> State:
    return State.OK if value < warn else State.WARN if value < bad else State.BAD


def _gigabytes(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"
