"""Decide whether a slower row may vote −1, by the build's control and the machine's history.

The *control* of a row is the parent, measured against itself in the same build. Apart from chance, only the
machine can make it slower, and a history of A/A sessions shows nothing else. So a clean control stands in for
a history that is still missing.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.measuring.metric import Better
from service.domain.project.policy import MOST_PAIRS
from service.domain.values.identity import Side
from service.domain.verdict.inference.estimate import estimate_of, ratio_of, spread_of
from service.domain.verdict.inference.reasons import Fact, Reason, ReasonKind, has_kind
from service.domain.verdict.inference.signed_ranks import capped_rank_tail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.measuring.launch import Launch
    from service.domain.verdict.calibration.evidence import Session, VotingStatus
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison

# A slow-down that surely exceeds this votes without a history: no machine was seen to cause one by itself.
FAR: Final = math.log(1.25)
FAR_SHARE: Final = 3.0  # times the largest estimate in the machine's own sessions of the series
LEAST_PAIRS: Final = 8  # of a control: five cannot reach the error below, and trimming drops none of them
# Standard errors of a control's mean in the near end of the interval, so that the signed-rank test finds a
# difference as large as that in 19 of 20 cases, simulated with 35 to 139 normal pairs.
REACH: Final = 4.7
ENOUGH: Final = 0.75  # of its pairs: a parent that sometimes gives no result has a control, too
ERROR: Final = 1 / 64  # of calling the parent slower than itself, for each row; as with relinks
UNCERTAIN: Final = 0.05  # of missing what the machine does by itself
EXPLAINED: Final = 0.5  # of the slow-down: less leaves most of it to the patch
_ROUNDING: Final = 1e-12  # of logarithms: pairs with two modes give both the same end
_SHOWN_ERROR: Final = 0.025  # of each end of the interval that is shown
_OF_NOISE: Final = frozenset({ReasonKind.NOISY, ReasonKind.FAR_OFF})


@dataclass(frozen=True, slots=True)
class Control:
    """Pairs of the parent with itself, of one row, all of the machine that found the row.

    ``is_kept_in_place``: the program was too large to be copied for each pair.
    """

    session: Session
    is_kept_in_place: bool = False
    machine: str = ""

    def covers(self, row: Comparison) -> bool:
        """Return whether it has enough of the pairs that the row has."""
        return len(self.session.logs) >= max(LEAST_PAIRS, ENOUGH * control_pairs(row, self))

    def explains(self, row: Comparison, error: float = ERROR) -> bool:
        """Return whether the sides differ by themselves so much that a slower row proves nothing.

        The signed-rank test calls the parent slower than itself at this error, by at least half of the
        nearest end of the row's interval. If the sides do not differ, the launch order makes that as
        improbable as the error says, whatever the noise. If a constant difference of the sides alone made
        the row slower, it is hardly smaller than that near end, and :func:`control_pairs` find it.
        """
        sign = 1 if row.row.metric.better is Better.LOWER else -1
        logs = [sign * log for log in self.session.logs]
        is_slower = capped_rank_tail(logs) <= error
        return is_slower and estimate_of(logs).centre >= EXPLAINED * row.nearest

    def excludes(self, row: Comparison) -> bool:
        """Return whether it shows that the machine alone does not make the row as slow as it is.

        The slower end of its interval, which misses with :data:`UNCERTAIN`, is below the nearest end of the
        row's. Pairs with two modes can hide a difference from the test of :meth:`explains`, not from this.
        """
        low, high = estimate_of(self.session.logs).interval(UNCERTAIN)
        slower = high if row.row.metric.better is Better.LOWER else -low
        return slower + _ROUNDING < row.nearest

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The ratio of its sides, the ends of the interval, and the pairs."""
        found = estimate_of(self.session.logs)
        low, high = found.interval(_SHOWN_ERROR)
        return found.ratio, ratio_of(low), ratio_of(high), found.pairs


def control_pairs(row: Comparison, control: Control | None = None) -> int:
    """Compute how many pairs the control of a row gets, as far as it is known.

    At least as many as found the slow-down, and enough to find a difference as large as the near end of the
    interval in 19 of 20 cases. Loud pairs find a slow-down early if they vary little by luck, so the spread
    of the control's own pairs counts if it is larger.
    """
    spread = max(row.spread or 0.0, spread_of(control.session.logs) if control else 0.0)
    loud = (REACH * spread / row.nearest) ** 2 if row.nearest else 0.0
    return max(LEAST_PAIRS, row.pairs, math.ceil(min(loud, MOST_PAIRS)))


