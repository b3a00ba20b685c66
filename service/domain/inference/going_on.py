"""Going on: the undecided benchmarks that are worth another pair, given the machine time.

The choice may follow from anything that was measured. Each look has its part of the error from the start,
whether it takes place or not, so a rule for stopping raises no bound, however it chooses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from service.domain.inference.policy import VoteWhen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from service.domain.inference.policy import Policy
    from service.domain.inference.verdict import Comparison

    Key = tuple[str, str]  # suite and benchmark

_LEAST_SECONDS: Final = 1e-3  # of a pair: an infinite number of pairs takes infinite time


def within_reach(
    rows: Iterable[Comparison], seconds: Mapping[Key, float], machine_time: float
) -> frozenset[Key]:
    """Choose the undecided benchmarks that the whole machine time may decide, whatever the verdict.

    A row without an estimate may be anything, so its benchmark is chosen.

    Args:
        rows: all comparisons so far.
        seconds: by suite and benchmark, those of its part of a pair.
        machine_time: of the policy.
    """
    return frozenset(
        key
        for row in rows
        if not row.verdict.is_decided
        for key in [(row.row.suite, row.row.benchmark)]
        if _needed(row) * max(seconds.get(key, 0.0), _LEAST_SECONDS) <= machine_time
    )


def worth_more(
    rows: Iterable[Comparison], seconds: Mapping[Key, float], left: float, policy: Policy
) -> frozenset[Key]:
    """Choose the undecided benchmarks that may still vote −1 within the seconds ``left``, the quickest first.

    If the policy withholds the +1 for a benchmark that is undecided, ``same`` is worth as much as ``slower``.
    """
    is_same_worth_it = policy.on_undecided is VoteWhen.NONE
    costs: dict[Key, float] = {}
    for row in rows:
        if not row.verdict.is_decided and row.pairs_to_slower is not None:
            key = (row.row.suite, row.row.benchmark)
            pairs = _needed(row) if is_same_worth_it else row.pairs_to_slower
            costs[key] = min(costs.get(key, math.inf), pairs * max(seconds.get(key, 0.0), _LEAST_SECONDS))
    chosen = set()
    for key, cost in sorted(costs.items(), key=lambda item: item[1]):
        left -= cost
        if left < 0:
            break
        chosen.add(key)
    return frozenset(chosen)


def _needed(row: Comparison) -> float:
    """About how many more pairs decide a row; 0 if that is not known."""
    known = [pairs for pairs in (row.more_pairs, row.pairs_to_slower) if pairs is not None]
    return min(known, default=0.0)
