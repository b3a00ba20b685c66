"""Review server for the steps, and event stream for the listener."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from service.domain.review.change import Account, Change, ChangeStatus, Posted, PostedMessage, Review
from service.domain.values.identity import ChangeKey


class Permissions(Protocol):
    """Rights of accounts on the review server, asked at each call. Raises Transient, Permanent."""

    def is_member(self, account: str, group: str) -> bool:
        """Return whether an account is in a group now; raises Permanent if the group cannot be read."""

    def account_of(self, email: str) -> Account | None:
        """Return the only active account with this preferred e-mail address; None if there is no such one."""

    def visible(self, account: str | None, numbers: Collection[int]) -> frozenset[int]:
        """Return which of these changes an account may see (None: a reader who does not sign in).

        A change that Benchgate's own account cannot see is not among them.
        """

    def can_read(self, account: str | None, project: str, branch: str) -> bool:
        """Return whether an account (None: as above) may read a branch and has at least one change there."""


class AccountRights(Protocol):
    """Rights of accounts on all review servers, from a short-lived cache. Raises Transient, Permanent."""

    def account_of(self, instance: str, email: str) -> Account | None:
        """Return the only active account with this preferred e-mail address; None if there is no such one."""

    def is_member(self, instance: str, account: str, group: str) -> bool:
        """Return whether an account is in a group; raises Permanent if the group cannot be read."""


class CurrentChanges(Protocol):
    """Changes in their current state. The errors are those of :class:`ReviewServer`."""

    def change(self, key: ChangeKey) -> Change:
        """Fetch the current state of a change.

        Raises:
            NotFound: there is no such change, or Benchgate's account cannot see it.
            Permanent: a required value is missing.
        """

    def changes_since(self, moment: datetime | None) -> Iterable[Change]:
        """Fetch all changes updated since then (None: all open changes), in any order."""

    def status_of(self, project: str, branch: str, commit: str) -> ChangeStatus | None:
        """Return the status of the change on a branch with this patch set, which may be outdated.

        None: there is no such change, or Benchgate's account cannot see it.
        """

    def messages(self, key: ChangeKey) -> Sequence[PostedMessage]:
        """Fetch all messages on a change, oldest first, each followed by its author's inline comments.

        The inline comments of programs are left out.
        """


class ReviewServer(Permissions, CurrentChanges, Protocol):
    """Gerrit or the console review server. Raises Transient, Permanent, NotFound."""

    @property
    def instance(self) -> str:
        """Its changes are stored under this name."""

    @property
    def account(self) -> str:
        """Account that Benchgate posts as, and recognises its own messages by."""

    def for_pages(self) -> Permissions:
        """Return the rights on this server, asked with short timeouts, because somebody waits for a page."""

    def now(self) -> datetime:
        """Read the server's clock, to the second. Times of two clocks are never compared."""

    def post(self, review: Review) -> Posted:
        """Post on exactly that revision, and return the parts that the server accepted.

        The result lacks labels that are unknown or out of range; the rest of the review is posted.

        Raises:
            NotFound: there is no such change or revision.
            Permanent: the server rejects the review, for example a vote on a closed change.
            Forbidden: Benchgate's account may not cast this vote; nothing was posted.
            Transient: no response; the review may have been posted or not.
        """


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the event stream without its end; cut if it is too long for an event."""

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
