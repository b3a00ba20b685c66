"""JSON values taken one by one from bytes that may be cut off, broken or hostile."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from service.domain.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH: Final = 32  # Google Benchmark nests 4 levels; Python's own decoder fails at about 1,000

_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# Possessive throughout: nothing is ever tried twice, so reading stays linear whatever the bytes are.
_TO_BRACKET: Final = re.compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+", re.DOTALL)
_SCALAR: Final = re.compile(_STRING + rb'|[^\s,:"{}\[\]]++', re.DOTALL)
_MEMBER: Final = re.compile(rb"[\s,]*+(" + _STRING + rb")\s*+:\s*+", re.DOTALL)
# A bracket that neither a member nor the end follows closes nothing: it is damage between two rows.
_LIST_END: Final = re.compile(rb'\](?=\s*+(?:\}|,\s*+"|\Z))')
_GAP: Final = re.compile(rb"[\s,]*+")
_TEXT_GAP: Final = re.compile(r"[\s,]*+", re.ASCII)
_ROWS: Final = re.compile(rb'"benchmarks"\s*+:\s*+(?=\[)')
# Where a row starts when the one before it is broken: Google Benchmark writes the name first.
_NEXT_ROW: Final = re.compile(rb'\}\s*+,\s*+(?=\{)|(?=\{\s*+"name"\s*+:)')
_END: Final = re.compile(rb"\s*+\}\s*+")
_CLOSING: Final = re.compile(rb"\]\s*+\}\s*+\Z")
_CLOSING_REACH: Final = 256
WINDOW: Final = 1 << 18  # bytes decoded at a time: hundreds of rows, and little memory whatever they hold
_MAX_DIGITS: Final = 19  # a 64-bit number

_UNFINISHED: Final = -1
_TOO_DEEP: Final = -2
_WHY: Final = {
    _UNFINISHED: "its quotes or brackets do not close",
    _TOO_DEEP: f"nested deeper than {MAX_DEPTH} levels",
}
_QUOTE, _OPEN_LIST, _OPEN_OBJECT = b'"[{'


class Repeated(dict[str, object]):
    """An object in which keys stood twice: the first value of each counts, ``repeated`` names them."""

    repeated: tuple[str, ...] = ()


class Elements:
    """The elements of the list whose ``[`` stands just before byte ``start``.

    Objects are read ahead in windows of so many bytes; with 0 each is found and read alone, to the same end.
    Iterating yields each element's value, or a BadResults that says why it has none; what follows a broken
    element is found again. ``at`` is the first byte of the element yielded last. Afterwards ``end`` is the
    byte behind the list's ``]``, or None where the data ended first; ``cut_at`` is then where the
    unfinished element starts.
    """

    def __init__(self, data: bytes, start: int, window: int = WINDOW) -> None:
        self._data = data
        self._window = window
        self._next = 0
        self._from = start
        self._ahead: tuple[str, int] | None = None  # text from byte _from on, and a place in it
        self.end: int | None = None
        self.cut_at: int | None = None

    @property
    def at(self) -> int:
        """The first byte of the element yielded last."""
        return self._from + (0 if self._ahead is None else _size_of(*self._ahead))

    def __iter__(self) -> Iterator[object]:
        yield from self._intact()
        yield from self._any()

    def _intact(self) -> Iterator[object]:
        """The objects before the first surprise, many at a time: what most files are from end to end."""
        data = self._data
        self._from = _gap_end(data, self._from)
        while data.startswith(b"{", self._from):
            text = data[self._from : self._from + self._window].decode("utf-8", "surrogateescape")
            found, stop = _objects(text)
            for here, value in found:
                self._ahead = (text, here)
                yield value
            self._ahead = None
            if not found:
                break
            # What did not fit into this window is in the next one or never: no byte is in three of them.
            self._from = _gap_end(data, self._from + _size_of(text, stop))

    def _any(self) -> Iterator[object]:
        """The elements from there on, each found by its brackets before it is read."""
        data, at, size = self._data, self._from, len(self._data)
        is_broken = False
        while (at := _gap_end(data, at)) < size and not _LIST_END.match(data, at):
            # Once an element was broken, none is trusted to reach beyond the start of the next one.
            end = value_end(data, at, self._row_after(at) if is_broken else size)
            value = BadResults(_WHY[end]) if end < 0 else self._value(at, end)
            if isinstance(value, BadResults):
                is_broken = True
                # The next row, or the list's own end where there is none, also ends a row that does not.
                following = self._row_after(at)
                if following == size:
                    following = self._closing_after(at)
                if end < 0 and following == size:
                    break
                self._from = at
                yield value
                at = following if end < 0 else min(following, end)
            else:
                self._from = at
                yield value
                at = end
        if _LIST_END.match(data, at):
            self.end = at + 1
        else:
            self.cut_at = at

    def _value(self, at: int, end: int) -> object:
        if self._data[at] == _OPEN_LIST:  # a stray bracket must not swallow all the rows behind it
            return BadResults("not an object")
        return _parse_or_reason(self._data[at:end])

    def _row_after(self, at: int) -> int:
        """The start of the next row behind ``at``; the end of the data where there is none."""
        if self._next <= at:
            found = _NEXT_ROW.search(self._data, at + 1)
            self._next = found.end() if found else len(self._data)
        return self._next

    def _closing_after(self, at: int) -> int:
        """The ``]`` behind ``at`` of data that ends as a whole file does; else the end of the data."""
        found = _CLOSING.search(self._data, max(at + 1, len(self._data) - _CLOSING_REACH))
        return found.start() if found else len(self._data)


def find_members(data: bytes, at: int) -> tuple[int | None, int | None]:
    """Where the values of ``context`` and ``benchmarks`` start in the object whose ``{`` is before ``at``."""
    found: dict[bytes, int] = {}
    start = at
    while member := _MEMBER.match(data, at):
        found.setdefault(member[1], member.end())
        if b'"benchmarks"' in found and b'"context"' in found:
            break
        at = value_end(data, member.end(), len(data))
        if at < 0:
            break
        # Only the two are kept: a hostile file may have millions of others.
        found = {key: start for key, start in found.items() if key in (b'"context"', b'"benchmarks"')}
    if b'"benchmarks"' not in found and (rows := _ROWS.search(data, start)):
        found[b'"benchmarks"'] = rows.end()
    return found.get(b'"context"'), found.get(b'"benchmarks"')


def trailing_fault(data: bytes, at: int) -> tuple[str | None, bool]:
    """What is wrong behind the list of rows that ends before ``at``; whether the file's end is missing."""
    while member := _MEMBER.match(data, at):
        if member[1] == b'"benchmarks"':
            return f"a second list of benchmarks at byte {member.start(1)} was ignored", False
        end = value_end(data, member.end(), len(data))
        if end < 0:
            break
        at = end
    closing = _END.match(data, at)
    if closing is None:
        return f"it ends after {len(data)} bytes without being closed behind byte {at}", True
    extra = len(data) - closing.end()
    return (f"{extra} bytes behind the end of the results were ignored" if extra else None), False


def value_end(data: bytes, at: int, limit: int) -> int:
    """The byte behind the value that starts at ``at``; negative where it has no end before ``limit``."""
    if at >= limit or data[at] not in b"{[":
        scalar = _SCALAR.match(data, at, limit)
        return scalar.end() if scalar else _UNFINISHED
    depth = 0
    while True:
        at = _to_bracket(data, at, limit)
        if at >= limit or (byte := data[at]) == _QUOTE:
            return _UNFINISHED
        at += 1
        if byte in {_OPEN_LIST, _OPEN_OBJECT}:
            depth += 1
            if depth > MAX_DEPTH:
                return _TOO_DEEP
        else:
            depth -= 1
            if depth == 0:
                return at


def parse(data: bytes) -> object:
    """The JSON value that is ``data``; NaN, Infinity and control characters in strings are accepted.

    A byte that is not UTF-8 becomes a lone surrogate, a whole number beyond 64 bits a float.

    Raises:
        BadResults: not JSON.
    """
    value = _parse_or_reason(data)
    if isinstance(value, BadResults):
        raise value
    return value


def _parse_or_reason(data: bytes) -> object:
    try:
        return _DECODER.decode(data.decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        return BadResults(f"not JSON: {error.msg.lower()} ({error.pos} characters into it)")


def _objects(text: str) -> tuple[list[tuple[int, object]], int]:
    """The objects with which the text begins, each with where it starts; and where they stop.

    Exactly those that :func:`value_end` and :func:`parse` would accept one by one.
    """
    found, at = _flat_objects(text)
    while text.startswith("{", at):
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):  # broken, too deep, or longer than the text
            break
        if _is_too_deep(text, at, end):
            break
        found.append((at, value))
        gap = _TEXT_GAP.match(text, end)
        at = gap.end() if gap else end
    return found, at


def _flat_objects(text: str) -> tuple[list[tuple[int, object]], int]:
    """As :func:`_objects`, but in one go and all or nothing: where no object holds a bracket of any kind."""
    size = text.rfind("},") + 1
    if text.find("[", 0, size) >= 0:
        return [], 0
    try:
        values: list[object] = _DECODER.decode(f"[{text[:size]}]")
    except (json.JSONDecodeError, RecursionError):
        return [], 0
    # One brace for each: then none holds another, not even in a text, and each brace is where one starts.
    if text.count("{", 0, size) != len(values) or not all(isinstance(value, dict) for value in values):
        return [], 0
    found: list[tuple[int, object]] = []
    at = -1
    for value in values:
        at = text.find("{", at + 1)
        found.append((at, value))
    gap = _TEXT_GAP.match(text, size)
    return found, gap.end() if gap else size


def _is_too_deep(text: str, at: int, end: int) -> bool:
    if text.find("{", at + 1, end) < 0 and text.find("[", at + 1, end) < 0:  # the usual case, and quick
        return False
    data = text[at:end].encode("utf-8", "surrogateescape")
    return value_end(data, 0, len(data)) < 0


def _size_of(text: str, end: int) -> int:
    """The bytes before a place in a text."""
    return len(text[:end].encode("utf-8", "surrogateescape"))


def _gap_end(data: bytes, at: int) -> int:
    gap = _GAP.match(data, at)
    return gap.end() if gap else at


def _to_bracket(data: bytes, at: int, limit: int) -> int:
    skipped = _TO_BRACKET.match(data, at, limit)
    return skipped.end() if skipped else at


def _first_wins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    # Google Benchmark writes its own keys before the user's counters, which may have the same names.
    first = Repeated(reversed(pairs))
    counts = Counter(key for key, _ in pairs)
    first.repeated = tuple(key for key, count in counts.items() if count > 1)
    return first


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


_DECODER: Final = json.JSONDecoder(strict=False, object_pairs_hook=_first_wins, parse_int=_whole_number)
