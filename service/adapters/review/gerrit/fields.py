"""The fields that Gerrit's events and REST documents share; a value of a wrong type counts as missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from service.domain.review.change import Person
from service.domain.review.events import number_in, object_from

if TYPE_CHECKING:
    from collections.abc import Mapping

_REVISION: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SERVICE: Final = "SERVICE_USER"


def text_in(holder: Mapping[str, Any], key: str) -> str:
    """Return a string without the characters that databases refuse; empty if there is none."""
    text = holder.get(key)
    return text.replace("\0", "").encode(errors="replace").decode() if isinstance(text, str) else ""


def int_from(value: object) -> int | None:
    """Return an integer; None if the value is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def person_from(value: object) -> Person:
    """Return an account, or the author of a commit."""
    fields = object_from(value)
    account, tags = number_in(fields, "_account_id"), fields.get("tags")
    return Person(
        name=text_in(fields, "name"),
        email=text_in(fields, "email"),
        username=text_in(fields, "username"),
        account="" if account is None else str(account),
        is_service=isinstance(tags, list) and _SERVICE in tags,
    )


def is_revision(value: object) -> bool:
    """Return whether a value is a full commit ID, not an abbreviation."""
    return isinstance(value, str) and _REVISION.fullmatch(value) is not None


def ref_of(change: int, patch_set: int) -> str:
    """Make the ref of a patch set."""
    return f"refs/changes/{change % 100:02}/{change}/{patch_set}"
