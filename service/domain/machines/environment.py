"""Describe what of a machine affects measurements: its properties and its load."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

UNKNOWN: Final = "unknown"
_DECIDING: Final = (
    *("cpu_model", "microcode", "cores", "smt", "governor", "turbo"),
    *("kernel", "aslr", "clocksource"),
)

# Half a CPU of other work already shows in the median of a launch.
LOAD_WARN: Final = 0.5
# As large as the effects of 1 % that matter, in a launch of about a second.
STEAL_WARN: Final = 0.01
STEAL_BAD: Final = 0.05
# Work on all CPUs disturbs every launch; a reading over one second may miss a twentieth of it.
FOREIGN_BAD: Final = 0.95
# Below a tenth, the kernel reclaims pages and stalls programs at random.
MEMORY_WARN: Final = 0.10
MEMORY_BAD: Final = 0.03
# Programs read these without a system call; reading another clock traps or uses a slow bus.
FAST_CLOCKS: Final = frozenset({"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"})


@dataclass(frozen=True, slots=True)
class MachineEnvironment:
    """Properties of a machine; None where the machine does not report one. Nothing is guessed."""

    cpu_model: str | None  # the name that the processor reports
    microcode: str | None  # revision of the processor's own program
    cores: int | None  # physical cores that are online
    threads_per_core: int | None  # hardware threads of a core
    online_cpus: tuple[int, ...]  # CPU numbers, in order
    caches: tuple[str, ...]  # of one CPU: ``L1d 32K``
    numa_nodes: int | None  # memory nodes
    governor: str | None  # of all online CPUs; several are joined by a comma
    turbo: bool | None  # whether the clock may exceed its nominal rate
    turbo_switch: str | None  # the file that turns it off
    smt: bool | None  # whether several threads share a core; a guest cannot know it for its host
    aslr: int | None  # ``kernel.randomize_va_space``
    thp: str | None  # transparent huge pages: ``always``, ``madvise`` or ``never``
    kernel: str | None  # release
    clocksource: str | None  # the kernel's source of time
    is_virtualised: bool | None  # whether a hypervisor runs the machine
    memory_bytes: int | None  # total memory

    def to_mapping(self) -> dict[str, object]:
        """Convert to plain values for JSON; a property that is not reported is ``unknown``."""
        values = asdict(self)
        for name in ("online_cpus", "caches"):
            values[name] = list(values[name]) or None
        return {name: UNKNOWN if value is None else value for name, value in values.items()}

    def fingerprint(self, in_force: Mapping[str, str], setup: Mapping[str, object] | None = None) -> str:
        """Compute a digest; machines with equal digests have comparable results.

        Args:
            in_force: the isolation and limits of the programs (``Sandbox.in_force``).
            setup: what else decides: the measured CPUs, and the versions of compilers and linker.
        """
        known = {name: getattr(self, name) for name in _DECIDING}
        deciding = {"in_force": dict(in_force), **(setup or {}), **known}
        return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Load:
    """A reading of a machine's load."""

    at: float  # seconds of a monotonic clock
    load1: float  # the kernel's one-minute average of runnable tasks
    running: int  # tasks that are runnable now, including the reader of this value
    busy_ticks: Mapping[int, int]  # per CPU, ticks of work since boot, without waiting and steal
    idle_ticks: Mapping[int, int]  # per CPU, ticks without work
    steal_ticks: Mapping[int, int]  # per CPU, ticks that the hypervisor gave to other guests
    ticks_per_second: int  # the kernel's unit of CPU time
    available_bytes: int | None = None  # memory that programs can still allocate; None: not shown
    swapped_bytes: int | None = None  # memory in swap; None: not shown
    throttles: int | None = None  # times since boot that a CPU was slowed down to cool; None: not shown

    @property
    def steal_share(self) -> float | None:
        """The share of CPU time since boot that the hypervisor stole; None without any time."""
        stolen = sum(self.steal_ticks.values())
        total = stolen + sum(self.busy_ticks.values()) + sum(self.idle_ticks.values())
        return stolen / total if total else None


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Other activity on the CPUs of a measured program."""

    steal_share: float  # of the CPUs' time that the hypervisor stole, 0 to 1
    foreign_share: float | None  # of their time spent on other work; None: the program's own is unknown
    throttles: int | None = None  # times that a CPU was slowed down to cool; None: not shown
    elsewhere_share: float = 0.0  # of the time of the machine's other CPUs spent on any work


def load_between(
    before: Load, after: Load, cpus: Iterable[int], own_cpu_seconds: float | None
) -> Disturbance:
    """Compute the disturbance of a program that ran on ``cpus`` between two readings.

    The kernel counts in ticks, so shares over a short time are coarse. Values within the counting error
    become zero: one stolen tick per CPU, and two ticks of other work, because work is the sum of several
    rounded counters and starting the program takes some milliseconds that are not its own.

    Args:
        before: a reading before the program started.
        after: a reading after it ended.
        cpus: the CPUs that the program was pinned to.
        own_cpu_seconds: CPU time of the program itself; None: unknown.
    """
    shared = before.busy_ticks.keys() & after.busy_ticks.keys()
    chosen = shared & set(cpus)
    seconds, tick = after.at - before.at, 1 / before.ticks_per_second
    if not chosen or seconds <= 0:
        return Disturbance(0.0, None)

    def busy(cpus: Collection[int]) -> float:
        return tick * sum(after.busy_ticks[cpu] - before.busy_ticks[cpu] for cpu in cpus)

    def share(part: float, cpus: Collection[int], uncertain_ticks: int) -> float:
        is_certain = part > uncertain_ticks * tick * len(cpus)
        return min(1.0, part / (seconds * len(cpus))) if is_certain else 0.0

    stolen = tick * sum(after.steal_ticks.get(cpu, 0) - before.steal_ticks.get(cpu, 0) for cpu in chosen)
    throttles = None
    if before.throttles is not None and after.throttles is not None:
        throttles = max(0, after.throttles - before.throttles)
    return Disturbance(
        steal_share=share(stolen, chosen, 1),
        foreign_share=None if own_cpu_seconds is None else share(busy(chosen) - own_cpu_seconds, chosen, 2),
        throttles=throttles,
        elsewhere_share=share(busy(shared - chosen), shared - chosen, 2),
    )


class State(StrEnum):
    """Grades of a property's effect on measurements."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class MachineFinding:
    """Judgement of one property. ``remedy`` is a command, a sentence or empty."""

    name: str
    state: State
    value: str
    remedy: str = ""
