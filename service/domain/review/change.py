"""Changes, messages and reviews, as Benchgate exchanges them with a review server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.values.identity import ChangeKey

if TYPE_CHECKING:
    from collections.abc import Sequence


EVENT_BYTES: Final = 256 << 10  # an event with a very long commit message is far smaller


class ChangeStatus(StrEnum):
    """The status of a change."""

    NEW = "NEW"
    MERGED = "MERGED"
    ABANDONED = "ABANDONED"


class PatchSetKind(StrEnum):
    """Difference of a patch set from the one before; the store and the API have the values."""

    OTHER_CODE = "REWORK"
    REBASED = "TRIVIAL_REBASE"
    REBASED_WITH_MESSAGE = "TRIVIAL_REBASE_WITH_MESSAGE_UPDATE"
    MERGED_AGAIN = "MERGE_FIRST_PARENT_UPDATE"
    OTHER_MESSAGE = "NO_CODE_CHANGE"
    EQUAL = "NO_CHANGE"

    @classmethod
    def _missing_(cls, _value: object) -> PatchSetKind:
        return cls.OTHER_CODE


OTHER_WAYS: Final = "Other ways:"  # before the link; earlier versions wrote both into one line
_SAME_CODE: Final = frozenset({PatchSetKind.OTHER_MESSAGE, PatchSetKind.EQUAL})


class CommentSource(StrEnum):
    """The places where people write commands."""

    COMMENT = "comment"  # on the review server
    PAGE = "page"  # a form of Benchgate's pages


@dataclass(frozen=True, slots=True)
class Event:
    """A hint of the server that Benchgate must fetch a change.

    ``type`` is in the server's terms. ``is_about_change``: the named change may have another state now.
    ``is_loss``: the server says that it dropped events.
    """

    type: str
    project: str = ""
    change: int | None = None
    is_about_change: bool = False
    is_loss: bool = False


@dataclass(frozen=True, slots=True)
class Person:
    """An author, uploader or commenter; every part may be empty.

    ``account`` is the server's account ID, which is never shown. It identifies the person: names can change,
    and two people may share one.
    """

    name: str = ""
    email: str = ""
    username: str = ""
    account: str = ""
    is_service: bool = False  # the account of a program

    @property
    def shown(self) -> str:
        """The name to show."""
        return self.name or self.username or self.email


@dataclass(frozen=True, slots=True)
class Account:
    """An account on the review server, with its display name."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class PatchSet:
    """One patch set of a change. ``parents`` are commit IDs, first parent first.

    ``author`` wrote the commit; ``uploader`` pushed it and answers for running it.
    """

    number: int
    revision: str
    ref: str
    parents: tuple[str, ...] = ()
    kind: PatchSetKind = PatchSetKind.OTHER_CODE
    author: Person = field(default_factory=Person)
    uploader: Person = field(default_factory=Person)


@dataclass(frozen=True, slots=True)
class Change:
    """The current state of a change on its server.

    ``merged_as`` is the commit on the branch that merged the change, at the time ``submitted`` (None if the
    server does not report it). ``votes`` are the non-zero votes on the current patch set, by label and
    account.
    """

    key: ChangeKey
    project: str
    branch: str
    change_id: str
    subject: str
    status: ChangeStatus
    updated: datetime
    current: PatchSet
    message: str = ""
    owner: Person = field(default_factory=Person)
    is_wip: bool = False
    is_private: bool = False
    merged_as: str | None = None
    submitted: datetime | None = None
    votes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Return whether a vote can still matter."""
        return self.status is ChangeStatus.NEW

    @property
    def is_votable(self) -> bool:
        """Return whether the change is ready for review, so that Benchgate runs it and votes."""
        return self.is_open and not self.is_wip and not self.is_private


@dataclass(frozen=True, slots=True)
class RemovedVote:
    """A vote that was removed; of the voter, some parts may be empty."""

    label: str
    value: int
    voter: Person


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A message on a change, by any author.

    ``text`` has the author's words, with the patch-set comments that were posted with it; ``shown`` is the
    whole message as the server shows it. ``votes`` are those that the author set with a
    review of this patch set (0: withdrew), None without a review; ``removed`` those that the author removed.
    ``is_by_machine``: a program or the server wrote it. ``is_inline``: it is a person's comment on a file.
    ``id`` is unique within the change.
    """

    id: str
    patch_set: int
    author: Person
    written: datetime
    text: str
    shown: str = ""
    votes: Mapping[str, int] | None = None
    removed: tuple[RemovedVote, ...] = ()
    is_by_machine: bool = False
    is_inline: bool = False

    def has_line(self, line: str) -> bool:
        """Return whether this is a whole line of the message, since "run 5" is also in "run 51"."""
        return line in self.text.splitlines()

    def is_marked(self, marker: str) -> bool:
        """Return whether the message has the last line of a review with this marker."""
        return self.has_line(marker) or self.has_line(f"{OTHER_WAYS} {marker}")


@dataclass(frozen=True, slots=True)
class InlineComment:
    """A comment on a line of a file; lines count from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Review:
    """A review to post on one revision: a message, votes by label, and inline comments.

    ``is_silent``: a server that can does not notify anybody of it.

    Raises:
        ValueError: the message does not end with a line of text to recognise it by.
    """

    change: ChangeKey
    revision: str
    message: str
    labels: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    comments: tuple[InlineComment, ...] = ()
    is_silent: bool = False

    def __post_init__(self) -> None:
        if self.marker.strip().splitlines() != [self.marker]:
            raise ValueError("the last line of a review's message must identify it")

    @property
    def marker(self) -> str:
        """The link in the last line of the message, to recognise a posted message by."""
        return self.message.rpartition("\n")[2].removeprefix(f"{OTHER_WAYS} ")

    def with_note(self, note: str) -> str:
        """Return the message with a paragraph more before the link."""
        text = self.message.removesuffix(self.marker)
        head = text.rstrip().removesuffix(OTHER_WAYS) if text.rstrip().endswith(OTHER_WAYS) else text
        return f"{head}{note}\n\n{self.message[len(head) :]}"


@dataclass(frozen=True, slots=True)
class Posted:
    """The parts of a review that the server accepted: the labels now set, and the inline comments.

    ``is_vote_forbidden``: labels were left out because Benchgate's account may not set them.
    """

    labels: Mapping[str, int]
    comments: tuple[InlineComment, ...] = ()
    is_vote_forbidden: bool = False


def patch_sets_with_code_of(revision: str, patch_sets: Sequence[tuple[int, str, str]]) -> tuple[int, ...]:
    """Find the patch sets up to a revision that have the same code, newest first.

    ``patch_sets`` are number, kind and revision of the known patch sets, newest first. A gap ends the search,
    because a kind compares a patch set with the one directly before it.
    """
    found: list[int] = []
    is_same = False
    for number, kind, commit in patch_sets:
        if commit == revision or (is_same and number == found[-1] - 1):
            found.append(number)
            is_same = kind in _SAME_CODE
        elif found:
            break
    return tuple(found)


def person_of(account: str, messages: Sequence[PostedMessage]) -> Person | None:
    """Return the author of an account's latest message; None if it wrote none."""
    return next((m.author for m in reversed(messages) if m.author.account == account), None)
