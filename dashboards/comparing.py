"""Which comparisons a table shows, in which order, and where their intervals are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.inference.metric import metric_named
from service.domain.text import change, interval, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.search import Words
    from service.ports.views import ComparisonView

SIGNIFICANT: Final = "significant"
ALL: Final = "all"
MOST_ROWS: Final = 1000  # a page of more is neither read nor drawn
# Worst first. What no number tells apart keeps the project file's order.
_ORDER: Final = ("broken", "removed", "slower", "undecided", "faster", "new", "same")
_INSIGNIFICANT: Final = frozenset({"same", "undecided"})
# Never colour alone: each verdict has a sign and a word of its own.
_SIGNS: Final[Mapping[str, str]] = {
    "slower": "▼",
    "faster": "▲",
    "same": "=",
    "undecided": "?",
    "new": "+",
    "removed": "−",
    "broken": "✕",
}
_NARROWEST: Final = 0.03  # a scale that makes noise of less look like news helps nobody
_WIDEST: Final = 1.0  # no time and no rate can fall by more
WIDTH: Final = 240  # of the drawing, in its own units


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval on the drawing, in its own units; an end that lies outside is cut off and says so."""

    left: float
    right: float
    centre: float
    is_cut_left: bool
    is_cut_right: bool
    is_centre_cut: bool


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A comparison as a row of the table."""

    view: ComparisonView
    name: str
    metric: str
    sign: str
    change: str
    interval: str
    better: str
    bar: Bar | None
    reason: str


@dataclass(frozen=True, slots=True)
class Table:
    """The comparisons of a build as shown. ``counts`` are over all rows that match the search."""

    rows: tuple[ShownRow, ...]
    total: int
    hidden: int
    counts: Mapping[str, int]
    scale: float
    floor_left: float
    floor_right: float


def lay_out(comparisons: Sequence[ComparisonView], show: str, words: Words, floor: float) -> Table:
    """The table of a build.

    Args:
        comparisons: all of the build.
        show: ``significant``, ``all``, or one verdict.
        words: what names must and must not hold.
        floor: the share below which differences are no news; drawn as a band.
    """
    found = [row for row in comparisons if words.matches(f"{row.benchmark} {row.metric} {row.suite}")]
    counts = {verdict: sum(row.verdict == verdict for row in found) for verdict in _ORDER}
    chosen = sorted((row for row in found if _is_shown(row, show)), key=urgency)[:MOST_ROWS]
    scale = _scale(chosen)
    return Table(
        rows=tuple(_shown(row, scale) for row in chosen),
        total=len(comparisons),
        hidden=len(found) - len(chosen),
        counts={verdict: count for verdict, count in counts.items() if count},
        scale=scale,
        floor_left=_place(-floor, scale),
        floor_right=_place(floor, scale),
    )


def sign_of(verdict: str) -> str:
    """The sign that stands for a verdict."""
    return _SIGNS.get(verdict, "·")


def urgency(row: ComparisonView) -> tuple[int, float]:
    """What orders comparisons worst first."""
    order = _ORDER.index(row.verdict) if row.verdict in _ORDER else len(_ORDER)
    return order, -abs(row.ratio - 1) if row.ratio is not None else 0.0


def interval_of(row: ComparisonView) -> str:
    """The interval of a comparison; empty where it has none."""
    return "" if row.low is None or row.high is None else interval(row.low, row.high, row.ratio)


def _is_shown(row: ComparisonView, show: str) -> bool:
    if show == ALL:
        return True
    return row.verdict == show if show in _SIGNS else row.verdict not in _INSIGNIFICANT


def _scale(rows: Sequence[ComparisonView]) -> float:
    # Three quarters of all ends fit: one huge effect must not squeeze all others into a line.
    ends = sorted(abs(end - 1) for row in rows for end in (row.low, row.high) if end is not None)
    wanted = ends[(len(ends) - 1) * 3 // 4] * 1.25 if ends else 0.0
    return min(max(_NARROWEST, wanted), _WIDEST)


def _place(share: float, scale: float) -> float:
    return round(WIDTH / 2 * (1 + max(-1.0, min(share / scale, 1.0))), 1)


def _shown(row: ComparisonView, scale: float) -> ShownRow:
    return ShownRow(
        view=row,
        name=plain(row.benchmark, 500),
        metric=plain(metric_named(row.metric).label, 100),
        sign=sign_of(row.verdict),
        change="" if row.ratio is None else change(row.ratio),
        interval=interval_of(row),
        better=f"{row.better} is better",
        bar=_bar(row, scale),
        reason=plain(row.reason, 300),
    )


def _bar(row: ComparisonView, scale: float) -> Bar | None:
    if row.ratio is None:
        return None
    low = row.ratio if row.low is None else row.low
    high = row.ratio if row.high is None else row.high
    return Bar(
        left=_place(low - 1, scale),
        right=_place(high - 1, scale),
        centre=_place(row.ratio - 1, scale),
        is_cut_left=low - 1 < -scale,
        is_cut_right=high - 1 > scale,
        is_centre_cut=abs(row.ratio - 1) > scale,
    )
