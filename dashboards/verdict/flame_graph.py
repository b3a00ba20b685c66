"""Draw where an iteration of the patch spends its time, and where that grew, as a flame graph."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup, escape

from dashboards.formatting import points
from service.domain.measuring.function_names import shown_name
from service.domain.values.text import plain, share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.verdict.explanation.explanation import Part, Stack

MOST_FRAMES: Final = 2_000  # a browser draws them without a pause
MOST_BYTES: Final = 200_000  # of their names in the page; names from a patch set may be long
TINTS: Final = 4  # of each colour
MOST_GROWN: Final = 20  # frames of a table
ROW: Final = 18  # pixels
_NARROWEST: Final = 0.0005  # of the width: about half a pixel
_FLOOR: Final = 0.005  # of the parent's iteration; smaller changes are mostly chance
_ROUNDING: Final = 1e-9
_LARGEST: Final = 1e6  # iterations of the parent; a longer time would be a fault of the file
_LABELLED: Final = 0.025  # of the width, from which a name is readable
_CHARACTERS: Final = 155  # of the width
_FEWEST: Final = 4  # characters of a name
_LONGEST: Final = 500


class Frame(NamedTuple):
    """A function at the end of a chain of calls, with all that it calls there.

    ``base`` and ``patch`` are times of an iteration, as shares of the parent's whole iteration. A frame is as
    wide as its ``patch``, and ``x`` is the time of the frames on its left.
    """

    name: str
    level: int
    x: float
    base: float
    patch: float

    @property
    def growth(self) -> float:
        """The additional time on the patch's side."""
        return self.patch - self.base

    @property
    def title(self) -> str:
        """Name the frame as HTML; on a second line, its growth and times: ``+9.8 points: 24 % → 33.8 %``."""
        words = f"{points(self.growth)} points: {share(self.base)} → {share(self.patch)}"
        return f"{escape(plain(self.name, _LONGEST) or '?')}\n{words}"


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """The widest frames, each before those that it calls, which are ordered by name.

    Args:
        frames: the first one is the whole iteration.
        narrower: how many frames are left out, each with all that it calls.
        gone: callers (empty at the root) and functions of paths that take time on the parent's side only,
            which have no width, with that time; the largest first.
        floor: growth, in either direction, from which a frame has a colour.
        largest: growth of a frame that both sides have, in either direction; at least ``floor``.
    """

    frames: tuple[Frame, ...]
    narrower: int
    gone: tuple[tuple[str, str, float], ...]
    floor: float
    largest: float

    @property
    def grown(self) -> Sequence[tuple[str, Frame]]:
        """The frames with the most growth, the largest first, after their callers' names."""
        above, found = dict[int, str](), list[tuple[str, Frame]]()
        for each in self.frames[1:]:
            above[each.level] = each.name
            if each.growth > 0:
                found.append((above.get(each.level - 1, ""), each))
        return sorted(found, key=lambda row: -row[1].growth)[:MOST_GROWN]

    def svg(self) -> Markup:
        """Return the drawing as SVG, as wide as its place; names keep their size, and are cut to fit."""
        height = ROW * (1 + max(each.level for each in self.frames))
        drawn = "".join((*map(self._rectangle, self.frames), *map(self._label, self.frames)))
        top = f'<svg class="flame" width="100%" height="{height}" role="img" aria-label="Flame graph">'
        return Markup(f"{top}{drawn}</svg>")  # noqa: S704 - names are escaped, the rest are numbers

    def tint(self, frame: Frame) -> int:
        """Return the growth in steps of the colours, negative if the function takes less time."""
        if abs(frame.growth) < self.floor - _ROUNDING:
            return 0
        return round(TINTS * max(-1.0, min(frame.growth / self.largest, 1.0)))

    def _rectangle(self, frame: Frame) -> str:
        tint = self.tint(frame)
        colour = f' class="{"more" if tint > 0 else "less"}{abs(tint)}"' if tint else ""
        return f"<rect {self._place(frame)}{colour}><title>{frame.title}</title></rect>"

    def _label(self, frame: Frame) -> str:
        """Write a name that the frame clips; the sign says what the colour says."""
        width = frame.patch / self.frames[0].patch
        if width < _LABELLED:
            return ""
        sign = f"{points(frame.growth)} " if self.tint(frame) else ""
        room = int(_CHARACTERS * width) - 1 - len(sign)
        name = shown_name(plain(frame.name, _LONGEST), room) if room >= _FEWEST else ""
        text = f'<text x="4" y="13">{sign}{escape(name)}</text>'
        return f'<svg class="label" aria-hidden="true" {self._place(frame)}>{text}</svg>'

    def _place(self, frame: Frame) -> str:
        x, width = (100 * each / self.frames[0].patch for each in (frame.x, frame.patch))
        return f'x="{x:.3f}%" y="{ROW * frame.level}" width="{width:.3f}%" height="{ROW - 1}"'


def flame_graph(stacks: Sequence[Stack], parts: Sequence[Part] = ()) -> FlameGraph | None:
    """Merge stacks into frames, and lay out the widest ones; None if the patch takes no time.

    What changed by less than the growth of each of ``parts`` has no colour.
    """
    whole = Frame("one iteration", 0, 0.0, *_times(stacks))
    if whole.patch <= 0:
        return None
    order, waiting, drawn = count(1), [(-whole.patch, 0, whole, stacks)], list[Frame]()
    narrower, size, gone = 0, 0, dict[tuple[str, str], float]()
    while waiting and len(drawn) < MOST_FRAMES and size < MOST_BYTES:
        *_, frame, its = heappop(waiting)
        drawn.append(frame)
        size += len(frame.title.encode())
        for each, below in _callees(frame, its):
            if each.patch >= _NARROWEST * whole.patch:
                heappush(waiting, (-each.patch, next(order), each, below))
            elif each.patch:
                narrower += 1
            elif each.base:
                path = frame.name if frame.level else "", each.name
                gone[path] = gone.get(path, 0.0) + each.base
    floor = max(_FLOOR, min((abs(each.growth) for each in parts), default=0.0))
    return FlameGraph(
        frames=tuple(sorted(drawn, key=lambda frame: (frame.x, frame.level))),
        narrower=narrower + len(waiting),
        gone=tuple(sorted(((*path, time) for path, time in gone.items()), key=lambda row: (-row[2], row))),
        floor=floor,
        largest=max([floor, *(abs(each.growth) for each in drawn if each.base)]),
    )


def _callees(frame: Frame, stacks: Sequence[Stack]) -> Iterator[tuple[Frame, Sequence[Stack]]]:
    """Yield the frames that one calls, ordered by name from the left, each with its stacks."""
    found: dict[str, list[Stack]] = {}
    for stack in stacks:
        if len(stack.frames) > frame.level:
            found.setdefault(stack.frames[frame.level], []).append(stack)
    x = frame.x
    for name in sorted(found):
        callee = Frame(name, frame.level + 1, x, *_times(found[name]))
        x += callee.patch
        yield callee, found[name]


def _times(stacks: Sequence[Stack]) -> tuple[float, float]:
    sides = ((each.base for each in stacks), (each.patch for each in stacks))
    base, patch = (fsum(min(max(each, 0.0), _LARGEST) for each in side) for side in sides)
    return base, patch
