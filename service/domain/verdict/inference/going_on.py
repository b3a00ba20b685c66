"""Choose the undecided benchmarks that are worth another pair, given the machine time.

The choice may depend on anything that was measured: the error is divided among all looks beforehand, so no
stopping rule can raise the false-alarm rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import VoteWhen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from service.domain.project.policy import Policy
    from service.domain.verdict.inference.verdict import Comparison

    Key = tuple[str, str]  # suite and benchmark

_LEAST_SECONDS: Final = 1e-3  # of a pair, so that infinitely many pairs take infinite time


@dataclass(frozen=True, slots=True)
class PairCost:
    """Seconds of a pair: ``fixed`` per suite whatever it measures, and each benchmark's ``own``.

    Benchmarks that are measured together share the fixed seconds of their suite. ``taken`` is what each
    benchmark took in all pairs so far, as if it had been measured alone.
    """

    fixed: Mapping[str, float] = field(default_factory=dict)
    own: Mapping[Key, float] = field(default_factory=dict)
    taken: Mapping[Key, float] = field(default_factory=dict)

    @property
    def whole(self) -> float:
        """Seconds of a pair that measures all of these benchmarks."""
        return sum(self.fixed.values()) + sum(self.own.values())

    def alone(self, key: Key) -> float:
        """Compute the seconds of a pair that measures only this benchmark; 0 if unknown."""
        return self.own[key] + self.fixed.get(key[0], 0.0) if key in self.own else 0.0

    def left(self, key: Key, policy: Policy) -> float:
        """Compute the seconds that the policy leaves to this benchmark; infinite if no entry covers it."""
        return policy.time_for(key[1]) - self.taken.get(key, 0.0)


@dataclass(frozen=True, slots=True)
class Stages:
    """Ends of two stages: the first look that can find a difference, and the pairs that all may get."""

    decisive: int
    base_pairs: int


def going_on(
    rows: Iterable[Comparison], pairs: int, stages: Stages, cost: PairCost, left: float, policy: Policy
) -> frozenset[Key]:
    """Choose the benchmarks that get another pair after ``pairs`` pairs, with ``left`` seconds left.

    Until the first look that can find a difference: all undecided ones. Then: those that the whole machine
    time may decide. Beyond the pairs that all may get: those that may still vote −1. From the second stage
    on, a benchmark with its own machine time gets no more than that.
    """
    undecided = [row for row in rows if not row.verdict.is_decided]
    if pairs >= stages.base_pairs:
        return _worth_more(undecided, cost, left, policy)
    if pairs >= stages.decisive:
        return _within_reach(undecided, cost, policy)
    return frozenset(map(_key, undecided))


def _within_reach(undecided: Iterable[Comparison], cost: PairCost, policy: Policy) -> frozenset[Key]:
    """Choose the undecided benchmarks that the whole machine time may decide, whatever the verdict.

    A row without an estimate may be anything, so its benchmark is chosen. A benchmark that used up its own
    machine time is chosen only if more pairs may show that the patch alone scatters: a patch could scatter on
    purpose to end as undecided.
    """
    chosen: set[Key] = set()
    for row in undecided:
        key = _key(row)
        seconds = _needed(row) * max(cost.alone(key), _LEAST_SECONDS)
        is_in_own = cost.left(key, policy) > 0 and seconds <= policy.time_for(key[1])
        if seconds <= policy.machine_time and (is_in_own or row.may_only_patch_scatter):
            chosen.add(key)
    return frozenset(chosen)


def _worth_more(
    undecided: Iterable[Comparison], cost: PairCost, left: float, policy: Policy
) -> frozenset[Key]:
    """Choose the undecided benchmarks that may still vote −1 within ``left`` seconds, the quickest first.

    A benchmark with its own machine time must fit into what is left of that. If undecided benchmarks withhold
    the +1, ``same`` is worth as much as ``slower``.
    """
    is_same_worth_it = policy.on_undecided is VoteWhen.NONE
    needed: dict[Key, float] = {}
    for row in undecided:
        if row.pairs_to_slower is not None:
            pairs = _needed(row) if is_same_worth_it else row.pairs_to_slower
            needed[_key(row)] = min(needed.get(_key(row), math.inf), pairs)
    seconds = {key: max(cost.alone(key), _LEAST_SECONDS) for key in needed}
    chosen: set[Key] = set()
    most: dict[str, float] = {}  # pairs that the chosen ones need, by suite
    for key in sorted(needed, key=lambda each: needed[each] * seconds[each]):
        suite, pairs = key[0], needed[key]
        if not pairs * seconds[key] <= cost.left(key, policy):
            continue
        # In pairs that its suite takes anyway, only its own seconds are added.
        shared = min(pairs, most.get(suite, 0.0)) * cost.fixed.get(suite, 0.0) if key in cost.own else 0.0
        left -= pairs * seconds[key] - shared
        if not left >= 0:
            break
        chosen.add(key)
        most[suite] = max(pairs, most.get(suite, 0.0))
    return frozenset(chosen)


def _key(row: Comparison) -> Key:
    return row.row.suite, row.row.benchmark


def _needed(row: Comparison) -> float:
    """Estimate how many more pairs decide a row; 0 if unknown."""
    known = [pairs for pairs in (row.more_pairs, row.pairs_to_slower) if pairs is not None]
    return min(known, default=0.0)
