"""Keep a running build's log, its beginning and its newest end, in a file of bounded size."""

from __future__ import annotations

import threading
from io import BytesIO
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.ports.machines import BuildOutput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LOG_BYTES: Final = 64 << 20  # more than a person reads, and little for a disk
SINCE_BYTES: Final = 8 << 20  # parsed in about a second
# The first error is in the beginning; the end has the summary of the tests, and the last words of a crash.
_HEADS: Final = 4  # the beginning is one part in this many

_BLOCK_BYTES: Final = 1 << 20


class BuildLog(BuildOutput):
    """A log that accepts any number of bytes and keeps the first and the newest.

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
        self._lines = 0
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
            self._lines += data.count(b"\n")
        return len(data)

    @override
    def mark(self) -> int:
        return self._size

    @override
    def stable_end(self) -> int:
        return min(self._head, self._size)

    @override
    def read(self, place: int, at_most: int) -> tuple[int, bytes]:
        with self._lock:
            head, tail = self.stable_end(), self._first_of_tail()
            begin = place if place < head else max(place, tail)
            end = head if begin < head < tail else self._size
            return begin, self._read(begin, min(end, begin + at_most))

    @override
    def lines_before(self, place: int) -> int:
        with self._lock:
            # The tail is at most a second's work to read, and its beginning is asked for once.
            return self._lines - sum(
                self._read(each.start, each.stop).count(b"\n") for each in self._blocks(place)
            )

    def since(self, mark: int, at_most: int = SINCE_BYTES) -> bytes:
        """Return the bytes written since a mark, for a parser of lines.

        If they are more than ``at_most``, or some are left out: whole lines of their beginning, then whole
        lines of their end, fewer bytes than ``mark() - mark``.
        """
        with self._lock:
            size, head, tail = self._size, self.stable_end(), self._first_of_tail()
            is_cut = mark < tail and head < tail
            if not is_cut and size - mark <= at_most:
                return self._read(mark, size)
            half = at_most // 2
            first = self._read(mark, min(mark + half, head if is_cut else size))
            last = self._read(max(mark, tail, size - half), size)
        return first[: first.rfind(b"\n") + 1] + last[last.find(b"\n") + 1 :]

    @override
    def kept(self) -> bytes:
        with self._lock:
            head, tail = self.stable_end(), self._first_of_tail()
            gap = f"\n== {tail - head} bytes of the log are left out here\n".encode() if head < tail else b""
            return self._read(0, head) + gap + self._read(tail, self._size)

    def _first_of_tail(self) -> int:
        """Return the place after which everything is kept, behind the beginning."""
        return max(self.stable_end(), self._size - self._tail)

    def _blocks(self, place: int) -> Iterator[range]:
        """Yield the places from one to the end, in blocks that fit into memory."""
        for begin in range(place, self._size, _BLOCK_BYTES):
            yield range(begin, min(begin + _BLOCK_BYTES, self._size))

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
