"""The bug tracker of known failures, as the steps use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A bug as its tracker describes it now.

    Args:
        title: one line, without control characters.
        state: the tracker's name for it, such as ``In Progress``.
        is_closed: nobody works on the bug any more: it is fixed, rejected or a duplicate.
        url: the address of its page; made of the tracker's configured address and the bug's key only.
    """

    title: str
    state: str
    is_closed: bool
    url: str


class BugTracker(Protocol):
    """A bug tracker, asked as one account. Raises Transient, Refused, Permanent."""

    def look(self, bug: str) -> Bug | None:
        """Read a bug by its id or the address of its page.

        None if the text does not name a bug of this tracker, or the account sees no such bug.
        """

    def post_count(self, bug: str, text: str) -> None:
        """Add a comment of a few lines to a bug; readers see the text as it is, without markup or mentions.

        Raises:
            NotFound: the text does not name a bug of this tracker, or the account sees no such bug.
            Permanent: comments are not allowed by the settings, or the tracker rejects this one.
            Transient: no response; the comment may have been added or not.
        """
