"""Hints that wait in the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.short_transactions import Session
from service.ports.queue import Task
from service.ports.records import Hint
from service.ports.upkeep import Hints

if TYPE_CHECKING:
    from collections.abc import Sequence

_BATCH: Final = 500  # more than a busy minute brings; the next call returns the rest

_DUE: Final = text("""
SELECT id, payload ->> 'task' AS task, (payload ->> 'entity')::bigint AS entity,
       coalesce(payload ->> 'pool', 'control') AS pool
FROM outbox WHERE kind = 'task' AND state = 'pending' AND next_at <= now()
ORDER BY id LIMIT :batch
""")
_DROP: Final = text("DELETE FROM outbox WHERE kind = 'task' AND id = ANY(cast(:ids AS bigint[]))")


class PostgresHints(Session, Hints):
    """Rows of kind ``task`` in the table ``outbox``."""

    @override
    def due_hints(self) -> Sequence[Hint]:
        with self._begin() as connection:
            found = connection.execute(_DUE, {"batch": _BATCH}).all()
        return [Hint(row.id, Task(row.task), row.entity, row.pool) for row in found]

    @override
    def drop_hints(self, hint_ids: Sequence[int]) -> None:
        with self._begin() as connection:
            connection.execute(_DROP, {"ids": list(hint_ids)})
