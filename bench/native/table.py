"""Format rows of figures, recorded and measured here, as a Markdown table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING: Final = "–"
_FIGURES: Final = 4  # significant ones: more than any machine repeats
_OK: Final = {None: NOTHING, True: "yes", False: "**no**"}


class Unit(Enum):
    """Unit of a figure, and the name of its change: a factor, or for bytes a difference."""

    NANOSECONDS = "ns"
    MICROSECONDS = "µs"
    MILLISECONDS = "ms"
    PER_SECOND = "/s"
    BYTES = "B"

    def of_seconds(self, seconds: float) -> float:
        """Convert seconds to this unit."""
        return seconds * {Unit.NANOSECONDS: 1e9, Unit.MICROSECONDS: 1e6, Unit.MILLISECONDS: 1e3}[self]

    def show(self, value: float) -> str:
        """Format the value with its unit."""
        return ("−" if value < 0 else "") + self._show(abs(value))

    def _show(self, value: float) -> str:
        if self is Unit.BYTES:
            return f"{_decimals(value, 4)} B"
        if self is Unit.PER_SECOND:
            factor, prefix = next(each for each in _PREFIXES if value >= each[0] or each[0] == 1)
            return f"{significant(value / factor)} {prefix}/s"
        return f"{significant(value)} {self.value}"


_PREFIXES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))


@dataclass(frozen=True, slots=True)
class Change:
    """A figure before and after."""

    before: float
    after: float
    unit: Unit

    @property
    def gain(self) -> float:
        """Speed-up: after ÷ before of a rate, before ÷ after of a time."""
        return self.after / self.before if self.unit is Unit.PER_SECOND else self.before / self.after

    @property
    def saved(self) -> float:
        """Decrease: before − after."""
        return self.before - self.after

    def show(self) -> str:
        """Format ``before → after`` with their relation."""
        return f"{self.unit.show(self.before)} → {self.unit.show(self.after)} ({self._relation()})"

    def _relation(self) -> str:
        if self.unit is Unit.BYTES:
            return self.unit.show(-self.saved)
        return times(self.gain)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of a table.

    Args:
        what: what was measured.
        recorded: the recorded change's figures, if it has them.
        here: those of this machine.
        required: what ``here`` has to show, if anything; ``is_met`` says whether it does.
        aside: for the table's own last column.
    """

    what: str
    recorded: str
    here: str
    required: str = NOTHING
    is_met: bool | None = None
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The results of one workload; ``aside`` heads a column of its own."""

    title: str
    rows: tuple[TableRow, ...]
    aside: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def missed(self) -> tuple[str, ...]:
        """Return the names of the rows that miss their goal."""
        return tuple(row.what for row in self.rows if row.is_met is False)

    def markdown(self) -> str:
        """Format the whole table with its heading."""
        heads = ["measured", "recorded: before → after", "here: before → after", "required", "ok"]
        lines = [[row.what, row.recorded, row.here, row.required, _OK[row.is_met]] for row in self.rows]
        if self.aside is not None:
            heads.append(self.aside)
            lines = [[*line, row.aside or NOTHING] for line, row in zip(lines, self.rows, strict=True)]
        drawn = [_line(heads), "|" + "---|" * len(heads), *(_line(line) for line in lines)]
        parts = [f"### {self.title}", "\n".join(drawn), *self.notes]
        return "\n\n".join(parts) + "\n"


def times(factor: float) -> str:
    """Format a factor."""
    return f"{significant(factor, 3)}×"


def percent(share: float) -> str:
    """Format a share of a whole."""
    return f"{share * 100:.1f} %".replace("-", "−")


def significant(value: float, figures: int = _FIGURES) -> str:
    """Format the value with ``figures`` significant figures, never in powers of ten."""
    if value == round(value):
        return f"{value:,.0f}"
    decimals = max(0, figures - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def _decimals(value: float, most: int) -> str:
    return f"{value:,.{most}f}".rstrip("0").rstrip(".")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
