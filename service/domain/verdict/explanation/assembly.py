"""Align what both sides executed of one function, and find the source line that grew most."""

from __future__ import annotations

from collections import Counter, defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.measuring.disassembly import around

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.measuring.disassembly import Instruction

MOST_ROWS: Final = 2000
MOST_LINES: Final = 30
CALLS: Final = "calls"  # of the function that is no longer inlined
_CONTEXT: Final = 4  # instructions that were not executed, before and after those that were
_ALIKE, _SAME_OPERATION = 3, 1  # worth of a pair in the alignment
_PART: Final = 1 / 3  # of the function's growth: a smaller one is no line to name


class CodeRow(NamedTuple):
    """An instruction of one or both sides, and how often an iteration executes it.

    The line is the patch's, or the parent's if only the parent has the instruction; ``path`` is one in the
    repository, and empty if the line is not known. A target ``#3`` is the third row.
    """

    base: str | None
    patch: str | None
    base_rate: float
    patch_rate: float
    path: str
    line: int


class Line(NamedTuple):
    """A line of the patch, and what it costs per iteration of each side, in the events that are counted."""

    path: str
    line: int
    base: float
    patch: float


class Assembly(NamedTuple):
    """The function that grew most: its instructions side by side, and its lines, the most grown first.

    ``counted`` names the events of the lines.
    """

    function: str
    rows: tuple[CodeRow, ...] = ()
    lines: tuple[Line, ...] = ()
    counted: str = ""

    @property
    def grown(self) -> Line | None:
        """The line that grew most; None if it is not known or has little of the growth."""
        growth = sum(each.patch - each.base for each in self.lines)
        first = next(iter(self.lines), Line("", 0, 0.0, 0.0))
        return first if first.path and first.patch - first.base > max(0.0, _PART * growth) else None

    @property
    def grown_line(self) -> str:
        """The line that grew most, as ``path:line``; may be empty."""
        return f"{self.grown.path}:{self.grown.line}" if self.grown else ""


class SideCode(NamedTuple):
    """A function of one side: its instructions, and by address how often each is executed and what it costs.

    Both are per iteration.
    """

    instructions: Sequence[Instruction] = ()
    executed: Mapping[int, float] = MappingProxyType({})
    costs: Mapping[int, float] = MappingProxyType({})


_Pair = tuple["Instruction | None", "Instruction | None"]


def align(function: str, base: SideCode, patch: SideCode, *, counted: str = "") -> Assembly:
    """Align two sides of a function by the text of the instructions; ``counted`` names the costs."""
    sides = base, patch
    pairs = _pairs(_shown(base), _shown(patch))
    numbers = [
        {each.address: number for number, pair in enumerate(pairs, 1) if (each := pair[of])} for of in (0, 1)
    ]
    rows = []
    weights = defaultdict[tuple[str, int], Counter[tuple[str, int]]](Counter)
    for pair in pairs:
        texts = [each and _text(each, known) for each, known in zip(pair, numbers, strict=True)]
        rates = [
            side.executed.get(each.address, 0.0) if each else 0.0
            for side, each in zip(sides, pair, strict=True)
        ]
        before, after = pair
        if placed := after or before:
            rows.append(CodeRow(texts[0], texts[1], rates[0], rates[1], placed.path, placed.line))
        if before and before.path and after and after.path:
            weights[before.path, before.line][after.path, after.line] += 1
    became = {line: to.most_common(1)[0][0] for line, to in weights.items()}
    return Assembly(function, tuple(rows), _lines(base, patch, became), counted)


def _lines(
    base: SideCode, patch: SideCode, became: Mapping[tuple[str, int], tuple[str, int]]
) -> tuple[Line, ...]:
    """Add costs up by line of the patch; ``became`` maps lines of the parent to them.

    A line may replace lines of the parent that are not mapped. There is none if those cost more than the
    first one grew.
    """
    before, after = defaultdict[tuple[str, int], float](float), defaultdict[tuple[str, int], float](float)
    lost = 0.0
    for each in base.instructions:
        line, cost = (each.path, each.line), base.costs.get(each.address, 0.0)
        if line in became:
            before[became[line]] += cost
        elif each.path:
            lost += cost
    for each in patch.instructions:
        after[each.path, each.line] += patch.costs.get(each.address, 0.0)
    found = [Line(*line, before[line], cost) for line, cost in after.items() if line[0]]
    found.sort(key=lambda each: each.base - each.patch)
    return tuple(found[:MOST_LINES]) if not lost or (found and lost <= found[0].patch - found[0].base) else ()


def _shown(side: SideCode) -> list[Instruction]:
    """Choose the executed instructions and their context, or of too many the most executed."""
    most = MOST_ROWS // 2
    found = around(side.instructions, side.executed, _CONTEXT)
    if len(found) <= most:
        return found
    ranked = sorted(side.executed, key=lambda at: -side.executed[at])
    return around(side.instructions, frozenset(ranked[: most // 2]), 0)[:most]


def _key(code: Instruction) -> tuple[str, str]:
    """Return what must be equal in two aligned instructions: the operation, and the whole text."""
    return code.text.partition(" ")[0], f"{code.text}{code.symbol.partition('+0x')[0]}"


def _text(code: Instruction, numbers: Mapping[int, int]) -> str:
    is_shown = code.target and code.target in numbers
    target = f"#{numbers[code.target]}" if is_shown else code.symbol
    return f"{code.text} {target}".rstrip()


def _pairs(base: list[Instruction], patch: list[Instruction]) -> list[_Pair]:
    """Align two sequences for the largest worth (Needleman and Wunsch 1970, gaps cost nothing)."""
    keys = [_key(each) for each in patch]
    best = [[0] * (len(patch) + 1) for _ in range(len(base) + 1)]
    for i in range(len(base) - 1, -1, -1):
        row, below, (operation, whole) = best[i], best[i + 1], _key(base[i])
        for j in range(len(patch) - 1, -1, -1):
            other, text = keys[j]
            worth = 0 if operation != other else _ALIKE if whole == text else _SAME_OPERATION
            row[j] = max(below[j + 1] + worth, below[j], row[j + 1])
    found, i, j = list[_Pair](), 0, 0
    while i < len(base) or j < len(patch):
        if i < len(base) and best[i][j] == best[i + 1][j]:
            found.append((base[i], None))
            i += 1
        elif j < len(patch) and best[i][j] == best[i][j + 1]:
            found.append((None, patch[j]))
            j += 1
        else:
            found.append((base[i], patch[j]))
            i, j = i + 1, j + 1
    return found
