"""Parse Gerrit events from the event stream and from the webhooks plugin.

An event is only a hint: Benchgate reads its type, project and change number, and then fetches the change
from the configured server.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from service.adapters.review.gerrit.fields import number_in, object_from
from service.domain.review.change import EVENT_BYTES, Event
from service.domain.values.errors import BadEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_LOSS: Final = "dropped-output"  # of the stream
_LONGEST: Final = 1000  # characters of a project's name, which is part of an address


def parse_event(body: bytes | str) -> Event:
    """Parse the body of an event.

    Raises:
        BadEvent: too large, or not a JSON object with a type.
    """
    return event_from(document_from(body))


def document_from(body: bytes | str) -> Mapping[str, Any]:
    """Parse the JSON object of an event; raise BadEvent if the body is too large or something else."""
    if len(body) > EVENT_BYTES:
        raise BadEvent(f"larger than {EVENT_BYTES >> 10} KiB")
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
    is_about_change = change is not None and kind in ABOUT_CHANGES
    return Event(kind, _project(document), change, is_about_change, is_loss=kind == _LOSS)


def _project(document: Mapping[str, Any]) -> str:
    # The stream sends a string, the webhooks plugin an object. Some events have it only in the change.
    for holder in (document, document.get("change"), document.get("refUpdate")):
        project = object_from(holder).get("project")
        name = object_from(project).get("name") if isinstance(project, dict) else project
        if isinstance(name, str) and len(name) <= _LONGEST:
            return name
    return ""
