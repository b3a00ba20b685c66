"""Limits of recorded files, however clear they look: too few launches, and launches in blocks."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from service.domain.inference.reasons import Reason, ReasonKind
from service.domain.inference.verdict import Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.domain.gbench.reader import GBenchRun


def are_in_blocks(base: Sequence[GBenchRun], patch: Sequence[GBenchRun]) -> bool:
    """Whether one side was launched as a whole before the other, by the dates in the files.

    Dates count whole seconds: only a later one proves an order. Files without a readable date, or with the
    same one, are taken for pairs, and so is one file a side.
    """
    if min(len(base), len(patch)) < 2:  # noqa: PLR2004 - one launch is no block
        return False
    sides = [[date_of(run) for run in runs] for runs in (base, patch)]
    before, after = ([date for date in side if date is not None] for side in sides)
    if None in (*sides[0], *sides[1]) or len({date.tzinfo is None for date in (*before, *after)}) > 1:
        return False
    return max(before) < min(after) or max(after) < min(before)


def date_of(run: GBenchRun) -> datetime | None:
    """When the launch began; None where the file does not say it in a form that the library writes."""
    try:
        return datetime.fromisoformat(str(run.context.get("date")))
    except ValueError:
        return None


def as_recorded(found: Comparison, failing: Collection[str]) -> Comparison:
    """A comparison that blames the patch only for what its files state.

    A program that lists its benchmarks shows that one is gone; files do not, for nobody knows which were
    chosen. ``failing`` are the benchmarks that failed in the patch.
    """
    if found.verdict is Verdict.REMOVED:
        return found._replace(verdict=Verdict.UNDECIDED, reasons=(Reason(ReasonKind.BASE_ONLY),))
    if found.verdict is Verdict.BROKEN and found.row.benchmark not in failing:
        return found._replace(verdict=Verdict.UNDECIDED)
    return found


def withheld(found: Comparison, *, launches: int, in_blocks: bool) -> Comparison:
    """The comparison, undecided where the way of launching cannot carry a verdict.

    What repeated exactly needs no spread: it stays decided.
    """
    if found.pairs == 0 or _is_exact(found) or not (launches == 1 or in_blocks):
        return found
    one = ReasonKind.ONE_LAUNCH if found.row.metric.is_speed else ReasonKind.ONE_COUNT
    reason = Reason(ReasonKind.BLOCKS if in_blocks else one)
    return found._replace(verdict=Verdict.UNDECIDED, interval=None, reasons=(reason,))


def _is_exact(found: Comparison) -> bool:
    is_point = found.interval is not None and found.interval[0] == found.interval[1]
    return is_point and found.verdict.is_decided and not found.row.metric.is_speed
