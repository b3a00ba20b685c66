"""The chart of a known failure: for each of 30 days, the share of builds that had it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.failures.reading import DayRow

DAYS: Final = 30
WIDTH, HEIGHT = 600.0, 120.0
_GAP: Final = 3.0
_LEAST: Final = 2.0  # a day with builds and without the failure is still seen


@dataclass(frozen=True, slots=True)
class Bar:
    """One day: its place in the drawing, and the text that describes it."""

    x: float
    y: float
    width: float
    height: float
    text: str
    has_failed: bool


def bars_of(days: Sequence[DayRow], today: date) -> tuple[Bar, ...]:
    """Lay out the bars of the last 30 days; a day without builds has none. A full bar is 100 %."""
    by_day = {each.day: each for each in days}
    step = WIDTH / DAYS
    bars = []
    for place in range(DAYS):
        row = by_day.get(today - timedelta(days=DAYS - 1 - place))
        if row is None or not row.builds:
            continue
        height = max(_LEAST, HEIGHT * row.failed / row.builds)
        words = f"{row.day:%d %b}: {row.failed} of {row.builds} builds"
        bars.append(Bar(step * place, HEIGHT - height, step - _GAP, height, words, bool(row.failed)))
    return tuple(bars)
