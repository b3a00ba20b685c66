"""Read from Callgrind's dumps what else an iteration costs: misses, system calls, allocations, locks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.measuring.callgrind import Counted, Trial, numbered_loops
from service.domain.measuring.callgrind_functions import by_function, functions
from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.measuring.callgrind_functions import Code


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
_MOST_NAMES: Final = 10_000  # that are kept while other benchmarks are counted
_HEADER: Final = re.compile(rb"^events: ([A-Za-z0-9 ]{1,200})$", re.MULTILINE)


def counted_as(event: Event) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the columns whose sum counts an event, or the functions whose calls do."""
    return _COLUMNS.get(event, ()), _CALLEES.get(event, frozenset())


@dataclass(frozen=True, slots=True)
class LoopEvents:
    """Events per iteration of a launch's last timed loop.

    ``functions`` divides each event among the functions of the program, ``calls`` are those of each of them
    by others, and ``counted`` are the instructions, as other launches have them. ``code`` says where
    the executed instructions are, ``executed`` which ones the hottest functions executed, if that is known.
    ``dumps`` are Callgrind's, ``names`` all functions in the loop; empty if that is not known.
    """

    rates: Mapping[Event, float]
    functions: Mapping[Event, Mapping[str, float]]
    calls: Mapping[str, float]
    counted: Counted
    code: Mapping[str, Code] = field(default_factory=dict)
    executed: Mapping[str, float] = field(default_factory=dict)
    dumps: bytes = b""
    names: frozenset[str] = frozenset()


def loop_events(dumps: bytes, log: bytes, benchmark: str) -> LoopEvents:
    """Read the events of a launch of one benchmark; arguments and errors as :func:`callgrind.trials`."""
    header = _HEADER.search(dumps)
    events = header[1] if header else b"Ir"
    loops = numbered_loops(dumps, log, benchmark, events)
    known = events.decode().split(" ")
    wanted = [name for names in _COLUMNS.values() for name in names]
    if not set(wanted) <= set(known):
        raise BadResults("the dumps do not count cache misses, branch misses and system calls")
    columns = [[known.index(name) for name in names] for names in _COLUMNS.values()]
    divided = by_function(dumps, columns, list(_CALLEES.values()))
    iterations, totals = loops[-1]
    if not iterations:
        raise BadResults("the last timed loop has no iteration")

    def each(found: Mapping[str, float]) -> dict[str, float]:
        return {name: cost / iterations for name, cost in found.items() if cost}

    by_event = dict(zip((*_COLUMNS, *_CALLEES), map(each, divided.costs), strict=True))
    rates = {event: sum(by_event[event].values()) for event in _CALLEES}
    for event, chosen in zip(_COLUMNS, columns, strict=True):
        rates[event] = _rate(loops, chosen)
    counted = Counted(((Trial(iterations, totals[0]),),), functions=functions(dumps))
    names = divided.names if len(divided.names) <= _MOST_NAMES else frozenset[str]()
    calls = each(divided.calls)
    return LoopEvents(rates, by_event, calls, counted, divided.code, dumps=dumps, names=names)


def _rate(loops: tuple[tuple[int, tuple[int, ...]], ...], columns: list[int]) -> float:
    """Compute an event's rate without what every loop has once, such as the misses of cold caches.

    That is the difference to an earlier loop of at most half the iterations, if there is one.
    """

    def total(loop: tuple[int, ...]) -> int:
        return sum(loop[column] for column in columns)

    last, totals = loops[-1]
    before, earlier = max((each for each in loops[:-1] if 2 * each[0] <= last), default=(0, ()))
    return max(0, total(totals) - (total(earlier) if before else 0)) / (last - before)
