"""Choose which points of a long line are drawn: a screen has fewer columns than a year has commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_ALWAYS = 4  # both ends, the lowest and the highest point


def thinned(heights: Sequence[float], marked: Collection[int], most: int) -> list[int]:
    """Return the positions of at most ``most`` points that look like all of them, in order.

    The first and the last point, the lowest and the highest, and the points at the positions ``marked`` stay.
    The rest is cut into sections of equally many points, and the lowest and the highest of each stay. More
    marked points than half of ``most`` are thinned like the rest, and get that half.

    Raises:
        ValueError: ``most`` is less than 8.
    """
    if most < 2 * _ALWAYS:
        raise ValueError(f"{most} points are too few to draw a line")
    count = len(heights)
    if count <= most:
        return list(range(count))
    chosen = sorted(marked)
    if len(chosen) > most // 2:
        chosen = [chosen[each] for each in _extremes([heights[each] for each in chosen], most // 2)]
    kept = {0, count - 1, *_extremes(heights, 2), *chosen}
    return sorted(kept.union(_extremes(heights, most - len(kept))))


def _extremes(heights: Sequence[float], most: int) -> set[int]:
    """Return the lowest and the highest position of each of ``most // 2`` sections."""
    sections, count = most // 2, len(heights)
    found: set[int] = set()
    for section in range(sections):
        within = range(section * count // sections, (section + 1) * count // sections)
        if within:
            found |= {min(within, key=heights.__getitem__), max(within, key=heights.__getitem__)}
    return found
