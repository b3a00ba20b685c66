"""Events in a unit of work."""

from __future__ import annotations

from typing import Final

from sqlalchemy import func, null, select, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.domain.identity import ChangeKey
from service.ports.transaction.intake import Events

_LARGEST_INTEGER: Final = 2**31 - 1

# Built once: bursts of events come in, and building it takes longer than its execution.
_ADD_EVENT: Final = (
    insert(t.event)
    .on_conflict_do_update(
        index_elements=["instance", "digest"],
        set_={"deliveries": t.event.c.deliveries + 1, "received_at": func.now(), "handled_at": null()},
    )
    .returning(t.event.c.id)
)


class PostgresEvents(Connected, Events):
    """Events in the table ``event``."""

    @override
    def add_event(self, instance: str, digest: bytes, kind: str, change: int | None, body: bytes) -> int:
        # The number comes from outside: one that no server gives is no hint, and must not stop the rest.
        hinted = change if change is not None and 0 < change <= _LARGEST_INTEGER else None
        event = {"instance": instance, "digest": digest, "type": kind, "change": hinted, "body": body}
        return int(self._connection.execute(_ADD_EVENT, event).scalar_one())

    @override
    def event_change(self, event_id: int) -> ChangeKey | None:
        row = self._one(
            select(t.event.c.instance, t.event.c.change).where(t.event.c.id == event_id), f"event {event_id}"
        )
        return None if row.change is None else ChangeKey(row.instance, row.change)

    @override
    def mark_handled(self, event_id: int) -> None:
        self._connection.execute(
            update(t.event).where(t.event.c.id == event_id).values(handled_at=func.now())
        )
