"""Read the stored log of a build from a place on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Stream = Callable[[str], Iterator[bytes]]
"""The bytes of an artifact, in chunks."""


@dataclass(frozen=True, slots=True)
class LogPart:
    """A part of a log, as it was stored.

    ``start`` is its place, and ``line`` the number of line ends before it. The bytes are in ``artifact``, or
    in ``data`` if that is empty.
    """

    start: int
    line: int
    size: int
    artifact: str = ""
    data: bytes = b""

    @property
    def end(self) -> int:
        """The place after it."""
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes that are not stored, because the log was too long."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The place after them."""
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Bytes of a log, their place, and the number of line ends before them."""

    start: int
    line: int
    data: bytes

    @property
    def end(self) -> int:
        """The place after them."""
        return self.start + len(self.data)


@dataclass(frozen=True, slots=True)
class StoredLog:
    """The log of a build's newest attempt.

    A place is a byte offset in the log as written, including bytes that are not stored.

    Args:
        name: differs for each attempt.
        parts: in order.
        is_growing: the build has not ended.
    """

    name: str
    parts: tuple[LogPart, ...]
    is_growing: bool = False

    @property
    def size(self) -> int:
        """The place after the newest byte."""
        return self.parts[-1].end if self.parts else 0

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps in it, in order."""
        ends = (0, *(part.end for part in self.parts))
        pairs = zip(ends, self.parts, strict=False)
        return tuple(Gap(end, part.start - end) for end, part in pairs if part.start > end)

    @property
    def stable_parts(self) -> tuple[LogPart, ...]:
        """The parts that will not change: those before the first gap of a growing log, else all."""
        gaps = self.gaps if self.is_growing else ()
        return tuple(part for part in self.parts if not gaps or part.end <= gaps[0].start)

    def run_before(self, place: int) -> int:
        """Return the start of the gapless bytes before a place."""
        return max((gap.end for gap in self.gaps if gap.end < place), default=0)


def pieces(log: StoredLog, place: int, stream: Stream) -> Iterator[LogPiece]:
    """Yield what is stored from a place on, lazily.

    Raises:
        NotFound: a part is not stored any more.
        Transient: the disk does not answer.
        Permanent: a part is damaged.
    """
    for part in log.parts:
        if part.end <= place:
            continue
        start, line = part.start, part.line
        for chunk in stream(part.artifact) if part.artifact else (part.data,):
            skipped = max(place - start, 0)
            if skipped < len(chunk):
                yield LogPiece(start + skipped, line + chunk.count(b"\n", 0, skipped), chunk[skipped:])
            start += len(chunk)
            line += chunk.count(b"\n")


def read(log: StoredLog, place: int, at_most: int, stream: Stream) -> LogPiece:
    """Return the first stored bytes from a place on, up to the next gap; raises as ``pieces``."""
    found: list[bytes] = []
    start, line, end = log.size, 0, log.size
    for piece in pieces(log, place, stream):
        if not found:
            start, line = piece.start, piece.line
        elif piece.start > end:
            break
        end = piece.end
        found.append(piece.data)
        if end - start >= at_most:
            break
    return LogPiece(start, line, b"".join(found)[:at_most])
