"""Cut a log into pages of whole lines."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final

from service.domain.building.logs.stored_log import LogPiece, read

if TYPE_CHECKING:
    from service.domain.building.logs.stored_log import StoredLog, Stream

PAGE_BYTES: Final = 256 << 10
PAGE_LINES: Final = 5000  # each is an element of the page
_CONTEXT_BYTES: Final = 2048  # about twenty lines
_CONTINUES: Final = range(0x80, 0xC0)  # continuation bytes of UTF-8


def whole_characters(data: bytes) -> bytes:
    """Cut an incomplete UTF-8 character off the end, unless nothing else is left. Invalid bytes stay."""
    tail = data[-3:]  # the longest incomplete character
    _, whole = codecs.utf_8_decode(tail, "replace")
    return data[: len(data) - len(tail) + whole] or data


def page_from(log: StoredLog, place: int, stream: Stream) -> LogPiece:
    """Return the page that begins at the start of a line or the end of a page; raises as ``read``."""
    place = next((gap.end for gap in log.gaps if gap.start <= place < gap.end), place)
    found = read(log, place, PAGE_BYTES, stream)
    data = found.data
    if found.end < log.size and all(found.end != gap.start for gap in log.gaps):
        data = data[: data.rfind(b"\n") + 1] or whole_characters(data)
    return LogPiece(found.start, found.line, _first_lines(data))


def page_around(log: StoredLog, place: int, stream: Stream) -> LogPiece:
    """Return a page with the line that begins at a place, and some lines before it; raises as ``read``."""
    return page_from(log, page_before(log, place, stream, _CONTEXT_BYTES).start, stream)


def page_before(log: StoredLog, end: int, stream: Stream, at_most: int | None = None) -> LogPiece:
    """Return the page that ends at the end of a line or of the log; raises as ``read``."""
    end = min(end, log.size)
    end = next((gap.start for gap in log.gaps if gap.start < end <= gap.end), end)
    first = log.run_before(end)
    start = max(first, end - (at_most or PAGE_BYTES))
    if start == first:
        found = read(log, start, end - start, stream)
    else:
        found = _from_line_start(read(log, start - 1, end - start + 1, stream))
    data = _last_lines(found.data)
    return LogPiece(found.end - len(data), found.line + found.data[: -len(data) or None].count(b"\n"), data)


def _from_line_start(piece: LogPiece) -> LogPiece:
    """Cut off the first byte and the rest of its line, or of its character if no other line follows."""
    cut = piece.data.find(b"\n") + 1
    if cut in (0, len(piece.data)):
        cut = next((i for i in range(1, len(piece.data)) if piece.data[i] not in _CONTINUES), len(piece.data))
    return LogPiece(piece.start + cut, piece.line + piece.data.count(b"\n", 0, cut), piece.data[cut:])


def _first_lines(data: bytes) -> bytes:
    lines = data.split(b"\n", PAGE_LINES)
    return data if len(lines) <= PAGE_LINES else data[: len(data) - len(lines[-1])]


def _last_lines(data: bytes) -> bytes:
    is_ended = data.endswith(b"\n")
    lines = data.rsplit(b"\n", PAGE_LINES + is_ended)
    return data if len(lines) <= PAGE_LINES + is_ended else data[len(lines[0]) + 1 :]
