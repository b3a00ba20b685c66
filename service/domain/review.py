"""What the flow reads from a review server and posts to it, whichever server that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from service.domain.identity import ChangeKey


class ChangeStatus(StrEnum):
    """Where a change stands, in Gerrit's words."""

    NEW = "NEW"
    MERGED = "MERGED"
    ABANDONED = "ABANDONED"


@dataclass(frozen=True, slots=True)
class Person:
    """An author, uploader or commenter; every part may be empty.

    ``account`` is what the server knows the person by, never shown: names change, and two may share one.
    """

    name: str = ""
    email: str = ""
    username: str = ""
    account: str = ""

    @property
    def shown(self) -> str:
        """What to call the person."""
        return self.name or self.username or self.email


@dataclass(frozen=True, slots=True)
class PatchSet:
    """One patch set of a change. ``parents`` are commit ids, first parent first.

    ``author`` wrote the commit, ``uploader`` brought it to the server and answers for it being run.
    """

    number: int
    revision: str
    ref: str
    parents: tuple[str, ...] = ()
    kind: str = "REWORK"
    author: Person = field(default_factory=Person)
    uploader: Person = field(default_factory=Person)


@dataclass(frozen=True, slots=True)
class Change:
    """A change as its server holds it now.

    ``merged_as`` is the commit on the branch once merged. ``votes`` are those on the current patch set, by
    label and account, without zeros.
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
    votes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether a vote on it can still matter."""
        return self.status is ChangeStatus.NEW


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A message on a change, by anybody.

    ``text`` begins with what the server adds (``Patch Set 3: Verified+1``) and ends with the comments on the
    patch set as a whole that came with it. ``id`` is unique on its change.
    """

    id: str
    patch_set: int
    author: Person
    written: datetime
    text: str


@dataclass(frozen=True, slots=True)
class InlineComment:
    """A remark on a line of a file of the revision, counted from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Review:
    """What to post on one revision: a message, the labels to set (empty: none) and remarks on lines."""

    change: ChangeKey
    revision: str
    message: str
    labels: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    comments: tuple[InlineComment, ...] = ()
