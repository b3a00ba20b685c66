"""Decide counters that repeat exactly by their first pairs, with no spread to estimate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from service.domain.verdict.inference.signed_ranks import least_pairs
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict, one_sided_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.project.policy import Policy

EXACT_SHARE: Final = 0.05  # of a row's error, on top of that of its looks: a counter counts as 1.05 rows
_REPEATED: Final = 2  # pairs: one launch does not show that a value repeats


def exact_looks(policy: Policy, family: float) -> tuple[int, ...]:
    """List the numbers of pairs after which a counter is checked for exact repetition.

    They are fixed before the first launch. The first look can only decide ``same``; the last is the earliest
    that can prove a difference.
    """
    independent = math.ceil(math.log(2 / one_sided_error(policy, family, EXACT_SHARE), 4))
    by_order = least_pairs(one_sided_error(policy, 1, EXACT_SHARE))
    return tuple(dict.fromkeys((_REPEATED, max(_REPEATED, independent, by_order))))


def compare_exactly(
    row: ComparedRow,
    pairs: Sequence[tuple[float, float]],
    schedule: Sequence[int],
    policy: Policy,
    family: float,
) -> Comparison | None:
    """Judge a counter that was constant on each side so far; None if that does not decide it.

    Values that differ by at most the floor are the same. A larger difference counts once chance cannot
    explain it. Independent launches of one program, whatever their distribution, give one value n times on
    one side and a worse one n times on the other with probability

        Σ (pₐ·p_b)ⁿ ≤ max(pₐ·p_b)ⁿ⁻¹ · Σ pₐ·p_b ≤ (1/4)ⁿ⁻¹ / 2 = 2 · 4⁻ⁿ        (a < b)

    which must be at most ``EXACT_SHARE`` of the row's error, so that a counter with two random values is not
    taken for a change. A counter that depends on which side is launched first, such as a count of created
    files, is worse on one side n times with probability 2⁻ⁿ. All such counters follow the same random order,
    so this must be at most ``EXACT_SHARE`` of the whole family's error.

    Args:
        row: its metric is neither a time nor a rate.
        pairs: complete pairs in order, base first, up to the first launch with unequal repetitions.
        schedule: the numbers of pairs to look at, rising.
        policy: the floor and the false-alarm rate.
        family: the number of hypotheses.
    """
    of_row, of_family = (one_sided_error(policy, each, EXACT_SHARE) for each in (family, 1))
    for n in schedule:
        first = pairs[:n]
        if not first or len(first) < n or len(set(first)) > 1:
            return None
        base, patch = first[0]
        verdict = _decide(row, base, patch, policy)
        is_proof = 2.0 * 4.0**-n <= of_row and 2.0**-n <= of_family
        if verdict is Verdict.SAME or (verdict.is_decided and is_proof):
            ratio = 1.0 if base == patch else patch / base
            return Comparison(row, verdict, n, ratio, (ratio, ratio), base, patch)
    return None


def _decide(row: ComparedRow, base: float, patch: float, policy: Policy) -> Verdict:
    if base == patch:
        return Verdict.SAME
    if base <= 0 or patch <= 0:  # zero has no ratio
        return Verdict.UNDECIDED
    moved = math.log(patch) - math.log(base)
    if abs(moved) <= math.log1p(policy.floor):
        return Verdict.SAME
    return Verdict.of_change(row.metric, is_up=moved > 0)
