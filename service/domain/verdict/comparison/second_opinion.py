"""Give a second opinion on a slow-down: a fresh sequence of pairs, which may lift a −1 once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict, by_suite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.project.policy import Policy
    from service.domain.verdict.inference.verdict import Comparison

_LIFTING: Final = frozenset({Verdict.SAME, Verdict.FASTER})


def second_opinion(first: Comparison, second: Comparison, policy: Policy, launched: int) -> Comparison:
    """Judge a slower row by a second sequence of the same programs.

    The row becomes ``undecided`` if the second sequence launched it in as many pairs as the first has, finds
    it the same or faster, and both together estimate less than what votes. Otherwise it stays ``slower``,
    even if the second sequence is undecided. It keeps the ratio, interval and pairs of the first sequence;
    the reason has the result of the second.

    * **False alarms.** Only a row that was ``slower`` before can be ``slower`` here, so the error does not
      rise. Most false alarms are lifted: the second sequence of an unchanged benchmark is mostly ``same``.
    * **Missed changes.** A change of ``same_within`` is lifted with a probability of at most 5 %, that of a
      wrong ``same``. A sequence has one second opinion, so nobody can repeat it until it lifts a −1.

    Args:
        first: the row that votes −1.
        second: the same row by the pairs of :data:`SECOND`.
        policy: has the size that votes.
        launched: the pairs of :data:`SECOND` that launched the row, including those that the parent did not
            answer: they are not repeated, and the patch is not to blame.
    """
    if first.verdict is not Verdict.SLOWER:
        return first
    facts = (str(second.verdict), second.pairs, *(() if second.ratio is None else (second.ratio,)))
    is_lifted = second.verdict in _LIFTING and launched >= first.pairs
    if is_lifted and _pooled(first, second) < policy.votes_from(first.row.benchmark):
        reason = Reason(ReasonKind.SECOND_LIFTS, facts)
        return first._replace(verdict=Verdict.UNDECIDED, reasons=(reason, *first.reasons))
    return first._replace(reasons=(*first.reasons, Reason(ReasonKind.SECOND_STANDS, facts)))


def wanted_again(first: Iterable[Comparison], pairs: int) -> dict[str, tuple[str, ...]]:
    """Map each suite to its slow-downs that have more pairs than the second opinion has so far."""
    return by_suite(row for row in first if pairs < row.pairs)


def _pooled(first: Comparison, second: Comparison) -> float:
    """Estimate the worsening by both sequences: their log ratios, weighted by their pairs."""
    known = [(each.pairs, math.log(each.ratio)) for each in (first, second) if each.ratio]
    pairs = sum(count for count, _ in known)
    log = sum(count * ratio for count, ratio in known) / pairs if pairs else 0.0
    return first._replace(ratio=math.exp(log)).worsening
