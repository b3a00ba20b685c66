"""Logs of builds: a page of their end, and the whole text in ranges, without control characters."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from service.domain.errors import NotFound
from service.domain.text import ESCAPE_SEQUENCE, plain_lines, unsafe_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dashboards.rendering import Pages
    from service.ports.reading import BuildReading

    StreamLog = Callable[[str], tuple[int, Iterator[bytes]]]  # as Artifacts.stream

PAGE_BYTES: Final = 1 << 20  # more of a log than a browser shows with ease
_LINE_BYTES: Final = 1 << 10  # a generous line of output
# Of as many bytes as the character that they replace, so that ranges and sizes are those of the stored log.
_FILLERS: Final = {1: "?", 2: "\u00b7", 3: "\ufffd", 4: "\ufffd?"}
_ASCII: Final = bytes(
    ord(" ") if byte == ord("\r") else byte if chr(byte) in "\n\t" or chr(byte).isprintable() else ord("?")
    for byte in range(256)
)
_RANGE: Final = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
JobName = Annotated[str, Path(max_length=100)]
Number = Annotated[int, Path(ge=1, le=(1 << 31) - 1)]


def add_logs(
    router: APIRouter, reading_of: Callable[[Request], BuildReading], pages: Pages, stream_log: StreamLog
) -> None:
    """Add the page of a build's log, and its text."""

    def key_of(request: Request, job: str, number: int) -> str:
        key = reading_of(request).build(job, number).log
        if key is None:
            raise NotFound(f"the build {job}/{number} has no log")
        return key

    @router.get("/job/{job}/{number}/log")
    def log(request: Request, job: JobName, number: Number) -> HTMLResponse:
        size, chunks = stream_log(key_of(request, job, number))
        return pages.render(
            request, "log.html", job=job, number=number, size=size, shown=min(size, PAGE_BYTES),
            text=as_text(_end(chunks, PAGE_BYTES)),
        )  # fmt: skip

    @router.get("/job/{job}/{number}/log.txt")
    def log_text(job: JobName, number: Number, request: Request) -> Response:
        key = key_of(request, job, number)
        size, chunks = stream_log(key)
        start, end = _wanted(request, size, f'"{key}"')
        headers = {
            "Accept-Ranges": "bytes",
            "Cache-Control": "no-cache",
            "Content-Length": str(end - start),
            "ETag": f'"{key}"',
        }
        status = 200
        if (start, end) != (0, size):
            status, headers["Content-Range"] = 206, f"bytes {start}-{end - 1}/{size}"
        media_type = "text/plain; charset=utf-8"
        if request.state.is_head:
            return Response(status_code=status, headers=headers, media_type=media_type)
        return StreamingResponse(_part(harmless(chunks), start, end), status, headers, media_type)


def tail_of(stream_log: StreamLog, key: str | None, lines: int) -> str:
    """Return the last lines of a log; empty if there is none."""
    if key is None:
        return ""
    try:
        _, chunks = stream_log(key)
        text = as_text(_end(chunks, lines * _LINE_BYTES))
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


def _end(chunks: Iterable[bytes], most: int) -> bytes:
    kept = b""
    for chunk in chunks:
        kept = (kept + chunk)[-most:]
    return kept


def _part(chunks: Iterable[bytes], start: int, end: int) -> Iterator[bytes]:
    place = 0
    for chunk in chunks:
        if part := chunk[max(start - place, 0) : end - place]:
            yield part
        place += len(chunk)
        if place >= end:
            return


def _wanted(request: Request, size: int, etag: str) -> tuple[int, int]:
    """Return the range that a request asks for; the whole if it names none, or several.

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
