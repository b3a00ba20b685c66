"""Read from Callgrind's dumps what else an iteration costs: misses, system calls, allocations, locks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.measuring.callgrind import Counted, Trial, numbered_loops
from service.domain.measuring.callgrind_functions import by_function
from service.domain.measuring.callgrind_loop import Loop, last_loop
from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Mapping


class Event(StrEnum):
    """A kind of event that is counted in a timed loop."""

    INSTRUCTIONS = "instructions"
    L1_MISSES = "L1 cache misses"
    LL_MISSES = "last-level cache misses"
    BRANCH_MISSES = "branch misses"
    SYSTEM_CALLS = "system calls"
    ATOMICS = "atomic operations"
    ALLOCATIONS = "allocations"
    LOCKS = "locks"


_COLUMNS: Final = MappingProxyType(
    {
        Event.INSTRUCTIONS: ("Ir",),
        Event.L1_MISSES: ("I1mr", "D1mr", "D1mw"),
        Event.LL_MISSES: ("ILmr", "DLmr", "DLmw"),
        Event.BRANCH_MISSES: ("Bcm", "Bim"),
        Event.SYSTEM_CALLS: ("sysCount",),
        Event.ATOMICS: ("Ge",),
    }
)
# An allocation function that calls another one, as `operator new` calls malloc, is one allocation.
_ALLOCATING: Final = frozenset(
    {
        *("malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign"),
        *("operator new", "operator new[]"),
    }
)
_LOCKING: Final = frozenset(
    {
        *("pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_timedlock", "pthread_spin_lock"),
        *("pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_tryrdlock"),
        *("pthread_rwlock_trywrlock", "sem_wait"),
    }
)
_CALLEES: Final = MappingProxyType({Event.ALLOCATIONS: _ALLOCATING, Event.LOCKS: _LOCKING})


Ways = tuple[tuple[str, ...], frozenset[str]]
"""Columns whose sum counts an event, or functions whose calls do."""


def counted_as(event: Event) -> Ways:
    """Return how an event is counted."""
    return _COLUMNS.get(event, ()), _CALLEES.get(event, frozenset())


@dataclass(frozen=True, slots=True)
class LoopEvents:
    """Events per iteration of a launch's last timed loop.

    ``functions`` divides each event among the functions of the program, ``calls`` are those of each of them
    by others, and ``counted`` are the instructions, as other launches have them, of more functions.
    ``executed`` are the instructions that the hottest functions executed, if they were listed.
    """

    rates: Mapping[Event, float]
    functions: Mapping[Event, Mapping[str, float]]
    calls: Mapping[str, float]
    counted: Counted
    loop: Loop = field(default_factory=Loop)
    executed: Mapping[str, float] = field(default_factory=dict)

    @property
    def iterations(self) -> int:
        """Iterations of the loop."""
        return self.counted.launches[-1][-1].iterations


def loop_events(dumps: bytes, log: bytes, benchmark: str) -> LoopEvents:
    """Read the events of a launch of one benchmark; arguments and errors as :func:`callgrind.trials`."""
    loop = last_loop(dumps)
    loops = numbered_loops(dumps, log, benchmark, " ".join(loop.events).encode())
    if not set(chain(*_COLUMNS.values())) <= set(loop.events):
        raise BadResults("the dumps do not count cache misses, branch misses and system calls")
    columns = [[loop.events.index(name) for name in names] for names in _COLUMNS.values()]
    divided = by_function(loop, columns, list(_CALLEES.values()))
    iterations, totals = loops[-1]

    def each(found: Mapping[str, float]) -> dict[str, float]:
        return {name: cost / iterations for name, cost in found.items() if cost}

    by_event = dict(zip((*_COLUMNS, *_CALLEES), map(each, divided.costs), strict=True))
    rates = {event: sum(by_event[event].values()) for event in _CALLEES}
    rates |= {event: _rate(loops, chosen) for event, chosen in zip(_COLUMNS, columns, strict=True)}
    counted = Counted(((Trial(iterations, totals[0]),),), functions=divided.functions)
    return LoopEvents(rates, by_event, each(divided.calls), counted, loop)


def _rate(loops: tuple[tuple[int, tuple[int, ...]], ...], columns: list[int]) -> float:
    """Compute an event's rate without what every loop has once, such as the misses of cold caches.

    That is the difference to an earlier loop of at most half the iterations, if there is one.
    """
    last, totals = loops[-1]
    none = (0, (0,) * len(totals))
    before, earlier = max((each for each in loops[:-1] if 2 * each[0] <= last), default=none)
    return max(0, sum(totals[column] - earlier[column] for column in columns)) / (last - before)
