"""Lay out the code of both sides of a function: mark what changed, fold what did not."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup, escape

from dashboards.formatting import quantity
from service.domain.measuring.disassembly import GAP
from service.domain.values.text import plain

if TYPE_CHECKING:
    from service.domain.verdict.comparison.assembly import Assembly, CodeRow

FOLDED: Final = 12  # unchanged rows in a run; a longer one is folded
_CONTEXT: Final = 3  # of its rows at each end, which stay
_LONGEST: Final = 200  # characters of an instruction
_LEAST: Final = 0.005  # of an iteration: what is executed more or less often differs by more,
_PART: Final = 0.01  # and by this share
_SIGNS: Final = {"added": "+", "removed": "−", "changed": "≠"}
_MOVED: Final = re.compile(r"%\w+|\+0x[0-9a-f]+")  # registers and distances, which differ without a reason
_TARGET: Final = re.compile(r"(.*[ ,*])#([1-9][0-9]{0,3})", re.ASCII)


class ShownRow(NamedTuple):
    """A row as the page has it; ``row`` is None where the line is that of the row above.

    ``kind`` is ``added``, ``removed``, ``changed`` or empty, and ``trend`` an arrow if the patch executes the
    instruction more or less often.
    """

    number: int
    kind: str
    trend: str
    is_idle: bool
    base: Markup
    patch: Markup
    rates: tuple[str, str]
    place: CodeRow | None

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


class RowGroup(NamedTuple):
    """Rows that follow each other, and whether they are folded."""

    is_folded: bool
    rows: tuple[ShownRow, ...]


def code_groups(code: Assembly) -> tuple[RowGroup, ...]:
    """Group the rows of a function: runs of more than ``FOLDED`` unchanged ones are folded."""
    rows = [_shown(number, code) for number in range(1, len(code.rows) + 1)]
    folded = set[int]()
    for is_unchanged, run in groupby(rows, lambda each: each.is_unchanged):
        numbers = [each.number for each in run]
        if is_unchanged and len(numbers) > FOLDED:
            folded.update(numbers[_CONTEXT:-_CONTEXT])
    groups = groupby(rows, lambda each: each.number in folded)
    return tuple(RowGroup(is_folded, tuple(group)) for is_folded, group in groups)


def _shown(number: int, code: Assembly) -> ShownRow:
    row, above = code.rows[number - 1], code.rows[number - 2] if number > 1 else None
    is_same_place = above is not None and _place(above) == _place(row)
    base, patch = (Markup() if text is None else _linked(text, len(code.rows)) for text in row[:2])
    rates = ["" if text is None else quantity(rate, "") for text, rate in zip(row[:2], row[2:4], strict=True)]
    return ShownRow(
        number=number,
        kind=_kind(row),
        trend=_trend(row),
        is_idle=not (row.base_rate or row.patch_rate),
        base=base,
        patch=patch,
        rates=(rates[0], rates[1]),
        place=None if is_same_place or not row.path else row,
    )


def _place(row: CodeRow) -> tuple[bool, str, int]:
    return row.patch is None, row.path, row.line


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


def _linked(text: str, rows: int) -> Markup:
    """Link the row that a jump leads to."""
    text = plain(text, _LONGEST)
    jump = _TARGET.fullmatch(text)
    if not jump or int(jump[2]) > rows:
        return escape(text)
    return Markup('{}<a href="#i{}">#{}</a>').format(jump[1], jump[2], jump[2])
