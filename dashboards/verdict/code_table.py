"""Lay out the code of both sides of a function: mark what changed, fold what did not."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup, escape

from service.domain.measuring.disassembly import GAP
from service.domain.values.text import plain

if TYPE_CHECKING:
    from service.domain.verdict.explanation.assembly import Assembly, CodeRow

FOLDED: Final = 12  # unchanged rows in a run; a longer one is folded
_CONTEXT: Final = 3  # of its rows at each end, which stay
_LONGEST: Final = 200  # characters of an instruction
_LEAST: Final = 0.005  # of an iteration: what is executed more or less often differs by more,
_PART: Final = 0.01  # and by this share
_SIGNS: Final = {"added": "+", "removed": "−", "changed": "≠"}
_MOVED: Final = re.compile(r"%\w+|\+0x[0-9a-f]+")  # registers and distances, which differ without a reason
_TARGET: Final = re.compile(r"(.*[ ,*])#([1-9][0-9]{0,3})", re.ASCII)


class ShownRow(NamedTuple):
    """A row as the page has it; ``has_place`` unless its line is that of the row above.

    ``kind`` is ``added``, ``removed``, ``changed`` or empty, and ``trend`` an arrow if the patch executes the
    instruction more or less often.
    """

    number: int
    row: CodeRow
    kind: str
    trend: str
    has_place: bool

    @property
    def is_idle(self) -> bool:
        """Return whether neither side executes it."""
        return not (self.row.base_rate or self.row.patch_rate)

    @property
    def sign(self) -> str:
        """Say what the colour says."""
        return _SIGNS.get(self.kind, "")

    @property
    def classes(self) -> str:
        """Return the classes of the row."""
        moved = {"↑": "more", "↓": "less"}.get(self.trend, "")
        return " ".join(filter(None, (self.kind, moved, "idle" if self.is_idle else "")))

    @property
    def is_unchanged(self) -> bool:
        """Return whether nothing that is executed differs; registers may have other names."""
        return self.is_idle or not (self.kind or self.trend)


def code_groups(code: Assembly) -> tuple[tuple[bool, tuple[ShownRow, ...]], ...]:
    """Group the rows of a function: True and a run of more than ``FOLDED`` unchanged ones, or else False."""
    rows, above = [], None
    for number, row in enumerate(code.rows, 1):
        place = row.patch is None, row.path, row.line
        has_place = place != above and bool(row.path)
        rows.append(ShownRow(number, row, _kind(row), _trend(row), has_place))
        above = place
    folded = set[int]()
    for is_unchanged, run in groupby(rows, lambda each: each.is_unchanged):
        numbers = [each.number for each in run]
        if is_unchanged and len(numbers) > FOLDED:
            folded.update(numbers[_CONTEXT:-_CONTEXT])
    groups = groupby(rows, lambda each: each.number in folded)
    return tuple((is_folded, tuple(group)) for is_folded, group in groups)


def instruction(text: str | None) -> Markup:
    """Write an instruction, with a link to the row that a jump leads to."""
    text = plain(text or "", _LONGEST)
    jump = _TARGET.fullmatch(text)
    return Markup('{}<a href="#i{}">#{}</a>').format(*jump.group(1, 2, 2)) if jump else escape(text)


def _kind(row: CodeRow) -> str:
    if GAP in {row.base, row.patch}:
        return ""
    if row.base is None or row.patch is None:
        return "added" if row.base is None else "removed"
    return "" if _MOVED.sub("", row.base) == _MOVED.sub("", row.patch) else "changed"


def _trend(row: CodeRow) -> str:
    if row.base is None or row.patch is None:
        return ""
    growth = row.patch_rate - row.base_rate
    is_much = abs(growth) > max(_LEAST, _PART * max(row.base_rate, row.patch_rate))
    return ("↑" if growth > 0 else "↓") if is_much else ""
