"""Choose the kinds of causes of a slow-down by the events that grew."""

from __future__ import annotations

from enum import StrEnum
from itertools import chain
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.callgrind_events import Event
from service.domain.verdict.comparison.grown_functions import own, renamed, unseen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.measuring.callgrind_events import LoopEvents


class Kind(StrEnum):
    """Kinds of causes, in order of preference: the first ones also execute more instructions."""

    SYSTEM_CALLS = "system calls"
    ALLOCATIONS = "allocations"
    LOCKS = "locks"
    ATOMICS = "atomic operations"
    INLINING = "lost inlining"
    CACHE_MISSES = "cache misses"
    BRANCH_MISSES = "branch misses"
    INSTRUCTIONS = "instructions"


class Cause(NamedTuple):
    """Something that grew, per iteration of both sides, and the function in which it grew most.

    Of lost inlining these are the calls of a function that only the patch has.
    """

    kind: Kind
    function: str
    base: float
    patch: float


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
_AGREEMENT: Final = 0.02  # of the launches of a side
_NOISE: Final = 3.0  # growth must be larger than the launches of a side differ, by this factor
_PART: Final = 1 / 3  # of the largest growth
_NEGLIGIBLE: Final = 0.01  # of what an iteration of the parent costs by these weights


def causes(base: Sequence[LoopEvents], patch: Sequence[LoopEvents]) -> tuple[Cause, ...]:
    """Name the kinds of events that grew for sure and plausibly explain a slow-down, the preferred first.

    Args:
        base: the launches of the parent, two at least.
        patch: those of the patch.
    """
    was = renamed(base[-1].counted, patch[-1].counted)
    found: dict[Kind, tuple[float, Cause]] = {}
    for kind, events in _EVENTS.items():
        grown = [event for event in events if _grew(event, base, patch)]
        costs = {event: _WEIGHTS[event] * (_mean(event, patch) - _mean(event, base)) for event in grown}
        if costs:
            shown = max(costs, key=costs.__getitem__)  # of two levels of caches, the one that costs more
            function = _function(shown, base, patch, was)
            found[kind] = sum(costs.values()), Cause(kind, function, _mean(shown, base), _mean(shown, patch))
    if inlined := _inlined(base, patch, was):
        found[Kind.INLINING] = _CALL * inlined.patch, inlined
    parent = sum(weight * _mean(event, base) for event, weight in _WEIGHTS.items())
    largest = max((cost for cost, _ in found.values()), default=0.0)
    least = max(_PART * largest, _NEGLIGIBLE * parent)
    return tuple(found[kind][1] for kind in Kind if kind in found and found[kind][0] >= least)


def _grew(event: Event, base: Sequence[LoopEvents], patch: Sequence[LoopEvents]) -> bool:
    rates = [[each.rates[event] for each in side] for side in (base, patch)]
    apart = max(max(each) - min(each) for each in rates)
    return fmean(rates[1]) - fmean(rates[0]) > _NOISE * apart


def _mean(event: Event, side: Sequence[LoopEvents]) -> float:
    return fmean(each.rates[event] for each in side)


def _function(
    event: Event, base: Sequence[LoopEvents], patch: Sequence[LoopEvents], was: Mapping[str, str]
) -> str:
    before, after = base[-1].functions[event], patch[-1].functions[event]
    growth = {name: rate - before.get(was.get(name, name), 0.0) for name, rate in after.items()}
    return max(growth, key=growth.__getitem__, default="")


def _inlined(base: Sequence[LoopEvents], patch: Sequence[LoopEvents], was: Mapping[str, str]) -> Cause | None:
    """Find the function that only the patch has, and whose caller executes fewer instructions itself."""
    if unseen(base[-1].counted) or unseen(patch[-1].counted):
        return None  # a renamed function would look like a new one
    before, after = own(base[-1].counted), own(patch[-1].counted)
    known = set(chain(*(each.functions[Event.INSTRUCTIONS] for each in base), *(each.calls for each in base)))
    calls = {
        name: patch[-1].calls.get(name, 0.0)
        for name, (caller, _) in after.items()
        if name not in known and name not in was and caller in before
        if caller in after and after[caller][1] < before[caller][1] and _is_steady(name, patch)
    }
    name = max(calls, key=calls.__getitem__, default="")
    return Cause(Kind.INLINING, name, 0.0, calls[name]) if name and calls[name] else None


def _is_steady(function: str, side: Sequence[LoopEvents]) -> bool:
    rates = [each.calls.get(function, 0.0) for each in side]
    return max(rates) - min(rates) <= _AGREEMENT * max(rates)
