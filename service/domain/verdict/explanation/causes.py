"""Choose the kinds of causes of a slow-down by the events that grew."""

from __future__ import annotations

import math
from collections import defaultdict
from enum import StrEnum
from itertools import chain
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.callgrind_events import Event
from service.domain.measuring.disassembly import packed
from service.domain.verdict.comparison.grown_functions import instances, own, renamed, unseen

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from service.domain.measuring.callgrind_events import LoopEvents


class Kind(StrEnum):
    """Kinds of causes, in order of preference: the first ones also execute more instructions."""

    WAITING = "waiting"  # sampled, not counted
    SYSTEM_CALLS = "system calls"
    ALLOCATIONS = "allocations"
    LOCKS = "locks"
    ATOMICS = "atomic operations"
    INLINING = "lost inlining"
    VECTORISATION = "lost vectorisation"
    CACHE_MISSES = "cache misses"
    BRANCH_MISSES = "branch misses"
    INSTRUCTIONS = "instructions"
    LAYOUT = "layout only"


class Cause(NamedTuple):
    """Something that grew, per iteration of both sides, and the function in which it grew most.

    Of lost inlining these are the calls of a function that only the patch has; of lost vectorisation, which
    grew in no event, the instructions that compute with several values at once; of waiting, the seconds.
    Layout has no function. ``new_callee`` is a function that only the patch has and that ``function`` calls,
    perhaps through others: it has a quarter of the growth, or more, and so have all such functions together
    beyond what the parent's had that the patch does not have.
    """

    kind: Kind
    function: str
    base: float
    patch: float
    new_callee: str = ""


# Cycles, generously and for no machine in particular. They choose between kinds; nobody is shown them.
_WEIGHTS: Final = MappingProxyType(
    {
        Event.SYSTEM_CALLS: 300.0,
        Event.ALLOCATIONS: 50.0,
        Event.LOCKS: 40.0,
        Event.ATOMICS: 20.0,
        Event.L1_MISSES: 10.0,
        Event.LL_MISSES: 100.0,
        Event.BRANCH_MISSES: 15.0,
        Event.INSTRUCTIONS: 0.3,
    }
)
_EVENTS: Final = MappingProxyType(
    {
        Kind.SYSTEM_CALLS: (Event.SYSTEM_CALLS,),
        Kind.ALLOCATIONS: (Event.ALLOCATIONS,),
        Kind.LOCKS: (Event.LOCKS,),
        Kind.ATOMICS: (Event.ATOMICS,),
        Kind.CACHE_MISSES: (Event.L1_MISSES, Event.LL_MISSES),
        Kind.BRANCH_MISSES: (Event.BRANCH_MISSES,),
        Kind.INSTRUCTIONS: (Event.INSTRUCTIONS,),
    }
)
_CALL: Final = 10.0  # of a function that was inlined
_CALLING: Final = 10.0  # most instructions of such a call; a function with more does something else
_CALLABLES: Final = ("std::_Function_handler<", "std::__1::__function::__func<")
_LANES: Final = 100.0  # most instructions that replace one of lost vectorisation; a vector has 64 values
_EQUAL: Final = 0.001
# Costs by these weights are wrong by factors: the simulated caches miss what a larger or prefetched one has,
# and a chain of dependent instructions is ten times as slow as an independent one.
_LEAST: Final = 1 / 20  # of the slow-down
_MOST: Final = 300.0  # times the slow-down
_LISTED: Final = 0.9  # of what the program executed
_AGREEMENT: Final = 0.02  # of the launches of a side
_NOISE: Final = 3.0  # growth must be larger than the launches of a side differ, by this factor
_PART: Final = 1 / 3  # of the largest growth
_NEW: Final = 1 / 4  # of the growth of a function: a new one below it with less is not named
_NEGLIGIBLE: Final = 0.01  # of what an iteration of the parent costs by these weights


