"""Gerrit events, in the form of the event stream and in that of the webhooks plugin.

An event is only a hint. Benchgate reads its type, project and change number, and then fetches the change
from the configured server.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from service.domain.errors import BadEvent

MAX_BYTES: Final = 256 << 10  # an event with a very long commit message is far smaller
# These events may change the state of a change. Benchgate only stores and counts all others.
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
    """The parts of an event that Benchgate uses. ``change`` is None if it concerns no change."""

    type: str
    project: str = ""
    change: int | None = None

    @property
    def is_about_change(self) -> bool:
        """Whether Benchgate must fetch the change that the event names."""
        return self.change is not None and self.type in ABOUT_CHANGES


def parse_event(body: bytes | str) -> Event:
    """Parse the body of an event; unknown types are accepted, because new servers add some.

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
    """Parse the JSON object in an event's body.

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
    # The stream sends a string, the webhooks plugin an object. Some events have it only in the change.
    for holder in (document, document.get("change"), document.get("refUpdate")):
        project = holder.get("project") if isinstance(holder, dict) else None
        name = project.get("name") if isinstance(project, dict) else project
        if isinstance(name, str):
            return name
    return ""


def _number(value: object) -> int | None:
    # Old servers send the number as a string.
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:  # noqa: PLR2004
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 31:
        return value
    return None


def _is_name(kind: str) -> bool:
    # The longest known name has 22 characters. PostgreSQL cannot store every character.
    return 0 < len(kind) <= 100 and kind.isascii() and kind.isprintable()  # noqa: PLR2004
