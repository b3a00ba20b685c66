"""Read fields that Gerrit's events and REST documents share; a value of a wrong type counts as missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from service.domain.review.change import Person

_DIGITS: Final = re.compile(r"[0-9]{1,9}")
_REVISION: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SERVICE: Final = "SERVICE_USER"


def object_from(value: object) -> Mapping[str, Any]:
    """Return a JSON object; empty if the value is anything else."""
    return value if isinstance(value, Mapping) else {}


def number_in(holder: Mapping[str, Any], key: str, *, may_be_text: bool = False) -> int | None:
    """Return the number of a change, patch set or account; None if it is missing or invalid."""
    value = holder.get(key)
    if may_be_text and isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value < 1 << 31 else None


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