def causes(
    base: Sequence[LoopEvents],
    patch: Sequence[LoopEvents],
    slowdown: float | None,
    *,
    may_be_layout: bool = True,
) -> tuple[Cause, ...]:
    """Name the kinds of events that grew for sure and plausibly explain a slow-down, the preferred first.

    Args:
        base: the launches of the parent, two at least.
        patch: those of the patch.
        slowdown: the measured one (0.12: 12 % slower). Growth that can explain only a small part of it, or
            would have cost far more, is left out. None: the benchmark is not slower, and all growth counts.
        may_be_layout: the slow-down was not confirmed on programs that are linked in another order.
    """
    was = renamed(base[-1].counted, patch[-1].counted)
    before, after = _costs(base), _costs(patch)
    found: dict[Kind, tuple[float, Cause]] = {}
    for kind, events in _EVENTS.items():
        grown = [event for event in events if _grew(event, base, patch)]
        costs = {event: after[event] - before[event] for event in grown}
        if costs:
            level = max(costs, key=costs.__getitem__)  # of two levels of caches, the one that costs more
            function, callee = _function(level, base, patch, was)
            rates = _mean(level, base), _mean(level, patch)
            found[kind] = sum(costs.values()), Cause(kind, function, *rates, callee)
    if inlined := _inlined(base, patch, was):
        found[Kind.INLINING] = _CALL * inlined.patch, inlined
    elif lost := _no_longer_packed(found, base, patch):
        found[Kind.VECTORISATION] = lost
        del found[Kind.INSTRUCTIONS]
    parent = sum(before.values())
    largest = max((cost for cost, _ in found.values()), default=0.0)
    least, most = max(_PART * largest, _NEGLIGIBLE * parent), math.inf
    if slowdown is not None:
        least, most = max(least, _LEAST * slowdown * parent), _MOST * slowdown * parent
    shown = tuple(found[kind][1] for kind in Kind if kind in found and least <= found[kind][0] <= most)
    if not shown and slowdown and may_be_layout and _is_same_code(base, patch):
        return (Cause(Kind.LAYOUT, "", 0.0, 0.0),)
    return shown


def more_allocations(base: Sequence[LoopEvents], patch: Sequence[LoopEvents]) -> tuple[Cause, ...]:
    """Name the function with most of the new allocations, if there are more for sure, whatever they cost.

    They are the only counted events that explain what grew in memory; arguments as :func:`causes`.
    """
    rates = _mean(Event.ALLOCATIONS, base), _mean(Event.ALLOCATIONS, patch)
    if not _grew(Event.ALLOCATIONS, base, patch) or rates[1] <= (1 + _NEGLIGIBLE) * rates[0]:
        return ()
    was = renamed(base[-1].counted, patch[-1].counted)
    function, callee = _function(Event.ALLOCATIONS, base, patch, was)
    return (Cause(Kind.ALLOCATIONS, function, *rates, callee),)


def _grew(event: Event, base: Sequence[LoopEvents], patch: Sequence[LoopEvents]) -> bool:
    rates = [[each.rates[event] for each in side] for side in (base, patch)]
    apart = max(max(each) - min(each) for each in rates)
    return fmean(rates[1]) - fmean(rates[0]) > _NOISE * apart


def _mean(event: Event, side: Sequence[LoopEvents]) -> float:
    return fmean(each.rates[event] for each in side)


def _costs(side: Sequence[LoopEvents]) -> dict[Event, float]:
    return {event: weight * _mean(event, side) for event, weight in _WEIGHTS.items()}


def _function(
    event: Event, base: Sequence[LoopEvents], patch: Sequence[LoopEvents], was: Mapping[str, str]
) -> tuple[str, str]:
    """Find the function in which an event grew most, and the new one below it with a large part of that.

    What a function has that only one side executes counts for its nearest caller that both do.
    """
    was = {**instances(base[-1].functions[event], patch[-1].functions[event]), **was}
    old = {before: name for name, before in was.items()}
    executed = [side[-1].functions[Event.INSTRUCTIONS] for side in (base, patch)]
    kept = {old.get(name, name) for name in executed[0]} & {*executed[1]}
    growth = defaultdict[str, float](float)
    gone, new = (defaultdict[str, dict[str, float]](dict) for _ in range(2))
    for sign, side, names, below in ((-1.0, base[-1], old, gone), (1.0, patch[-1], dict[str, str](), new)):
        callers = {names.get(name, name): names.get(by, by) for name, (by, _) in own(side.counted).items()}
        for name, rate in side.functions[event].items():
            now = names.get(name, name)
            home = _home(now, callers, kept)
            growth[home] += sign * rate
            if home != now:
                below[home][now] = rate
    found = max(growth, key=growth.__getitem__, default="")
    return found, largest_below(growth[found], gone[found], new[found])


