"""A Gerrit event, read from either of the dialects in which servers send them.

An event is a hint: of all it says only the kind, the project and the change's number are used, and the
truth is then fetched from the configured server.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from service.domain.errors import BadEvent

MAX_BYTES: Final = 256 << 10  # a push with a very long commit message stays far below
# After these a change may stand differently; everything else is stored and counted only.
ABOUT_CHANGES: Final = frozenset(
    {
        "patchset-created",
        "change-merged",
        "change-abandoned",
        "change-restored",
        "change-deleted",
        "comment-added",
        "wip-state-changed",
        "private-state-changed",
        "vote-deleted",
    }
)


@dataclass(frozen=True, slots=True)
class Event:
    """What an event hints at. ``change`` is None where it concerns no change."""

    type: str
    project: str = ""
    change: int | None = None

    @property
    def is_about_change(self) -> bool:
        """Whether the change it names should be looked at."""
        return self.change is not None and self.type in ABOUT_CHANGES


def parse_event(body: bytes | str) -> Event:
    """Read the body of an event; unknown types are accepted, since servers grow new ones.

    Raises:
        BadEvent: not a JSON object with a type.
    """
    document = parse_document(body)
    kind = document.get("type")
    if not isinstance(kind, str) or not _is_name(kind):
        raise BadEvent("the key 'type' is missing or not a short name in ASCII")
    change = document.get("change")
    number = change.get("number") if isinstance(change, dict) else None
    return Event(kind, _project(document), _number(number))


def parse_document(body: bytes | str) -> dict[str, Any]:
    """The JSON object of an event's body.

    Raises:
        BadEvent: too large, or not a JSON object.
    """
    if len(body) > MAX_BYTES:
        raise BadEvent(f"larger than {MAX_BYTES >> 10} KiB")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadEvent(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(document, dict):
        raise BadEvent("not a JSON object")
    return document


def _project(document: dict[str, Any]) -> str:
    # The stream gives a text, the webhooks plugin an object; some events only carry it in the change.
    for holder in (document, document.get("change"), document.get("refUpdate")):
        found = holder.get("project") if isinstance(holder, dict) else None
        name = found.get("name") if isinstance(found, dict) else found
        if isinstance(name, str):
            return name
    return ""


def _number(found: object) -> int | None:
    # Old servers send the number as text.
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 10:  # noqa: PLR2004
        found = int(found)
    if isinstance(found, int) and not isinstance(found, bool) and 0 < found < 1 << 31:
        return found
    return None


def _is_name(kind: str) -> bool:
    # The longest known has 22 characters. Not every character can be stored.
    return 0 < len(kind) <= 100 and kind.isascii() and kind.isprintable()  # noqa: PLR2004
