"""Explain a slower benchmark: kinds of causes, functions, and the stacks of a flame graph."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from dataclasses import dataclass
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from service.domain.measuring.callgrind_events import Event
from service.domain.measuring.disassembly import repository_path
from service.domain.values.errors import BadResults
from service.domain.verdict.explanation.assembly import CALLS, MOST_LINES, MOST_ROWS, Assembly, CodeRow, Line
from service.domain.verdict.explanation.causes import Cause, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_EXPLAINED: Final = 20  # explained benchmarks of a build
MOST_PARTS: Final = 30  # functions of a benchmark
MOST_STACKS: Final = 10_000  # of a benchmark
MOST_FRAMES: Final = 128  # of a stack
LONGEST_TEXT: Final = 500  # characters of a name or an obstacle
MOST_PACKED: Final = 1 << 20  # bytes of a build's explanations, compressed
_MOST_JSON: Final = 16 << 20  # bytes of the stacks and instructions; each view of a page reads them
_MOST_BRIEF: Final = 4 << 20  # bytes of all else; 20 explanations of the longest names have 1 MiB
_ROOM: Final = 8 << 20  # bytes of stacks and instructions; writing more takes longer than a lease lasts
_LAST_LINE: Final = 10**9
_HALF: Final = 0.5  # of the slow-down
_COUNTED: Final = MappingProxyType({Kind.INLINING: CALLS, Kind.VECTORISATION: Event.INSTRUCTIONS})


class Part(NamedTuple):
    """A function, and the growth of the time spent in it per iteration, as a share of the parent's iteration.

    0.098: 9.8 percentage points of the slow-down. ``low`` and ``high`` bound it with 95 % confidence.
    ``new_callee`` is that of a :class:`Cause`.
    """

    function: str
    growth: float
    low: float
    high: float
    new_callee: str = ""


class Stack(NamedTuple):
    """Functions from the outermost to the innermost, and the time spent in the innermost itself.

    ``base`` and ``patch`` are times per iteration, as shares of the parent's whole iteration.
    """

    frames: tuple[str, ...]
    base: float
    patch: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Causes of the slow-down of one benchmark, as far as they are known.

    Args:
        slowdown: the measured growth of its time (0.12: 12 % slower).
        causes: the kinds of events that grew, the most important first; empty if none grew for sure.
        sampled: the growth of its time in the launches that took samples.
        parts: the functions in which most of that growth is, the largest first.
        stacks: where the time goes on both sides.
        assembly: the code of the function that grew most, if it could be disassembled.
        obstacle: why it is not explained, or not completely.
        touched: path and line that grew most, if the job wants a comment there and the patch set touches it.
    """

    suite: str
    benchmark: str
    slowdown: float = 0.0
    causes: tuple[Cause, ...] = ()
    sampled: float = 0.0
    parts: tuple[Part, ...] = ()
    stacks: tuple[Stack, ...] = ()
    obstacle: str = ""
    assembly: Assembly | None = None
    touched: tuple[str, int] | None = None

    @property
    def is_mostly_first(self) -> bool:
        """Return whether the first function holds most of the sampled growth."""
        return bool(self.parts) and self.parts[0].growth >= _HALF * self.sampled > 0

    @property
    def line_cause(self) -> Cause | None:
        """The cause whose events the lines of the code count; None if they count others, or nothing."""
        found = next((each for each in self.causes if each.kind is not Kind.WAITING), None)
        if found is None or self.assembly is None:
            return None
        # Of cache misses, the events have also the level.
        return found if self.assembly.counted.endswith(_COUNTED.get(found.kind, found.kind)) else None

    @property
    def main_line(self) -> tuple[str, int] | None:
        """Path and line that grew most in the function that holds most of the slow-down, or None.

        Without samples, all causes must be in that function. A benchmark that waits longer has none, and the
        line must have grown in the events of the first cause.
        """
        is_waiting = any(each.kind is Kind.WAITING for each in self.causes)
        if self.assembly is None or self.assembly.grown is None or is_waiting or not self.line_cause:
            return None
        # The disassembled function, or the one that is no longer inlined into it.
        shown = {self.assembly.function, self.causes[0].function}
        if self.parts:
            is_main = self.is_mostly_first and self.parts[0].function in shown
        else:
            is_main = {each.function for each in self.causes} <= shown
        return (self.assembly.grown.path, self.assembly.grown.line) if is_main else None

    @property
    def rest(self) -> float:
        """The sampled growth outside of ``parts``."""
        return self.sampled - sum(each.growth for each in self.parts)

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values for JSON, without the stacks and instructions, which are large."""
        found: dict[str, Any] = {
            "suite": self.suite,
            "benchmark": self.benchmark,
            "slowdown": self.slowdown,
            "causes": [each._asdict() for each in self.causes],
            "sampled": self.sampled,
            "parts": [each._asdict() for each in self.parts],
            "obstacle": self.obstacle,
        }
        if code := self.assembly:
            lines = [each._asdict() for each in code.lines]
            found["assembly"] = {"function": code.function, "counted": code.counted, "lines": lines}
        if self.touched:
            found["touched"] = list(self.touched)
        return found

    @staticmethod
    def from_mapping(found: Mapping[str, Any]) -> Explanation:
        """Read the values of :meth:`to_mapping`, with stacks and instructions if there are some.

        Raises:
            BadResults: they are something else.
        """
        try:
            return Explanation(
                suite=text_in(found["suite"]),
                benchmark=text_in(found["benchmark"]),
                slowdown=_number(found["slowdown"]),
                causes=tuple(map(_cause, found["causes"])),
                sampled=_number(found["sampled"]),
                parts=tuple(map(_part, found["parts"][:MOST_PARTS])),
                stacks=tuple(map(_stack, found.get("stacks", ())[:MOST_STACKS])),
                obstacle=text_in(found["obstacle"]),
                assembly=_assembly(code, found.get("rows", ())) if (code := found.get("assembly")) else None,
                touched=_place(*place) if (place := found.get("touched")) else None,
            )
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise BadResults(f"the explanation cannot be read: {error!r}") from None


def pack(found: Sequence[Explanation], beside: bytes = b"") -> bytes:
    """Write explanations as compressed JSON of at most ``MOST_PACKED`` bytes.

    The stacks and instructions follow all else, in a gzip member of their own, because decisions need none of
    them. The narrowest stacks, then the longest lists of instructions, are left out if it would be longer.
    Another gzip member ``beside`` comes last, because previous versions do not read so far. It is left out if
    there is no room for it.
    """
    found, room = found[:MOST_EXPLAINED], _ROOM
    brief = gzip.compress(_json([_cut(each.to_mapping()) for each in found]), mtime=0)
    while True:
        large = _json(_large(found, room))
        packed = brief + gzip.compress(large, mtime=0) + beside
        if len(packed) <= MOST_PACKED:
            return packed
        if not room:
            return packed.removesuffix(beside)
        room = min(room, len(large)) // 2


def _large(found: Sequence[Explanation], room: int) -> Sequence[Mapping[str, Any]]:
    """Return stacks and instructions for JSON, of at most ``room`` bytes."""
    rows: list[dict[str, list[Any]]] = [{"stacks": [], "rows": []} for _ in found]
    listed = [(row, each.assembly.rows) for row, each in zip(rows, found, strict=True) if each.assembly]
    for row, code in sorted(listed, key=lambda each: len(each[1])):
        lines = _cut(code[:MOST_ROWS])
        if (size := len(_json(lines))) <= room:
            row["rows"] = lines
            room -= size
    stacks = [(row, stack) for row, each in zip(rows, found, strict=True) for stack in each.stacks]
    for row, stack in sorted(stacks, key=lambda each: -max(each[1].base, each[1].patch)):
        written = [_cut(stack.frames[:MOST_FRAMES]), stack.base, stack.patch]
        room -= len(_json(written))
        if room < 0:
            break
        row["stacks"].append(written)
    return rows


def _json(rows: Sequence[Any]) -> bytes:
    text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace")


def unpack(data: bytes, stacks_of: int | None = None) -> tuple[Explanation, ...]:
    """Read what :func:`pack` wrote, with the stacks and instructions of one explanation, counted from 1.

    ``stacks_of`` None: those of all. 0: none, in a fraction of the time.

    Raises:
        BadResults: it is too large, or something else.
    """
    rows, rest = _read(data, _MOST_BRIEF)
    large = _read(rest, _MOST_JSON)[0] if stacks_of != 0 else []
    pairs = enumerate(zip_longest(rows, large, fillvalue=dict[str, Any]()), 1)
    wanted = ({**row, **lists} if stacks_of in {None, at} else row for at, (row, lists) in pairs)
    return tuple(map(Explanation.from_mapping, wanted))


def beside_in(data: bytes) -> bytes:
    """Return what :func:`pack` wrote beside the explanations, without parsing these; raises BadResults."""
    return read_member(read_member(data, _MOST_BRIEF)[1], _MOST_JSON)[1]


def read_member(data: bytes, most: int) -> tuple[bytes, bytes]:
    """Decompress the first gzip member, and return also the bytes after it.

    Raises:
        BadResults: it has more than ``most`` bytes, is incomplete or something else.
    """
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        found = reader.decompress(data, most) if len(data) <= MOST_PACKED else b""
    except zlib.error as error:
        raise BadResults(f"the explanations cannot be read: {error!r}") from None
    if not reader.eof:
        raise BadResults("the explanations cannot be read: they are incomplete or too large")
    return found, reader.unused_data


def _read(data: bytes, most: int) -> tuple[list[dict[str, Any]], bytes]:
    """Read the mappings in the first gzip member, and return also the bytes after it."""
    found, rest = read_member(data, most)
    try:
        rows = json.loads(found)
    except (ValueError, RecursionError) as error:
        raise BadResults(f"the explanations cannot be read: {error!r}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadResults("the explanations cannot be read: they are something else")
    return rows[:MOST_EXPLAINED], rest


def _cut(found: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return values with texts of at most ``LONGEST_TEXT`` characters."""
    if isinstance(found, str):
        return found[:LONGEST_TEXT]
    if isinstance(found, dict):
        return {name: _cut(each) for name, each in found.items()}
    return [_cut(each) for each in found] if isinstance(found, list | tuple) else found


