"""The log of overrides in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.domain.decision.overrides import Override, OverrideKind
from service.ports.transaction.decisions import Overrides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.records import NewOverride


class PostgresOverrides(Connected, Overrides):
    """The log in a table that refuses changes."""

    @override
    def add_override(self, patch_set_id: int, entry: NewOverride) -> int:
        statement = insert(t.ruling).values(
            patch_set_id=patch_set_id,
            kind=entry.kind.value,
            builds=list(entry.builds),
            pattern=entry.pattern,
            bug=entry.bug,
            reason=entry.reason,
            account=entry.account,
            person=entry.person,
            heard_id=entry.comment_id,
        )
        return int(self._connection.execute(statement.returning(t.ruling.c.id)).scalar_one())

    @override
    def overrides(self, patch_set_id: int) -> Sequence[Override]:
        found = self._connection.execute(
            select(t.ruling, t.patch_set.c.revision)
            .join(t.patch_set)
            .where(t.ruling.c.patch_set_id == patch_set_id)
            .order_by(t.ruling.c.id)
        )
        return [
            Override(
                id=row.id,
                kind=OverrideKind(row.kind),
                revision=row.revision,
                filter=row.pattern,
                bug=row.bug,
                reason=row.reason,
                who=row.person,
                account=row.account,
                at=row.made_at,
                builds=frozenset(row.builds),
            )
            for row in found
        ]
