"""Receive events: store each, and queue a look at its change."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from service.domain.values.errors import BadEvent
from service.ports.runs.queue import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.domain.review.change import Event
    from service.ports.store import Store


def receive_event(store: Store, parse: Callable[[bytes], Event], instance: str, body: bytes) -> int:
    """Store an event, queue the look at its change, and return the event's ID.

    Raises:
        BadEvent: the body is not an event; nothing is stored.
    """
    return _store(store, instance, {0: (body, parse(body))})[0]


def receive_events(
    store: Store, parse: Callable[[bytes], Event], instance: str, bodies: Sequence[bytes]
) -> list[int | None]:
    """Store events in one transaction, and return their IDs; None for a body that is not an event."""
    events = {}
    for place, body in enumerate(bodies):
        with suppress(BadEvent):
            events[place] = (body, parse(body))
    numbers = _store(store, instance, events)
    return [numbers.get(place) for place in range(len(bodies))]


def _store(store: Store, instance: str, events: Mapping[int, tuple[bytes, Event]]) -> dict[int, int]:
    digests = {place: hashlib.sha256(body).digest() for place, (body, _) in events.items()}
    numbers: dict[int, int] = {}
    to_look_at: list[int] = []
    with store.transaction() as tx:
        # In the order of their digests, so that two transactions with the same events cannot deadlock.
        for place in sorted(events, key=digests.__getitem__):
            body, event = events[place]
            change = event.change if event.is_about_change else None
            numbers[place] = tx.events.add(instance, digests[place], event.type, change, body, event.project)
            if change is None:
                tx.events.mark_handled(numbers[place])
            else:
                to_look_at.append(numbers[place])
        tx.outbox.queue_task(Task.HANDLE_EVENT, *to_look_at)
    return numbers
