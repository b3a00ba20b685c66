"""Changes, comments and requests as steps read and write them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from service.domain.review.change import Change, CommentSource, PostedMessage
from service.domain.review.form_commands import FormCommand
from service.domain.values.identity import ChangeKey


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A stored change and its current patch set. ``is_current`` is False if a newer state was stored.

    ``is_public``: the review server showed it to a reader who does not sign in.
    """

    change_id: int
    patch_set_id: int
    is_current: bool
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class SyncCursor:
    """The progress of reading a review server, by the server's own clock.

    Comments from before ``first_contact`` are ignored; every change updated before ``seen_until`` is stored.
    Inline comments up to ``inline_after`` were seen by a version that ignored them; None: there was none.
    """

    first_contact: datetime
    seen_until: datetime
    inline_after: datetime | None = None


class CommentState(StrEnum):
    """The progress of a message that may hold commands."""

    PENDING = "pending"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ReviewComment:
    """A message on a patch set that may hold commands.

    ``signed_in_as`` is the identity provider's name for the person who wrote it on a page; else empty.
    ``command`` is that of a page's form; None: the text has the commands.
    """

    id: int
    change_id: int
    patch_set_id: int
    change: ChangeKey
    patch_set: int
    revision: str
    account: str
    person: str
    text: str
    is_pending: bool
    source: CommentSource
    signed_in_as: str = ""
    command: FormCommand | None = None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A command that a person requests on a page.

    Args:
        patch_set_id: the patch set that the page showed.
        account: the person's account on the review server.
        person: the name that the review server shows for the account.
        signed_in_as: the identity provider's name for the person, who need not be the account's owner: an
            e-mail address links the two.
        command: the command.
        ticket: the digest of the form's ticket; a request with one that was used before changes nothing.
    """

    patch_set_id: int
    account: str
    person: str
    signed_in_as: str
    command: FormCommand
    ticket: bytes


class Events(Protocol):
    """Hints of review servers that a change moved, and how far each server was read."""

    def add(
        self, instance: str, digest: bytes, kind: str, change: int | None, body: bytes, project: str = ""
    ) -> int:
        """Store an event; return its id. A duplicate is counted and is unhandled again.

        ``project`` is that of the change; empty if it is not known.
        """

    def change_of(self, event_id: int) -> ChangeKey | None:
        """Return the change an event hints at; None if it concerns none. Raises NotFound."""

    def mark_handled(self, event_id: int) -> None:
        """Record that an event needs no more work."""

    def cursor(self, instance: str) -> SyncCursor | None:
        """Return how far a server was read; None before the first contact."""

    def move_cursor(self, instance: str, seen_until: datetime) -> None:
        """Record that every change updated before then is stored; a cursor never moves back."""


class Changes(Protocol):
    """Changes and their patch sets, as the review server last showed them."""

    def upsert(self, change: Change) -> ChangeRecord:
        """Store a change and its current patch set unless a newer state is stored; lock the change.

        Newer is the later update; of updates at the same moment, the higher patch set.
        """

    def lock(self, key: ChangeKey) -> int | None:
        """Lock a change until the transaction ends; return its id, or None if it is not stored."""

    def same_code(self, change: ChangeKey, revision: str) -> Sequence[int]:
        """Return the number of a patch set and those directly before it with the same code, newest first.

        Empty if the patch set is not stored.
        """

    def with_patch_set(self, instance: str, branch: tuple[str, str], revision: str) -> ChangeKey | None:
        """Return the change with this patch set on a branch, given by project and name, as last stored."""

    def open_changes(self, instance: str) -> Sequence[ChangeKey]:
        """Return the changes of a server that are open as last stored, by number."""


class Visibility(Protocol):
    """Changes and branches visible without sign-in, by the server's last answer; none at first.

    A change stops being public when it turns private, moves to another branch, or is hidden from Benchgate.
    """

    def hide_change(self, change_id: int) -> None:
        """Record that the server does not show a change to Benchgate: it is deleted, or private."""

    def record_visible(self, instance: str, asked: Collection[int], visible: Collection[int]) -> None:
        """Record which of the changes that Benchgate asked about are public, and so are their branches.

        A change that is stored as private stays hidden: the answer is older than its new state.
        """

    def hidden_changes(self, instance: str, after: int, limit: int) -> Sequence[int]:
        """Return changes on public branches that are neither private nor public, by number."""

    def branches(self, instance: str) -> Sequence[tuple[str, str]]:
        """Return project and branch of all stored changes."""

    def record_branch(self, instance: str, project: str, branch: str, *, is_public: bool) -> None:
        """Record whether a branch is public; if it is not, nor are its changes."""


class ReviewComments(Protocol):
    """Messages on changes, and requests on pages, that may hold commands; each is answered once."""

    def record(self, record: ChangeRecord, messages: Sequence[PostedMessage]) -> Sequence[int]:
        """Store messages on the current patch set in their order; return the ids of the new ones."""

    def add_request(self, request: PageRequest) -> int | None:
        """Store a request of a page as a message; return its id, None if its ticket was used before."""

    def lock(self, comment_id: int) -> ReviewComment:
        """Return a message; its change is locked until the transaction ends. Raises NotFound."""

    def pending_until(self, comment_id: int) -> Sequence[ReviewComment]:
        """Return the unanswered messages of its change up to a message, oldest first."""

    def answer(self, comment_id: int, text: str) -> None:
        """Record that a message was handled, and the reply; it may be empty."""
