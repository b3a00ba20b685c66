"""Reads from the review server which changes moved: what no event told is found here."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from service.ports.queue import Task

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from service.domain.identity import ChangeKey
    from service.ports.reviewing import ReviewServer
    from service.ports.store import Store, Transaction

# Of the server's clock. A server that shows a change in its lists later than this is caught up with by the
# look at everything.
OVERLAP: Final = timedelta(minutes=5)
KIND: Final = "reconciled"


def reconcile(store: Store, server: ReviewServer, *, is_full: bool) -> int | None:
    """Store a hint for every change that moved since the last time; how many. None: another is at it.

    ``is_full``, and where nobody knows how far the server was read: also for all that are open, there or as
    we know them, since one that was merged or abandoned unheard is open only here. How far the server was
    read is stored with the hints, by the server's own clock, and only when its list was read to the end.
    """
    with store.exclusive("reconcile") as is_ours:
        if not is_ours:
            return None
        now = server.now()
        with store.transaction() as tx:
            cursor = tx.sync_cursor(server.instance)
        since = None if cursor is None else cursor.seen_until - OVERLAP
        moved: dict[ChangeKey, datetime] = {each.key: each.updated for each in server.changes_since(since)}
        seen = dict(moved)
        if is_full and since is not None:
            seen |= {each.key: each.updated for each in server.changes_since(None)}
        with store.transaction() as tx:
            if is_full or since is None:
                seen = dict.fromkeys(tx.open_changes(server.instance), now) | seen
            _hint(tx, seen)
            # Only what was asked for by time says up to when everything is known.
            tx.move_sync_cursor(server.instance, max(moved.values(), default=now) if cursor else now)
    return len(seen)


def _hint(tx: Transaction, seen: Mapping[ChangeKey, datetime]) -> None:
    for key, updated in seen.items():
        # The same state of a change is one hint, looked at again.
        digest = hashlib.sha256(f"{KIND} {key.number} {updated.isoformat()}".encode()).digest()
        event_id = tx.add_event(key.instance, digest, KIND, key.number, b"")
        tx.queue_task(Task.HANDLE_EVENT, event_id)