def pairs_wanted(row: Comparison, control: Control | None = None) -> int:
    """Compute how many pairs a control gets while there is time: :func:`control_pairs`, or more.

    More, and at most twice those that it has, if its interval is too wide to exclude the row in 19 of 20
    cases in which the machine does nothing. Its width decides about that, and not its centre, so
    that a control is not measured until it suits.
    """
    least = control_pairs(row, control)
    if control is None or len(control.session.logs) < least or row.nearest <= 0:
        return least
    found = estimate_of(control.session.logs)
    low, high = found.interval(UNCERTAIN)
    missing = (high - low) / row.nearest  # of one half each for the interval and for the centre
    return max(least, math.ceil(min(found.pairs * min(missing**2, 2.0), MOST_PAIRS)))


def missing_in_control(pairs: Mapping[Comparison, int], launches: Sequence[Launch]) -> dict[Comparison, int]:
    """Return how many of its ``pairs`` each row lacks in these launches of the control, if it lacks any."""
    launched = Counter(
        (each.suite, name)
        for each in launches
        if each.side is Side.BASE
        for name in {*each.values, *each.errors, *each.lost}
    )
    missing = {row: count - launched[row.row.suite, row.row.benchmark] for row, count in pairs.items()}
    return {row: count for row, count in missing.items() if count > 0}


def withheld_rows(
    statuses: Mapping[Comparison, VotingStatus], controls: Mapping[ComparedRow, Control]
) -> dict[ComparedRow, Reason]:
    """Find why slower rows of a build may not vote −1; those that may are left out.

    If the control of one of them is not clean, none stands in for a history: a machine that favours a side
    does so for others too, and one of many may seem clean by chance. One of many may also seem not clean by
    chance, so all controls share :data:`ERROR` for this.
    """
    found = {row: control for row in statuses if (control := controls.get(row.row)) is not None}
    error = ERROR / max(len(found), 1)
    are_clean = not any(
        control.session.is_alarm or (control.covers(row) and control.explains(row, error))
        for row, control in found.items()
    )
    reasons = {
        row.row: why_withheld(status, row, found.get(row), are_clean=are_clean)
        for row, status in statuses.items()
    }
    return {row: reason for row, reason in reasons.items() if reason is not None}


def why_withheld(
    status: VotingStatus, row: Comparison, control: Control | None = None, *, are_clean: bool = True
) -> Reason | None:
    """Find why a slower row may not vote −1, by the history of its series and its control; None if it may.

    * A control that explains the row withholds the vote.
    * A history of enough sessions without repeated alarms suffices, with or without a control. It is without
      the sessions of the build's own sequence, so that judging it again changes nothing.
    * A row far beyond needs neither: the near end of its interval is at least :data:`FAR` and
      :data:`FAR_SHARE` times the largest estimate of a session or of its control. After enough sessions the
      second condition suffices, however noisy the pairs are.
    * Otherwise a control without an alarm that excludes the row suffices if all of the build ``are_clean``,
      but not for a series that is suspended: its alarms outweigh it.
      If the programs are too large to be copied for each pair, relinked ones must have confirmed the row as
      well, because a place in memory was drawn only once for each side.

    Layout is checked elsewhere: relinks confirmed the row, or it is too large for a layout effect.
    """
    known = control if control is not None and control.covers(row) else None
    if known is not None and known.explains(row):
        return Reason(ReasonKind.OWN_DIFFERENCE, known.facts)
    largest = max(status.largest, control.session.size if control else 0.0)
    why = status.why_not
    # Noise costs power, and more pairs restore it; it is no reason to distrust what the pairs prove.
    if why is None or _is_far(row, 0.0 if why.kind in _OF_NOISE else FAR, largest):
        return None
    if control is None or why.kind is ReasonKind.SUSPENDED:
        return why
    if control.session.is_alarm:
        return Reason(ReasonKind.OWN_DIFFERENCE, control.facts)
    is_drawn_once = control.is_kept_in_place and not has_kind(row.reasons, {ReasonKind.LAYOUT_CONFIRMED})
    if known is None or is_drawn_once:
        return why
    cause = None if are_clean else Reason(ReasonKind.OTHER_CONTROL)
    return cause if known.excludes(row) else Reason(ReasonKind.OPEN_CONTROL, known.facts)


def _is_far(row: Comparison, least: float, largest: float) -> bool:
    return row.nearest > 0 and row.nearest >= max(least, FAR_SHARE * largest)
