"""Stores an event and has it looked at; the body is only a hint."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from service.domain.events import parse_event

if TYPE_CHECKING:
    from service.ports import Store


def receive_event(store: Store, instance: str, body: bytes) -> int:
    """Store the event and queue the look at its change; the number under which it is stored.

    Raises:
        BadEvent: the body is no Gerrit event; nothing is stored.
    """
    event = parse_event(body)
    change = event.change if event.is_about_change else None
    with store.transaction() as tx:
        event_id = tx.add_event(instance, hashlib.sha256(body).digest(), event.type, change, body)
        if change is None:
            tx.mark_handled(event_id)
        else:
            tx.queue_task("handle_event", event_id)
    return event_id
