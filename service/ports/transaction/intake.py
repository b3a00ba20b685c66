"""Review server data in a unit of work: events, changes, comments and the sync cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from service.domain.gerrit.change import Change, PostedMessage
    from service.domain.identity import ChangeKey
    from service.ports.records import ChangeRecord, ReviewComment, SyncCursor


class Events(Protocol):
    """Events of a review server, each a hint that a change moved."""

    def add_event(self, instance: str, digest: bytes, kind: str, change: int | None, body: bytes) -> int:
        """Store an event; return its id. A duplicate is counted and is unhandled again."""

    def event_change(self, event_id: int) -> ChangeKey | None:
        """Return the change an event hints at; None if it concerns none. NotFound without such an event."""

    def mark_handled(self, event_id: int) -> None:
        """Record that an event needs no more work."""


class SyncCursors(Protocol):
    """The progress of reading each review server."""

    def sync_cursor(self, instance: str) -> SyncCursor | None:
        """Return how far a server was read; None before the first contact."""

    def move_sync_cursor(self, instance: str, seen_until: datetime) -> None:
        """Record that every change updated before then is stored; a cursor never moves back."""


class Changes(Protocol):
    """Changes and their patch sets, as the review server last showed them."""

    def upsert_change(self, change: Change) -> ChangeRecord:
        """Store a change and its current patch set unless a newer state is stored; lock the change.

        Newer is the later update; of updates at the same moment, the higher patch set.
        """

    def open_changes(self, instance: str) -> Sequence[ChangeKey]:
        """Return the changes of a server that are open as last stored, by number."""


class ReviewComments(Protocol):
    """Messages on changes that may hold commands; each is answered once."""

    def record_comments(self, record: ChangeRecord, messages: Sequence[PostedMessage]) -> Sequence[int]:
        """Store messages on the current patch set in their order; return the ids of the new ones."""

    def lock_comment(self, comment_id: int) -> ReviewComment:
        """Return a message; its change is locked until the transaction ends. NotFound without such a one."""

    def pending_until(self, comment_id: int) -> Sequence[ReviewComment]:
        """Return the unanswered messages of its change up to a message, oldest first."""

    def answer(self, comment_id: int, text: str) -> None:
        """Record that a message was handled, and the reply; it may be empty."""
