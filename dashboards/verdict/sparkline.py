"""Draw the last merged commits of a benchmark as a small line, with the value under test at its end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.text import change
from service.domain.verdict.inference.estimate import ratio_of
from service.domain.verdict.trend.line import summed_levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.verdict.trend.line import Step

COMMITS: Final = 30
WIDTH: Final = 96  # of the drawing, in its own units
HEIGHT: Final = 24
_ROOM: Final = 5  # for the mark, which is drawn around its place
_LEAST: Final = 0.01  # a drawing that spans less would make noise look like news


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A line in the drawing's units, the place of the value under test, and all of it in words.

    Around the level of the parent, differences up to ``floor_height`` below ``floor_top`` do not matter.
    """

    line: str
    x: float
    y: float
    parent_y: float
    floor_top: float
    floor_height: float
    words: str


def sparkline(
    steps: Sequence[Step], parent: str | None, ratio: float | None, floor: float
) -> Sparkline | None:
    """Draw merged commits, and a value at the level of its parent times its own ratio.

    Levels are sums of steps measured in pairs, so that neither drift nor another machine shows in them. A
    parent that is not among the commits counts as the last of them. Return None without steps or a ratio.

    Args:
        steps: of the commits before the value, the oldest first.
        parent: the commit that the value was compared with.
        ratio: of the value to that of the parent.
        floor: the share below which a difference does not matter.
    """
    if not steps or ratio is None or not 0 < ratio < math.inf:
        return None
    levels = summed_levels(steps)
    heights = [*levels.values()]
    base = levels.get(parent or "", heights[-1])
    value, reach = base + math.log(ratio), math.log1p(max(floor, _LEAST))
    top = max(*heights, value, base + reach)
    bottom = min(*heights, value, base - reach)

    def y(height: float) -> float:
        return round(_ROOM + (HEIGHT - 2 * _ROOM) * (top - height) / (top - bottom), 1)

    places = [round(k * (WIDTH - 2 * _ROOM) / len(heights), 1) for k in range(len(heights) + 1)]
    # A level holds until a commit changes it.
    corners = [(places[0], y(heights[0]))]
    for place, before, height in zip(places[1:], heights, [*heights[1:], heights[-1]], strict=True):
        corners += [(place, y(before))] if before == height else [(place, y(before)), (place, y(height))]
    band = math.log1p(floor)
    against = "the parent" if parent in levels else "the last of them"
    least, most = (change(ratio_of(end - base)) for end in (min(heights), max(heights)))
    span = f"at {least}" if least == most else f"between {least} and {most}"
    commits = f"the last {len(steps)} merged commits were" if len(steps) > 1 else "the last merged commit was"
    return Sparkline(
        line=" ".join(f"{x:g},{height:g}" for x, height in corners),
        x=WIDTH - _ROOM,
        y=y(value),
        parent_y=y(base),
        floor_top=y(base + band),
        floor_height=round(y(base - band) - y(base + band), 1),
        words=f"Against {against}, {commits} {span}; this is {change(ratio)}",
    )
