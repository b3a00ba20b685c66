"""Compares the review server's changes with ours: what no event told is found here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.steps.look_at_change import look_at_change

if TYPE_CHECKING:
    from datetime import datetime

    from service.ports import Store
    from service.ports.reviewing import ReviewServer


def reconcile(store: Store, server: ReviewServer, since: datetime | None) -> int:
    """Look at every change updated since then; how many were looked at.

    None: at all that are open, there or as we know them. One that was merged or abandoned unheard is
    open only here.
    """
    with store.exclusive("reconcile") as is_ours:
        if not is_ours:
            return 0
        keys = {change.key: None for change in server.changes_since(since)}
        if since is None:
            with store.transaction() as tx:
                keys |= dict.fromkeys(tx.open_changes(server.instance))
        for key in keys:
            look_at_change(store, server, key)
    return len(keys)
