"""Draw the interval of a change as a bar around a mark."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from service.domain.verdict.inference.verdict import Verdict

WIDTH: Final = 240  # of the drawing, in its own units
_SHORT: Final = 14  # a shorter bar has no room for its ends


class Mark(StrEnum):
    """The shape that marks a ratio on its interval."""

    DOWN = "down"
    UP = "up"
    SQUARE = "square"
    DOT = "dot"


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval in the drawing's units; an end or centre outside the drawing is cut off."""

    left: float
    right: float
    centre: float
    is_cut_left: bool
    is_cut_right: bool
    is_centre_cut: bool
    mark: Mark

    def svg(self, verdict: Verdict, change: str, interval: str, band: str) -> Markup:
        """Return the drawing as SVG. A template writes each number on its own, which takes thrice as long.

        ``change`` and ``interval`` are the words for it; ``band`` is SVG that is drawn below.
        """
        words = escape(f"{change}, interval {interval} percent" if interval else change)
        return Markup(  # noqa: S704 - all but the words are numbers, enums and SVG
            f'<svg class="interval {verdict}" viewBox="0 0 240 22" width="240" height="22" role="img" '
            f'aria-label="{words}">{band}<line class="zero" x1="120" x2="120" y1="0" y2="22"/>'
            f"{self._reach()}{self._left_end(change)}{self._right_end(change)}{self._mark()}</svg>"
        )

    def _reach(self) -> str:
        if self.is_centre_cut:
            return ""
        return f'<line class="reach" x1="{self.left}" x2="{self.right}" y1="11" y2="11"/>'

    def _left_end(self, change: str) -> str:
        if not self.is_cut_left:
            return self._end(self.left)
        beyond = f" {escape(change)}" if self.is_centre_cut and self.centre < WIDTH / 2 else ""
        return f'<text class="cut" x="0" y="16">«{beyond}</text>'

    def _right_end(self, change: str) -> str:
        if not self.is_cut_right:
            return self._end(self.right)
        beyond = f"{escape(change)} " if self.is_centre_cut and self.centre > WIDTH / 2 else ""
        return f'<text class="cut" x="240" y="16" text-anchor="end">{beyond}»</text>'

    def _end(self, x: float) -> str:
        if self.right - self.left <= _SHORT or self.is_centre_cut:
            return ""
        return f'<line class="end" x1="{x}" x2="{x}" y1="6" y2="16"/>'

    def _mark(self) -> str:
        x = self.centre
        if self.is_centre_cut:
            return ""
        match self.mark:
            case Mark.DOWN:
                return f'<path class="mark" d="M{x - 5:g} 7 L{x + 5:g} 7 L{x:g} 16 Z"/>'
            case Mark.UP:
                return f'<path class="mark" d="M{x - 5:g} 15 L{x + 5:g} 15 L{x:g} 6 Z"/>'
            case Mark.SQUARE:
                return f'<rect class="mark" x="{x - 3.5:g}" y="7.5" width="7" height="7"/>'
            case Mark.DOT:
                return f'<circle class="mark" cx="{x}" cy="11" r="4"/>'
