"""Known failures' bugs: the tracker, and its stored answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BugCount:
    """The number of builds that a bug's known failures matched, to be posted on the bug.

    Args:
        url: the bug's address, as its tracker gave it.
        builds: all of them; equal for each attempt to post this count.
        known_id: the oldest known failure of the bug that matched one.
    """

    url: str
    builds: int
    known_id: int


class BugTracker(Protocol):
    """A bug tracker, asked as one account. Raises Transient, Refused, Permanent."""

    def look(self, bug: str) -> Bug | None:
        """Read a bug by its id or the address of its page.

        None if the text does not name a bug of this tracker, or the account sees no such bug.
        """

    def post_count(self, bug: str, text: str) -> None:
        """Add a comment to a bug, unless one of its newest comments begins with the same line.

        So it may be repeated if the response was lost. Readers see the text as it is, without markup or
        mentions.

        Raises:
            NotFound: the text does not name a bug of this tracker, or the account sees no such bug.
            Permanent: comments are not allowed by the settings, or the tracker rejects this one.
            Transient: no response; the comment may have been added or not.
        """


class BugNotes(Protocol):
    """The bugs of known failures: the tracker's last answers, and the posted counts. Raises Transient."""

    def due_bugs(self, most: int) -> Sequence[str]:
        """Return bugs of confirmed known failures, also expired ones, that were not asked for within an hour.

        Those that were never asked for come first, then the others by due time.
        """

    def note_bug(self, bug: str, found: Bug | None) -> None:
        """Store the tracker's answer. None: it knows no such bug."""

    def postpone_bug(self, bug: str, seconds: float) -> None:
        """Ask for a bug again later, because the tracker did not answer; its last answer stays."""

    def due_counts(self, most: int) -> Sequence[BugCount]:
        """Return counts to post, in any order: those of bugs that the tracker described within a day.

        A count is due if it changed since the last one was posted, a day ago or longer. It stays due, with
        the same number of builds, until it is posted.
        """

    def note_posted(self, count: BugCount) -> None:
        """Note that a count was posted."""
