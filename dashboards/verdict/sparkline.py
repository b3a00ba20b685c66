"""Draw where the last merged commits changed a benchmark, with the value under test at its end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar, Final

from dashboards.verdict.comparison_table import word_of
from service.domain.values.text import change
from service.domain.verdict.inference.estimate import ratio_of
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.line import followed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.verdict.trend.line import Step
    from service.ports.verdict import Comparison

COMMITS: Final = 30
ROWS: Final = 50  # of a table: nobody looks at the lines of more
_ROOM: Final = 5  # for the mark, which is drawn around its place
_GAP: Final = 3
_LEAST: Final = 0.01  # a drawing that spans less would make nothing look like news
_MEASURED: Final = frozenset({Verdict.SAME, Verdict.SLOWER, Verdict.FASTER, Verdict.UNDECIDED})
_MOVED: Final = (Verdict.SLOWER, Verdict.FASTER)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A path in the drawing's units, and all of it in words.

    The value under test is drawn at ``y`` and its parent at ``parent_y``; None: nobody knows how far from
    the commits they are.
    """

    WIDTH: ClassVar[int] = 96
    HEIGHT: ClassVar[int] = 24
    X: ClassVar[int] = WIDTH - _ROOM  # of the value

    path: str
    parent_y: float | None
    y: float | None
    words: str


def sparkline(steps: Sequence[Step], row: Comparison, parent: str | None, floor: float) -> Sparkline | None:
    """Draw the verdicts on merged commits, and a value at the level of its parent times its own ratio.

    Only commits that are slower or faster move the line: a sum of estimates that decide nothing walks at
    random. The line breaks where a commit was not measured, and goes on at the same level. Commits that were
    set back are left out, and of several measurements of a commit the newest counts.

    Args:
        steps: of the commits before the value, the oldest first.
        row: the value.
        parent: the commit that the value was compared with.
        floor: the share below which a difference does not matter.

    Returns:
        None without a ratio, or if no commit was measured.
    """
    made = {(each.parent, each.revision): each for each in steps if _is_measured(each)}
    line = followed(steps)
    walked = [made.get(pair) for pair in pairwise(line)]
    if not any(walked) or row.ratio is None or not 0 < row.ratio < math.inf:
        return None
    heights = [*accumulate(map(_moved_by, walked), initial=0.0)]
    base = dict(zip(line, heights, strict=True)).get(parent or "")
    value = heights[-1] if base is None else base + math.log(row.ratio)
    middle, reach = heights[-1] if base is None else base, math.log1p(max(floor, _LEAST))
    top, bottom = max(*heights, value, middle + reach), min(*heights, value, middle - reach)

    def y(height: float) -> float:
        return round(_ROOM + (Sparkline.HEIGHT - 2 * _ROOM) * (top - height) / (top - bottom), 1)

    this = "This one's parent is not among them" if base is None else f"This one: {change(row.ratio)}"
    return Sparkline(
        path=_path([y(height) for height in heights], [each is not None for each in walked]),
        parent_y=None if base is None else y(base),
        y=None if base is None else y(value),
        words=f"{_told([each for each in walked if each], row.metric)}. {this}",
    )


def _path(ys: Sequence[float], are_joined: Sequence[bool]) -> str:
    """Draw a level until the next commit, which changes it or begins behind a gap."""
    width = (Sparkline.WIDTH - 2 * _ROOM) / len(ys)
    drawn = [f"M0 {ys[0]:g}"]
    for place, (before, height, is_joined) in enumerate(zip(ys, ys[1:], are_joined, strict=False), 1):
        x = place * width
        if not is_joined:
            drawn.append(f"H{x - min(_GAP, width / 2):.1f} M{x:.1f} {height:g}")
        elif height != before:
            drawn.append(f"H{x:.1f} V{height:g}")
    return " ".join((*drawn, f"H{len(ys) * width:.1f}"))


def _is_measured(step: Step) -> bool:
    # Of an identical program, nothing may be measured.
    return step.verdict in _MEASURED and (step.log is not None or step.verdict is Verdict.SAME)


def _moved_by(step: Step | None) -> float:
    return step.log if step and step.log is not None and step.verdict in _MOVED else 0.0


def _told(steps: Sequence[Step], metric: str) -> str:
    slower, faster = ([each for each in steps if each.verdict is verdict] for verdict in _MOVED)
    of = "Of one measured commit" if len(steps) == 1 else f"Of the last {len(steps)} measured commits"
    counts = (
        f"{of}, {len(slower)} {'was' if len(slower) == 1 else 'were'} {word_of(Verdict.SLOWER, metric)}"
        f" and {len(faster)} {word_of(Verdict.FASTER, metric)}"
    )
    if not slower and not faster:
        return counts
    largest = max((_moved_by(each) for each in (*slower, *faster)), key=abs)
    return f"{counts}: {'by' if len(slower) + len(faster) == 1 else 'at most by'} {change(ratio_of(largest))}"
