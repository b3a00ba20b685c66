"""Judge rows that a side reports in some pairs only: broken, new, failing or undecided.

A side *answers* in a pair if its launch reports a usable value; an error, a skip, an unusable result or a
missing row is no answer. If the patch changes nothing, both sides fail equally often, and because the launch
order is random, a pair that only one side answers is as likely the base's as the patch's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.measuring.metric import Better
from service.domain.values.identity import Side
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from service.domain.measuring.launch import Launch
    from service.domain.measuring.metric import Metric
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison

# Probability, over all looks, to call a row broken although its sides fail alike. Thirteen pairs that only
# the parent answers, and none that only the patch does, are less likely.
BROKEN_ERROR: Final = 2.0**-10
_FAR_WORSE: Final = 1e6  # times: above any measured ratio
_MISSING: Final = MappingProxyType({Side.BASE: ReasonKind.NOT_IN_BASE, Side.PATCH: ReasonKind.NOT_IN_PATCH})
_FAILS: Final = MappingProxyType({Side.BASE: ReasonKind.FAILS_IN_BASE, Side.PATCH: ReasonKind.FAILS})


@dataclass(frozen=True, slots=True)
class Answers:
    """Sides that answered in each pair that launched a row, base first.

    ``why`` has, by side, what the last launch without an answer reported instead. ``asked`` counts the pairs
    that were to measure the row; it differs from the length of ``pairs`` only if no launch reported anything.
    """

    row: ComparedRow
    pairs: Sequence[tuple[bool, bool]]
    why: Mapping[Side, Reason]
    asked: int

    def settle(self, least: int) -> Comparison | None:
        """Judge a row that one side never answers; None if both do.

        A verdict needs ``least`` launches: a program that fails in half of its launches fails in the first
        five of one side, and in none of the other, in one of 1,000 sequences.
        """
        base, patch = (sum(side) for side in zip(*self.pairs, strict=True)) if self.pairs else (0, 0)
        if base and patch:
            return None
        if not base and not patch:
            if self.asked < least:
                return self.row.without_pairs(Verdict.UNDECIDED, ReasonKind.NO_PAIR)
            words = self._words(Side.PATCH) or self._words(Side.BASE)
            return self.row.without_pairs(Verdict.FAILING, ReasonKind.FAILS_ON_BOTH, *words)
        if not base:
            verdict = Verdict.NEW if len(self.pairs) >= least else Verdict.UNDECIDED
            return self._judged(verdict, self.why[Side.BASE])
        if base == len(self.pairs) >= least or self._is_broken(len(self.pairs)):
            return self._judged(Verdict.BROKEN, self.why[Side.PATCH])
        return self._judged(Verdict.UNDECIDED, self._only_patch_fails(len(self.pairs)))

    def qualify(self, found: Comparison, as_slowest: Callable[[], Comparison]) -> Comparison:
        """Revise the verdict on a row that the patch fails to answer in some pairs that the parent answers.

        The patch's failures select the complete pairs, so these prove ``slower`` and nothing else. Only the
        pairs up to the deciding one count: a decided row is not launched again. A parent that also fails now
        and then excuses the patch, unless the patch is slower when each failure of one side alone counts as
        its slowest launch, as ``as_slowest`` compares.
        """
        decided_after = self._position(found.pairs) if found.verdict.is_decided else len(self.pairs)
        if found.verdict is Verdict.SLOWER or not self._alone(decided_after)[0]:
            return found
        last = len(self.pairs)
        is_of_patch = not self._alone(last)[1] or as_slowest().verdict is Verdict.SLOWER
        reason = self._only_patch_fails(last) if is_of_patch else self._fails_sometimes(last)
        if self._is_broken(last):
            return found._replace(verdict=Verdict.BROKEN, reasons=(reason,))
        return found._replace(verdict=Verdict.UNDECIDED, reasons=(reason, *found.reasons))

    def _is_broken(self, first: int) -> bool:
        """Return whether the ``first`` pairs prove that the patch fails more often than the parent.

        If both fail alike, each pair that one side alone answers is either side's with equal probability. The
        likelihood ratio of shares above one half, drawn uniformly, to one half is then a martingale. It ever
        exceeds 1 ÷ :data:`BROKEN_ERROR` with at most that probability, however often one looks (Ville, "Étude
        critique de la notion de collectif", 1939). For k pairs of n it is

            2 ∫ (2p)ᵏ (2 − 2p)ⁿ⁻ᵏ dp  over ½ < p < 1   =   Σ C(n + 1, j) ÷ ((n + 1) C(n, k))  over j ≤ k.
        """
        only_base, only_patch = self._alone(first)
        alone = only_base + only_patch
        weights = sum(comb(alone + 1, j) for j in range(only_base + 1))
        return weights * BROKEN_ERROR >= (alone + 1) * comb(alone, only_base)

    def _alone(self, first: int) -> tuple[int, int]:
        """Count, in the ``first`` pairs, those that only the base and those that only the patch answers."""
        seen = self.pairs[:first]
        return sum(b and not p for b, p in seen), sum(p and not b for b, p in seen)

    def _position(self, complete: int) -> int:
        """Count the pairs up to the ``complete``-th complete one."""
        found = 0
        for position, both in enumerate(self.pairs, 1):
            found += all(both)
            if found == complete:
                return position
        return len(self.pairs)

    def _only_patch_fails(self, first: int) -> Reason:
        return Reason(ReasonKind.ONLY_PATCH_FAILS, (self._alone(first)[0], first, *self._words(Side.PATCH)))

    def _fails_sometimes(self, first: int) -> Reason:
        failed = sum(not p for _, p in self.pairs[:first])
        return Reason(ReasonKind.FAILS_SOMETIMES, (str(Side.PATCH), failed, first, *self._words(Side.PATCH)))

    def _words(self, side: Side) -> tuple[str, ...]:
        why = self.why[side]
        return () if why.kind in _MISSING.values() else (str(why.facts[-1]),)

    def _judged(self, verdict: Verdict, reason: Reason) -> Comparison:
        return self.row.without_pairs(verdict, reason.kind, *reason.facts)


def failures_as_slowest(
    metric: Metric, base: Sequence[float | None], patch: Sequence[float | None]
) -> tuple[list[float | None], list[float | None]]:
    """Give the failing side of a pair that only the other side answers a value far worse than the other's.

    If the patch changes nothing, either side fails with equal probability, so the test stays exact.
    """
    worse = _FAR_WORSE if metric.better is Better.LOWER else 1 / _FAR_WORSE
    pairs = [
        (p * worse if b is None and p is not None else b, b * worse if p is None and b is not None else p)
        for b, p in zip(base, patch, strict=True)
    ]
    return [b for b, _ in pairs], [p for _, p in pairs]


def why_no_answer(
    benchmark: str, label: str, launches: Mapping[Side, Iterable[Launch]]
) -> dict[Side, Reason]:
    """Find why each side gives no answer: an error, an unusable result, or a missing metric."""
    found = {side: Reason(kind, (label,)) for side, kind in _MISSING.items()}
    for side, ours in launches.items():
        for each in ours:
            if benchmark in each.errors:
                found[side] = Reason(_FAILS[side], (each.errors[benchmark],))
            elif benchmark in each.lost:
                found[side] = Reason(ReasonKind.UNUSABLE, (str(side), each.lost[benchmark]))
    return found