def _cause(found: Mapping[str, Any]) -> Cause:
    rates = rate_in(found["base"]), rate_in(found["patch"])
    return Cause(Kind(found["kind"]), text_in(found["function"]), *rates, text_in(found["new_callee"]))


def _part(found: Mapping[str, Any]) -> Part:
    growth, low, high = (_number(found[name]) for name in ("growth", "low", "high"))
    return Part(text_in(found["function"]), growth, low, high, text_in(found["new_callee"]))


def _stack(found: Sequence[Any]) -> Stack:
    frames, base, patch = found
    return Stack(tuple(map(text_in, frames[:MOST_FRAMES])), rate_in(base), rate_in(patch))


def _assembly(found: Mapping[str, Any], codes: Sequence[Any]) -> Assembly:
    rows = tuple(map(_code, codes[:MOST_ROWS]))
    lines = tuple(map(_line, found["lines"][:MOST_LINES]))
    return Assembly(text_in(found["function"]), rows, lines, text_in(found["counted"]))


def _code(found: Sequence[Any]) -> CodeRow:
    base, patch, base_rate, patch_rate, path, line = found
    was, becomes = (None if each is None else text_in(each) for each in (base, patch))
    return CodeRow(was, becomes, rate_in(base_rate), rate_in(patch_rate), *_place(path, line))


def _line(found: Mapping[str, Any]) -> Line:
    return Line(*_place(found["path"], found["line"]), rate_in(found["base"]), rate_in(found["patch"]))


def _place(path: object, line: object) -> tuple[str, int]:
    if type(line) is not int or not 0 <= line <= _LAST_LINE:
        raise ValueError("not a line")
    return repository_path(text_in(path), ()), line


def text_in(found: object) -> str:
    """Cut a string from JSON to ``LONGEST_TEXT`` characters; raises TypeError for any other value."""
    if not isinstance(found, str):
        raise TypeError("not a text")
    return found[:LONGEST_TEXT].encode("utf-8", "replace").decode()  # JSON may hold halves of characters


def _number(found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise ValueError("not a finite number")
    return float(found)


def rate_in(found: object) -> float:
    """Return a finite number of at least 0; raises ValueError, or OverflowError if it is too large."""
    if (rate := _number(found)) < 0:
        raise ValueError("a negative rate")
    return rate
