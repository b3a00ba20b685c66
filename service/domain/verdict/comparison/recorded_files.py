"""Withhold verdicts that recorded files cannot support: too few launches, or launches in blocks."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import repeat
from typing import TYPE_CHECKING

from service.domain.measuring.metric import RATES, metric_named, own_clock
from service.domain.verdict.comparison.work_rate import is_same_work
from service.domain.verdict.inference.estimate import ratio_of
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from service.domain.measuring.formats.columns import Columns
    from service.domain.measuring.formats.reader import GBenchRun


def are_in_blocks(base: Sequence[GBenchRun], patch: Sequence[GBenchRun]) -> bool:
    """Return whether the dates in the files show that one side ran completely before the other.

    Dates have whole seconds, so only a later one proves an order. Files without a readable date or with equal
    dates are taken for pairs, and so is one file per side.
    """
    if min(len(base), len(patch)) < 2:  # noqa: PLR2004 - one launch is no block
        return False
    sides = [[date_of(run) for run in runs] for runs in (base, patch)]
    before, after = ([date for date in side if date is not None] for side in sides)
    if None in (*sides[0], *sides[1]) or len({date.tzinfo is None for date in (*before, *after)}) > 1:
        return False
    return max(before) < min(after) or max(after) < min(before)


def date_of(run: GBenchRun) -> datetime | None:
    """Read the date of a launch; None if it is missing or not in the library's format."""
    try:
        return datetime.fromisoformat(run.context.get("date", ""))
    except ValueError:
        return None


def compare_lone_pair(base: Columns, patch: Columns) -> dict[str, list[Comparison]]:
    """Compare the benchmarks of two files by their own clocks; one pair leaves all of them undecided.

    Benchmarks that did other work are left to :func:`service.domain.verdict.comparison.suite.compare_suites`.
    """
    metrics = {name: metric_named(name) for name in ("cpu_time", "real_time")}
    reasons = (Reason(ReasonKind.ONE_LAUNCH),)
    in_base = dict(zip(base.names, _times_and_rate(base), strict=True))
    found: dict[str, list[Comparison]] = {}
    for name, after in zip(patch.names, _times_and_rate(patch), strict=True):
        before = in_base.get(name)
        if before is None:
            continue
        clock = own_clock(name)
        one, other = (before[0], after[0]) if clock == "cpu_time" else (before[1], after[1])
        if before[2] and after[2] and not is_same_work(before[2] * one, after[2] * other):
            continue
        ratio = ratio_of(math.log(other) - math.log(one))
        row = ComparedRow("", name, metrics[clock])
        found[name] = [Comparison(row, Verdict.UNDECIDED, 1, ratio, None, one, other, reasons)]
    return found


def _times_and_rate(columns: Columns) -> Iterable[tuple[float, float, float]]:
    """Yield the CPU time, real time and rate of items of each row; the rate is 0 if not reported."""
    values = columns.values
    rates = values.get(RATES[0], repeat(0.0, len(columns.names)))
    return zip(values["cpu_time"], values["real_time"], rates, strict=True)


def as_recorded(found: Comparison, failing: Collection[str]) -> Comparison:
    """Blame the patch only for what its files state.

    A benchmark that is missing from files may have been left out by a filter, unlike one that a program does
    not list. ``failing`` are the benchmarks that failed in the patch.
    """
    if found.verdict is Verdict.REMOVED:
        return found._replace(verdict=Verdict.UNDECIDED, reasons=(Reason(ReasonKind.BASE_ONLY),))
    if found.verdict is Verdict.BROKEN and found.row.benchmark not in failing:
        return found._replace(verdict=Verdict.UNDECIDED)
    return found


def withheld(found: Comparison, *, launches: int, in_blocks: bool) -> Comparison:
    """Make a comparison undecided if one launch or launches in blocks cannot support its verdict.

    A counter that repeated exactly stays decided, because it needs no spread.
    """
    is_point = found.interval is not None and found.interval[0] == found.interval[1]
    is_exact = is_point and found.verdict.is_decided and not found.row.metric.is_speed
    if found.pairs == 0 or is_exact or not (launches == 1 or in_blocks):
        return found
    one = ReasonKind.ONE_LAUNCH if found.row.metric.is_speed else ReasonKind.ONE_COUNT
    reason = Reason(ReasonKind.BLOCKS if in_blocks else one)
    return found._replace(verdict=Verdict.UNDECIDED, interval=None, reasons=(reason,))
