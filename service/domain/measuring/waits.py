"""Find the sampled stacks that end in a wait, and the share of the elapsed time that they stand for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.measuring.sampled_stacks import Function

# They enter the kernel only in functions of their own, which have no name in a stripped library.
_LOCK: Final = re.compile(
    r"pthread_(mutex_(timed|clock)?lock|rwlock_(timed|clock)?(rd|wr)lock|cond_(timed|clock)?wait"
    r"|join|barrier_wait)|sem_(timed|clock)?wait|std::thread::join"
)
# They end when another thread has done its work, unlike a lock or a timeout; the last one is of std::future.
_OTHERS: Final = re.compile(
    r"pthread_(cond_wait|join|barrier_wait)|sem_wait|std::thread::join"
    r"|std::__atomic_futex_unsigned_base::_M_futex_wait_until(_steady)?"
)
_CALL: Final = re.compile(
    r"(clock_)?nanosleep|p?poll|p?select|epoll_p?wait|sched_yield|syscall|f?sync|fdatasync|msync|syncfs"
    r"|p?(read|write)v?(64)?|(recv|send)(from|to|msg)?|accept4?|connect|flock|wait(4|id|pid)"
)
# A thread that sleeps deep in the kernel takes one sample when it wakes up, however long that took.
_SHORT: Final = 0.9  # of the samples that the last trial's time has
_PARTS: Final = 1000  # of a sample


def is_wait(stack: Sequence[Function]) -> bool:
    """Return whether the innermost functions, those of libraries, wait for a lock or for the kernel."""
    called = _called(stack)
    return any(map(_CALL.fullmatch, called)) or any(map(_LOCK.fullmatch, called[1:]))


def waits_for_thread(stack: Sequence[Function]) -> bool:
    """Return whether the innermost functions, those of libraries, wait for the work of another thread."""
    return any(map(_OTHERS.fullmatch, _called(stack)[1:]))


def _called(stack: Sequence[Function]) -> list[str]:
    called = list[str]()
    for each in reversed(stack):
        if not each.is_library:
            break
        called.append(each.name.removeprefix("__").partition("@")[0])
    return called


def share_of_waits(stacks: Mapping[tuple[Function, ...], int]) -> float:
    """Return the share of the samples that end in a wait."""
    return sum(count for each, count in stacks.items() if is_wait(each)) / sum(stacks.values())


def waited(stacks: Mapping[tuple[Function, ...], int], expected: float, idle: float) -> float:
    """Return the share of the elapsed time that the thread waited.

    ``expected`` is how many samples the last trial should have, or 0 if more than waits can take some away;
    ``idle`` is the largest share that it can have waited, as it computed in the rest.
    """
    share = share_of_waits(stacks)
    is_short = sum(stacks.values()) < _SHORT * expected
    return idle if share and is_short else min(share, idle)


def weighed(
    stacks: Mapping[tuple[Function, ...], int], waits: float, rest: float
) -> Mapping[tuple[Function, ...], int]:
    """Give the stacks that wait, and the others, these weights in all.

    Raises:
        BadResults: none is left.
    """
    share = share_of_waits(stacks)
    factors = {True: waits / share if share else 0.0, False: rest / (1 - share) if share < 1 else 0.0}
    found = {each: round(_PARTS * count * factors[is_wait(each)]) for each, count in stacks.items()}
    if not any(found.values()):
        raise BadResults("no sample is left")
    return {each: count for each, count in found.items() if count}
