"""The second opinion on a slow-down: a fresh sequence of pairs, which may lift a −1 once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.project.policy import Policy
    from service.domain.verdict.inference.verdict import Comparison

_LIFTING: Final = frozenset({Verdict.SAME, Verdict.FASTER})


def second_opinion(first: Comparison, second: Comparison, policy: Policy, launched: int) -> Comparison:
    """Judge a slower row by a second sequence of the same programs.

    The row is lifted to ``undecided`` if three things hold: the second sequence launched it in as many pairs
    as the first has, finds it the same or faster, and both together estimate less than what votes. Otherwise
    the row stays ``slower``, also if the second sequence is undecided. It keeps the ratio, interval and pairs
    of the first sequence; the reason has the result of the second.

    * **False alarms.** A row is ``slower`` only if it was before, so no bound rises. A false alarm is mostly
      lifted, because the second sequence of an unchanged benchmark is mostly ``same``.
    * **Missed changes.** A change of ``same_within`` is lifted with a probability of at most 5 %, that of a
      wrong ``same``. A sequence has one second opinion, so nobody can repeat it until it lifts a −1.

    Args:
        first: the row that votes −1.
        second: the same row by the pairs of :data:`SECOND`.
        policy: the size that votes.
        launched: the pairs of :data:`SECOND` in which the row was launched. A pair in which the parent gave
            no answer is one of them: it is not launched again, and the patch is not to blame.
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
    """By suite, the benchmarks of slow-downs that rest on more pairs than the second opinion has so far."""
    wanted: dict[str, dict[str, None]] = {}
    for row in first:
        if pairs < row.pairs:
            wanted.setdefault(row.row.suite, {})[row.row.benchmark] = None
    return {suite: tuple(names) for suite, names in wanted.items()}


def _pooled(first: Comparison, second: Comparison) -> float:
    """The worsening by all pairs: the log ratios of both sequences, weighted by their pairs."""
    known = [(each.pairs, math.log(each.ratio)) for each in (first, second) if each.ratio]
    pairs = sum(count for count, _ in known)
    log = sum(count * ratio for count, ratio in known) / pairs if pairs else 0.0
    return first._replace(ratio=math.exp(log)).worsening
