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
    """An author or uploader; every part may be empty."""

    name: str = ""
    email: str = ""
    username: str = ""


@dataclass(frozen=True, slots=True)
class PatchSet:
    """One patch set of a change. ``parents`` are commit ids, first parent first."""

    number: int
    revision: str
    ref: str
    parents: tuple[str, ...] = ()
    kind: str = "REWORK"
    author: Person = field(default_factory=Person)


@dataclass(frozen=True, slots=True)
class Change:
    """A change as its server holds it now. ``merged_as`` is the commit on the branch once merged."""

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

    @property
    def is_open(self) -> bool:
        """Whether a vote on it can still matter."""
        return self.status is ChangeStatus.NEW


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A message on a change, by anybody."""

    patch_set: int
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Review:
    """What to post on one revision: a message and the labels to set (empty: none)."""

    change: ChangeKey
    revision: str
    message: str
    labels: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
