"""The event stream of a review server as the listener uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the event stream without its end; only the beginning of one that no event can have."""

    body: bytes
    is_whole: bool = True


class Lines(Protocol):
    """One connection to the stream."""

    @property
    def is_connected(self) -> bool:
        """Return whether the server has subscribed this client, so that it receives all later events."""

    def next_line(self, seconds: float) -> Line | None:
        """Wait for the next line; None after the given seconds. Raises Transient if the connection ended."""


class Stream(Protocol):
    """A source of events."""

    def lines(self) -> AbstractContextManager[Lines]:
        """Open a connection, closed at the end of the block. Raises Transient if it cannot be opened."""
