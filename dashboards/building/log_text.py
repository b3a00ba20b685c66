"""Serve the text of a log without control characters: ranges of the whole, and its last lines."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final

from fastapi.responses import Response, StreamingResponse
from starlette.exceptions import HTTPException

from service.domain.building.logs.pages import page_before
from service.domain.values.errors import NotFound
from service.domain.values.text import ESCAPE_SEQUENCE, plain_lines, unsafe_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fastapi import Request

    from service.domain.building.logs.stored_log import LogPart, StoredLog, Stream

_LINE_BYTES: Final = 1 << 10  # a generous line of output
# As long as the characters that they replace, so that ranges and sizes are those of the stored log.
_FILLERS: Final = {1: "?", 2: "\u00b7", 3: "\ufffd", 4: "\ufffd?"}
_ASCII: Final = bytes(
    ord(" ") if byte == ord("\r") else byte if chr(byte) in "\n\t" or chr(byte).isprintable() else ord("?")
    for byte in range(256)
)
_RANGE: Final = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
_MEDIA_TYPE: Final = "text/plain; charset=utf-8"


def text_response(request: Request, log: StoredLog, stream: Stream) -> Response:
    """Answer with the text of a log, or a range of it.

    The text lacks the bytes that are left out of a log; a header names each gap by its place in the text and
    its size. While a log grows, bytes are only appended to the text.
    """
    parts = log.stable_parts
    size = sum(part.size for part in parts)
    state = f"{len(parts)}-{size}" if log.is_growing else "all"
    etag = f'"{log.name}-{state}"'
    start, end = _wanted(request, size, etag)
    headers = {
        "Accept-Ranges": "bytes",
        "Cache-Control": "no-cache",
        "Content-Length": str(end - start),
        "ETag": etag,
    }
    if gaps := _gaps(parts):
        headers["Benchgate-Log-Gaps"] = ", ".join(f"{place}+{left_out}" for place, left_out in gaps)
    status = 200
    if (start, end) != (0, size):
        status, headers["Content-Range"] = 206, f"bytes {start}-{end - 1}/{size}"
    if request.state.is_head:
        return Response(status_code=status, headers=headers, media_type=_MEDIA_TYPE)
    return StreamingResponse(_text(parts, start, end, stream), status, headers, _MEDIA_TYPE)


def tail_of(stream: Stream, log: StoredLog, lines: int) -> str:
    """Return the last ``lines`` lines of a log."""
    try:
        text = as_text(page_before(log, log.size, stream, lines * _LINE_BYTES).data)
    except NotFound:
        return "The log is no longer stored."
    return "\n".join(text.splitlines()[-lines:])


def as_text(data: bytes) -> str:
    """Decode a part of a log without colours and control characters."""
    return plain_lines(ESCAPE_SEQUENCE.sub("", data.decode("utf-8", "replace")))


def harmless(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Replace the bytes of control characters and of broken UTF-8 by as many others."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for chunk in chunks:
        if chunk.isascii() and not decoder.getstate()[0]:  # the usual case, and quick
            yield chunk.translate(_ASCII)
        else:
            yield _replaced(decoder.decode(chunk))
    yield _replaced(decoder.decode(b"", final=True))


def _replaced(text: str) -> bytes:
    fillers = {ord(c): _FILLERS[len(c.encode("utf-8", "surrogateescape"))] for c in unsafe_in(text)}
    if "\r" in text:
        fillers[ord("\r")] = " "  # of line ends, and between the states of a progress bar
    return text.translate(fillers).encode()


def _gaps(parts: Iterable[LogPart]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    place = end = 0
    for part in parts:
        if part.start > end:
            found.append((place, part.start - end))
        place, end = place + part.size, part.end
    return found


def _text(parts: Iterable[LogPart], start: int, end: int, stream: Stream) -> Iterator[bytes]:
    """Yield a range of the text; parts before and after it are not read."""
    place = 0
    for part in parts:
        if place >= end:
            return
        if place + part.size > start:
            at = place
            # Each part by itself: its text is the same, whichever range it is in.
            for chunk in harmless(stream(part.artifact) if part.artifact else (part.data,)):
                if piece := chunk[max(start - at, 0) : end - at]:
                    yield piece
                at += len(chunk)
                if at >= end:
                    return
        place += part.size


def _wanted(request: Request, size: int, etag: str) -> tuple[int, int]:
    """Return the range that a request asks for; the whole text if it names none, or several.

    Raises:
        HTTPException: the range lies beyond the end.
    """
    given = _RANGE.fullmatch(request.headers.get("range", ""))
    if given is None or not any(given.groups()) or request.headers.get("if-range", etag) != etag:
        return 0, size
    first, last = given.groups()
    if not first:
        start, end = max(size - int(last), 0), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
    if start >= end:
        raise HTTPException(416, "the log has no such bytes", {"Content-Range": f"bytes */{size}"})
    return start, end