def largest_below(growth: float, gone: Mapping[str, float], new: Mapping[str, float]) -> str:
    """Return the largest function that only the patch has below one that grew; empty if that is small.

    Args:
        growth: of the function, with all that counts for it.
        gone: what the functions cost that only the parent has below it; their code may have moved.
        new: what those cost that only the patch has.
    """
    name = max(sorted(new), key=new.__getitem__, default="")
    more = sum(new.values()) - sum(gone.values())
    return name if name and min(new[name], more) >= _NEW * growth > 0 else ""


def _home(name: str, callers: Mapping[str, str], kept: Collection[str]) -> str:
    """Return the nearest caller that is ``kept``; the function itself if it or none is."""
    home, further = name, dict(callers)
    while home not in kept and home in further:
        home = further.pop(home)
    return home if home in kept else name


def _inlined(base: Sequence[LoopEvents], patch: Sequence[LoopEvents], was: Mapping[str, str]) -> Cause | None:
    """Find the function that only the patch has and that executes what its caller executed itself before.

    Callables in ``std::function`` are such functions, too, whatever becomes of their callers.
    """
    if unseen(base[-1].counted) or unseen(patch[-1].counted):
        return None  # a renamed function would look like a new one
    before, after = own(base[-1].counted), own(patch[-1].counted)
    known = set(chain(*(each.functions[Event.INSTRUCTIONS] for each in base), *(each.calls for each in base)))
    found = dict[str, float]()
    for name, (caller, rate) in after.items():
        if name in known or name in was or not (calls := patch[-1].calls.get(name, 0.0)):
            continue
        less = before[caller][1] - after[caller][1] + calls if caller in before and caller in after else 0.0
        is_cut = less > 0 and rate <= less + _CALLING * calls
        launches = [each.calls.get(name, 0.0) for each in patch]
        is_steady = max(launches) - min(launches) <= _AGREEMENT * max(launches)
        if is_steady and (is_cut or name.startswith(_CALLABLES)):
            found[name] = calls
    name = max(found, key=found.__getitem__, default="")
    return Cause(Kind.INLINING, name, 0.0, found[name]) if name else None


def _no_longer_packed(
    found: Mapping[Kind, tuple[float, Cause]], base: Sequence[LoopEvents], patch: Sequence[LoopEvents]
) -> tuple[float, Cause] | None:
    """Find out whether more instructions replace those that computed with several values."""
    if Kind.INSTRUCTIONS not in found or not _are_listed(base, patch):
        return None
    cost, more = found[Kind.INSTRUCTIONS]
    before, after = packed(base[-1].executed), packed(patch[-1].executed)
    is_lost = after <= before / 2 and more.patch - more.base <= _LANES * (before - after)
    return (cost, Cause(Kind.VECTORISATION, more.function, before, after)) if is_lost else None


def _is_same_code(base: Sequence[LoopEvents], patch: Sequence[LoopEvents]) -> bool:
    """Return whether both sides executed the same instructions equally often, with the same events.

    Other instructions in equal number, such as divisions for multiplications, are no matter of placement.
    """
    before, after = base[-1].executed, patch[-1].executed
    apart = sum(abs(before.get(text, 0.0) - after.get(text, 0.0)) for text in {*before, *after})
    old, new = _costs(base), _costs(patch)
    more = sum(abs(new[event] - old[event]) for event in Event)
    is_alike = apart <= _EQUAL * sum(before.values()) and more <= _EQUAL * sum(old.values())
    return is_alike and _are_listed(base, patch)


def _are_listed(*sides: Sequence[LoopEvents]) -> bool:
    """Return whether nearly all instructions that the program executed are known by their text."""
    for side in (launches[-1] for launches in sides):
        executed = sum(rate for _, rate in own(side.counted).values())
        if not 0 < _LISTED * executed <= sum(side.executed.values()):
            return False
    return True
