"""Parse Gerrit events from the event stream and from the webhooks plugin.

An event is only a hint: Benchgate reads its type, project and change number, and then fetches the change
from the configured server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from service.domain.values.errors import BadEvent

_DIGITS: Final = re.compile(r"[0-9]{1,9}")
MAX_BYTES: Final = 256 << 10  # an event with a very long commit message is far smaller
# Events after which a change may have another state. Benchgate only counts all others.
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
    """The used parts of an event. ``change`` is None if it concerns no change."""

    type: str
    project: str = ""
    change: int | None = None

    @property
    def is_about_change(self) -> bool:
        """Return whether Benchgate must fetch the change that the event names."""
        return self.change is not None and self.type in ABOUT_CHANGES


def parse_event(body: bytes | str) -> Event:
    """Parse the body of an event.

    Raises:
        BadEvent: too large, or not a JSON object with a type.
    """
    return event_from(document_from(body))


def document_from(body: bytes | str) -> Mapping[str, Any]:
    """Parse the JSON object of an event; raise BadEvent if the body is too large or something else."""
    if len(body) > MAX_BYTES:
        raise BadEvent(f"larger than {MAX_BYTES >> 10} KiB")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadEvent(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(document, dict):
        raise BadEvent("not a JSON object")
    return document


def event_from(document: Mapping[str, Any]) -> Event:
    """Extract the event; unknown types are accepted, because new servers add some.

    Raises:
        BadEvent: the object has no type.
    """
    kind = document.get("type")
    # The longest known name has 22 characters. PostgreSQL cannot store every character.
    if not isinstance(kind, str) or not (0 < len(kind) <= 100 and kind.isascii() and kind.isprintable()):  # noqa: PLR2004
        raise BadEvent("the key 'type' is missing or not a short name in ASCII")
    # Old servers send the number as a string.
    change = number_in(object_from(document.get("change")), "number", may_be_text=True)
    return Event(kind, _project(document), change)


def _project(document: Mapping[str, Any]) -> str:
    # The stream sends a string, the webhooks plugin an object. Some events have it only in the change.
    for holder in (document, document.get("change"), document.get("refUpdate")):
        project = object_from(holder).get("project")
        name = object_from(project).get("name") if isinstance(project, dict) else project
        if isinstance(name, str):
            return name
    return ""


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
