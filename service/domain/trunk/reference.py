"""Parse what a person writes to name an end of a comparison: a commit, a day, the tip or a patch set."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from service.domain.values.errors import BadInput
from service.domain.values.identity import ADDRESS, ChangeAddress
from service.domain.values.text import brief

WAYS: Final = (
    "a commit's id (7 digits or more), a date such as 2026-11-20, tip, or a patch set such as 4711/3"
)
TIP: Final = "tip"
_COMMIT: Final = re.compile("[0-9a-f]{7,64}")
_DATE: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PATCH_SET: Final = re.compile(rf"({ADDRESS.strip('^$')})(?:/([1-9][0-9]{{0,8}}))?")


class ReferenceKind(StrEnum):
    """Kind of thing that a reference names."""

    COMMIT = "commit"
    DATE = "date"
    TIP = "tip"
    PATCH_SET = "patch set"


@dataclass(frozen=True, slots=True)
class Reference:
    """An end of a comparison as it was ``written``.

    ``value`` is the beginning of a commit's id in lower case, or a date: the newest commit of the branch by
    the end of that day in UTC. ``change`` and ``patch_set`` are of a patch set; None: the change's newest.
    """

    written: str
    kind: ReferenceKind
    value: str = ""
    change: ChangeAddress | None = None
    patch_set: int | None = None


def parse_reference(written: str, branch: str, where: str) -> Reference:
    """Parse a reference; the name of its branch means the tip, and only a patch set needs no branch.

    Seven digits or more without a slash are a commit, so a change with such a number needs its patch set.

    Args:
        written: by a person.
        branch: the name of the branch; empty if none was chosen.
        where: the field that has it, for the error.

    Raises:
        BadInput: it names nothing that can be compared, or a commit without a branch.
    """
    name = written.strip()
    if found := _of_commit(name, branch, where):
        if not branch:
            raise BadInput("choose a branch", where)
        return found
    if matched := _PATCH_SET.fullmatch(name):
        change, patch_set = matched.groups()
        number = int(patch_set) if patch_set else None
        return Reference(name, ReferenceKind.PATCH_SET, change=ChangeAddress.parse(change), patch_set=number)
    raise BadInput(f"must be {WAYS}, not {brief(written)}", where)


def _of_commit(name: str, branch: str, where: str) -> Reference | None:
    if name.lower() == TIP or (name and name == branch):
        return Reference(name, ReferenceKind.TIP)
    if _DATE.fullmatch(name):
        try:
            return Reference(name, ReferenceKind.DATE, date.fromisoformat(name).isoformat())
        except ValueError:
            raise BadInput(f"there is no day {name}", where) from None
    if _COMMIT.fullmatch(name.lower()):
        return Reference(name, ReferenceKind.COMMIT, name.lower())
    return None
