"""The log of a running build: its beginning and its newest end, in a file of bounded size."""

from __future__ import annotations

import threading
from io import BytesIO
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LOG_BYTES: Final = 64 << 20  # more than a person reads, and little for a disk
SINCE_BYTES: Final = 8 << 20  # parsed in about a second
# The first error is in the beginning; the end has the summary of the tests, and the last words of a crash.
_HEADS: Final = 4  # the beginning is one part in this many


class BuildLog:
    """A log that accepts any number of bytes, and keeps the first and the newest of them.

    A place in the log is the number of bytes written before it, including those that were left out since.
    Several threads may call the methods.

    Args:
        spool: holds the kept bytes; empty, and readable. None: memory.
        limit: the number of bytes to keep, at least 4.
    """

    def __init__(self, spool: BinaryIO | None = None, limit: int = LOG_BYTES) -> None:
        self._spool = BytesIO() if spool is None else spool
        self._head = limit // _HEADS
        self._tail = limit - self._head
        self._size = 0
        self._lock = threading.Lock()

    def write(self, data: bytes, /) -> int:
        """Append all of these bytes; raises OSError if the disk is full."""
        with self._lock:
            begin, end = self._size, self._size + len(data)
            # The middle of very long data would be overwritten at once.
            for first, last in (
                (begin, min(end, self._head)),
                (max(begin, self._head, end - self._tail), end),
            ):
                for piece in self._pieces(first, last):
                    self._spool.seek(self._position(piece.start))
                    _write_all(self._spool, data[piece.start - begin : piece.stop - begin])
            self._size = end
        return len(data)

    def mark(self) -> int:
        """Return the place of the next byte."""
        return self._size

    def since(self, mark: int, at_most: int = SINCE_BYTES) -> bytes:
        """Return the bytes written since a mark, for a parser of lines.

        If they are more than ``at_most``, or some are left out, these are whole lines of their beginning,
        then whole lines of their end: fewer bytes than ``mark() - mark``.
        """
        with self._lock:
            size, head, tail = self._size, min(self._head, self._size), self._first_of_tail()
            is_cut = mark < tail and head < tail
            if not is_cut and size - mark <= at_most:
                return self._read(mark, size)
            half = at_most // 2
            first = self._read(mark, min(mark + half, head if is_cut else size))
            last = self._read(max(mark, tail, size - half), size)
        return first[: first.rfind(b"\n") + 1] + last[last.find(b"\n") + 1 :]

    def kept(self) -> bytes:
        """Return the beginning and the end, with a line about the number of bytes between them if any."""
        with self._lock:
            head, tail = min(self._head, self._size), self._first_of_tail()
            gap = f"\n== {tail - head} bytes of the log are left out here\n".encode() if head < tail else b""
            return self._read(0, head) + gap + self._read(tail, self._size)

    def _first_of_tail(self) -> int:
        """Return the place from which on everything is kept, after the beginning."""
        return max(min(self._head, self._size), self._size - self._tail)

    def _read(self, begin: int, end: int) -> bytes:
        found = []
        for piece in self._pieces(begin, end):
            self._spool.seek(self._position(piece.start))
            found.append(self._spool.read(len(piece)))
        return b"".join(found)

    def _pieces(self, begin: int, end: int) -> Iterator[range]:
        """Yield the places between two in pieces without a break in the file."""
        while begin < end:
            # Whole rounds of the ring that holds the tail.
            rounds = max(0, begin - self._head) // self._tail + 1
            stop = min(end, self._head + rounds * self._tail)
            yield range(begin, stop)
            begin = stop

    def _position(self, place: int) -> int:
        """Return the position of a place in the file."""
        return place if place < self._head else self._head + (place - self._head) % self._tail


def _write_all(spool: BinaryIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[spool.write(left) :]  # a file that is almost full takes a part
