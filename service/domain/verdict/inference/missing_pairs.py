"""Explain what it would take to decide an undecided comparison."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from service.domain.verdict.inference.reasons import Fact, Reason, ReasonKind

if TYPE_CHECKING:
    from service.domain.project.policy import Policy
    from service.domain.verdict.inference.verdict import Comparison


def with_missing_pairs(
    comparison: Comparison,
    pair_seconds: float | None = None,
    policy: Policy | None = None,
    taken: float = 0.0,
) -> Comparison:
    """Put what it would take before the reasons of an undecided comparison; return others unchanged.

    The new reasons name the scatter of pairs and the width of the interval; then how many more pairs would
    decide (and their time, if ``pair_seconds`` is known), or the spread at which 32 pairs would. With the
    ``policy`` of a build they also name why it stopped: the machine time is too short, the benchmark's own
    machine time is used up after ``taken`` seconds, or a −1 was no longer likely. ``more_pairs`` of the
    result is the number that its reason names.
    """
    more, spread = comparison.more_pairs, comparison.spread
    if more is None or spread is None or comparison.interval is None:
        return comparison
    if policy and math.isinf(more) and comparison.pairs_to_slower is not None:
        # A build drops what may still prove a slow-down for lack of time only.
        more = comparison.pairs_to_slower
    low, high = comparison.interval
    wide = Reason(ReasonKind.WIDE_INTERVAL, (spread, math.sqrt(high) / math.sqrt(low)))
    quiet = comparison.quiet_spread or 0.0
    quiet = quiet if quiet < spread else 0.0
    if math.isinf(more):
        missing = Reason(ReasonKind.NO_NUMBER_OF_PAIRS, _known(quiet))
        return comparison._replace(more_pairs=more, reasons=(wide, missing, *comparison.reasons))
    seconds = more * pair_seconds if pair_seconds else 0.0
    limit = policy.machine_time if policy and seconds > policy.machine_time else 0.0
    ended: tuple[Reason, ...] = ()
    own = policy.time_for(comparison.row.benchmark) if policy else math.inf
    if seconds > own - taken:
        ended = (Reason(ReasonKind.OWN_TIME, (taken, own)),)
    elif not limit and policy and _is_hardly_slower(comparison, policy):
        ended = (Reason(ReasonKind.HARDLY_SLOWER),)
    pairs = Reason(ReasonKind.MORE_PAIRS, _known(more, seconds, limit, quiet))
    return comparison._replace(more_pairs=more, reasons=(wide, pairs, *ended, *comparison.reasons))


def _known(*facts: float) -> tuple[Fact, ...]:
    """Drop the unknown facts, which are 0, from the end."""
    return facts if not facts or facts[-1] else _known(*facts[:-1])


def _is_hardly_slower(comparison: Comparison, policy: Policy) -> bool:
    return comparison.pairs >= policy.base_pairs and comparison.pairs_to_slower == math.inf
