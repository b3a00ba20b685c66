"""Reconcile: find changes that were updated without an event on the review server."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from service.ports.runs.queue import Task

if TYPE_CHECKING:
    from datetime import datetime

    from service.domain.values.identity import ChangeKey
    from service.ports.review.server import ReviewServer
    from service.ports.store import Store

# By the server's clock. If a change appears in the server's lists even later, the next full reconciliation
# finds it.
OVERLAP: Final = timedelta(minutes=5)
KIND: Final = "reconciled"


def reconcile(
    store: Store, server: ReviewServer, *, is_full: bool, lookback: timedelta | None = None
) -> int | None:
    """Queue a look at every change that was updated since the last call, and return how many.

    Returns None if another process is reconciling. With ``is_full``, and on first contact, also look at all
    changes that are open on the server or in the database: a change may be merged or abandoned without an
    event. Changes that were last updated longer than ``lookback`` before first contact are left out (None:
    none), until something happens to them. The new position, by the server's clock, is stored with the tasks,
    after the whole list was read.
    """
    with store.exclusive(f"reconcile {server.instance}") as is_ours:
        if not is_ours:
            return None
        now = server.now()
        with store.transaction() as tx:
            cursor = tx.events.cursor(server.instance)
        since = None if cursor is None else cursor.seen_until - OVERLAP
        updated = {change.key: change.updated for change in server.changes_since(since)}
        listed: dict[ChangeKey, datetime] = dict(updated)
        first_contact = now if cursor is None else cursor.first_contact
        if is_full and since is not None:
            listed |= {change.key: change.updated for change in server.changes_since(None)}
        known = dict(listed)
        if lookback is not None:
            earliest = first_contact - lookback
            listed = {key: moment for key, moment in listed.items() if moment >= earliest}
        with store.transaction() as tx:
            if is_full or since is None:
                # A stored change keeps its moment, so that it is not a new event each time.
                listed = {
                    key: known.get(key, now) for key in tx.changes.open_changes(server.instance)
                } | listed
            for key, moment in listed.items():
                # The same state of a change is one event, which is handled again.
                digest = hashlib.sha256(f"{KIND} {key.number} {moment.isoformat()}".encode()).digest()
                event_id = tx.events.add(key.instance, digest, KIND, key.number, b"", key.project)
                tx.outbox.queue_task(Task.HANDLE_EVENT, event_id)
            # Only the query by time is complete up to its newest change.
            tx.events.move_cursor(server.instance, max(updated.values(), default=now) if cursor else now)
    return len(listed)
