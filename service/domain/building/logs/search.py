"""Search a log for a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.building.logs.stored_log import LogPiece, pieces
from service.domain.values.text import ESCAPE_SEQUENCE, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.building.logs.stored_log import StoredLog, Stream

SEARCHED_BYTES: Final = 16 << 20  # by one request: a fraction of a second
MOST_MATCHES: Final = 100
_LONGEST_LINE: Final = 1 << 20  # a longer one is searched in parts
_SHOWN: Final = 300  # characters of a line
_ESCAPES: Final = re.compile(ESCAPE_SEQUENCE.pattern.encode("latin-1").replace(b"[^", b"[^\n"))


@dataclass(frozen=True, slots=True)
class Match:
    """A matching line: its number from 1, its place, and its beginning or the part with the text."""

    line: int
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """Matches in a part of a log; ``next`` is the place to continue from, None at the end."""

    matches: tuple[Match, ...]
    next: int | None


def find(log: StoredLog, wanted: str, place: int, stream: Stream, *, is_exact: bool = False) -> Found:
    """Find the lines with a text from a place on, each once; raises as ``pieces``.

    Colours are ignored, and so is the case of ASCII letters unless ``is_exact``.
    """
    needle = wanted.encode() if is_exact else wanted.encode().lower()
    found: list[Match] = []
    searched = 0
    for block in _blocks(log, place, stream):
        if len(found) >= MOST_MATCHES or searched >= SEARCHED_BYTES:
            return Found(tuple(found), block.start)
        searched += len(block.data)
        for match in _matches(block, needle, is_exact=is_exact):
            if len(found) == MOST_MATCHES:
                return Found(tuple(found), match.start)
            found.append(match)
    return Found(tuple(found), None)


def _blocks(log: StoredLog, place: int, stream: Stream) -> Iterator[LogPiece]:
    """Yield blocks of whole lines; a line at a gap, or a very long one, is cut."""
    left = LogPiece(place, 0, b"")
    for piece in pieces(log, place, stream):
        if piece.start > left.end and left.data:
            yield left
        if not left.data or piece.start > left.end:
            left = LogPiece(piece.start, piece.line, b"")
        data = left.data + piece.data
        cut = data.rfind(b"\n") + 1 or (len(data) if len(data) > _LONGEST_LINE else 0)
        if cut:
            yield LogPiece(left.start, left.line, data[:cut])
        left = LogPiece(left.start + cut, left.line + data.count(b"\n", 0, cut), data[cut:])
    if left.data:
        yield left


def _matches(block: LogPiece, needle: bytes, *, is_exact: bool) -> Iterator[Match]:
    """Yield the matching lines of a block. Line numbers hold because escape sequences contain no line end."""
    text = _ESCAPES.sub(b"", block.data) if b"\x1b" in block.data else block.data
    searched = text if is_exact else text.lower()
    line, counted = block.line, 0
    raw_place, raw_line = 0, block.line
    at = searched.find(needle)
    while at >= 0:
        line += searched.count(b"\n", counted, at)
        for _ in range(line - raw_line):
            raw_place = block.data.index(b"\n", raw_place) + 1
        raw_line = line
        begin = searched.rfind(b"\n", 0, at) + 1
        end = searched.find(b"\n", at)
        end = len(text) if end < 0 else end
        # In a long line, the part with the text.
        shown = text[max(begin, at - _SHOWN // 2) : min(end, at + 2 * _SHOWN)]
        yield Match(line + 1, block.start + raw_place, plain(shown.decode(errors="replace"), _SHOWN))
        counted = end
        at = searched.find(needle, end)
