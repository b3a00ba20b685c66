"""Sync cursors in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.ports.records import SyncCursor
from service.ports.transaction.intake import SyncCursors

if TYPE_CHECKING:
    from datetime import datetime


class PostgresSyncCursors(Connected, SyncCursors):
    """Cursors in the table ``server``."""

    @override
    def sync_cursor(self, instance: str) -> SyncCursor | None:
        row = self._connection.execute(select(t.server).where(t.server.c.instance == instance)).first()
        return None if row is None else SyncCursor(row.first_contact, row.seen_until)

    @override
    def move_sync_cursor(self, instance: str, seen_until: datetime) -> None:
        statement = insert(t.server).values(
            instance=instance, first_contact=seen_until, seen_until=seen_until
        )
        later = func.greatest(t.server.c.seen_until, statement.excluded.seen_until)
        self._connection.execute(
            statement.on_conflict_do_update(index_elements=["instance"], set_={"seen_until": later})
        )
