"""The stored log of a build: its parts, and the bytes at a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Stream = Callable[[str], tuple[int, Iterator[bytes]]]
"""The size and the bytes of an artifact, in chunks."""


@dataclass(frozen=True, slots=True)
class LogPart:
    """A part of a log that was stored at once.

    ``start`` is its place, and ``line`` the number of line ends before it. The bytes are those of
    ``artifact``, or ``data`` if that is empty.
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
    """Bytes of a log that are not stored, because the log was too long."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The place after them."""
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Some bytes of a log, their place, and the number of line ends before them."""

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

    A place is the number of bytes written before it, also of those that are not stored. ``name`` is another
    one for each attempt. ``parts`` are in order. ``is_growing``: the build has not ended. ``whole`` is the
    artifact with all of a log that a previous version stored, which has no parts.
    """

    name: str
    parts: tuple[LogPart, ...]
    is_growing: bool = False
    whole: str = ""

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
        """The parts that stay while the log grows: those before its first gap; all once it does not grow."""
        gaps = self.gaps if self.is_growing else ()
        return tuple(part for part in self.parts if not gaps or part.end <= gaps[0].start)

    def run_before(self, place: int) -> int:
        """Return where the bytes before a place begin that are stored without a gap."""
        return max((gap.end for gap in self.gaps if gap.end < place), default=0)


def opened(log: StoredLog, stream: Stream) -> StoredLog:
    """Return the log with its parts, also that of a previous version; raises as ``pieces``."""
    if not log.whole:
        return log
    size, _ = stream(log.whole)
    return StoredLog(log.whole, (LogPart(0, 0, size, log.whole),) if size else ())


def pieces(log: StoredLog, place: int, stream: Stream) -> Iterator[LogPiece]:
    """Yield what is stored of a log from a place on; each piece is read when it is asked for.

    Raises:
        NotFound: a part is not stored any more.
        Transient: the disk does not answer.
        Permanent: a part is damaged.
    """
    for part in log.parts:
        if part.end <= place:
            continue
        start, line = part.start, part.line
        for chunk in stream(part.artifact)[1] if part.artifact else (part.data,):
            skipped = max(place - start, 0)
            if skipped < len(chunk):
                yield LogPiece(start + skipped, line + chunk.count(b"\n", 0, skipped), chunk[skipped:])
            start += len(chunk)
            line += chunk.count(b"\n")


def read(log: StoredLog, place: int, at_most: int, stream: Stream) -> LogPiece:
    """Return the first stored bytes from a place on, up to the next gap; none after the end.

    Raises what ``pieces`` raises.
    """
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
