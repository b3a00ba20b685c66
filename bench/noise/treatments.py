"""Ways to launch a program that may make its times spread less, each against the usual launch."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Treatment:
    """One way to launch both sides of a pair.

    Attributes:
        name: in the table.
        about: what it might help against.
        prefix: programs that start the benchmark.
        env: variables besides ``PATH``.
        cpu: the CPU that launches are pinned to, counted from the last one; None: they are not pinned.
        warm_up: a short launch of the same program comes before each.
        spin: seconds for which another program keeps the CPU busy before each.
        in_memory: the program is a copy in memory instead of a file on disk.
        is_duet: both sides run at the same time, on two CPUs, and again on swapped CPUs.
    """

    name: str
    about: str
    prefix: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    cpu: int | None = 0
    warm_up: bool = False
    spin: float = 0.0
    in_memory: bool = False
    is_duet: bool = False


USUAL: Final = Treatment("usual launch", "pinned to the last CPU")
TREATMENTS: Final = (
    Treatment("not pinned", "the scheduler may avoid a busy CPU", cpu=None),
    Treatment("another CPU", "interrupts that the last CPU handles", cpu=1),
    Treatment("real-time priority", "preemption by other processes", ("chrt", "--fifo", "1")),
    Treatment("batch scheduling", "wake-ups of others that preempt", ("chrt", "--batch", "0")),
    Treatment("fixed addresses", "address space randomisation", ("setarch", "-R")),
    Treatment("program in memory", "the page cache of the disk", in_memory=True),
    Treatment("symbols bound at start", "lazy binding in the first iterations", env={"LD_BIND_NOW": "1"}),
    Treatment(
        "heap on huge pages", "page faults and TLB misses", env={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    ),
    Treatment(
        "heap that is kept",
        "page faults after memory was returned",
        env={"MALLOC_TRIM_THRESHOLD_": "1073741824", "MALLOC_TOP_PAD_": "67108864", "MALLOC_MMAP_MAX_": "0"},
    ),
    Treatment("warm-up launch", "cold caches and branch predictors", warm_up=True),
    Treatment("busy CPU before", "a CPU that was idle and clocked down", spin=0.2),
    Treatment("duet", "neighbours that disturb both CPUs alike", is_duet=True),
)
