"""Pairs in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import false, func, select
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.ports.records import StoredPair
from service.ports.transaction.builds import Pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PostgresPairs(Connected, Pairs):
    """Pairs in the table ``launch``, a row per program and side."""

    @override
    def stored_pairs(self, sequence_id: int) -> Sequence[StoredPair]:
        rows = self._connection.execute(
            select(t.launch.c.pair, t.launch.c.artifact, t.launch.c.variant)
            .where(t.launch.c.sequence_id == sequence_id)
            .distinct()
            .order_by(t.launch.c.variant, t.launch.c.pair)
        )
        return [StoredPair(row.pair, row.artifact, row.variant) for row in rows]

    @override
    def listing(self, sequence_id: int) -> Sequence[Mapping[str, Any]]:
        fixed = self._connection.execute(
            select(t.sequence.c.listing).where(t.sequence.c.id == sequence_id)
        ).scalar()
        return fixed or []

    @override
    def disturbed_pairs(self, sequence_id: int) -> Mapping[int, bool]:
        is_disturbed = func.bool_or(t.launch.c.facts["disturbed"].as_boolean())
        found = self._connection.execute(
            select(t.launch.c.pair, func.coalesce(is_disturbed, false()).label("is_disturbed"))
            .where(t.launch.c.sequence_id == sequence_id, t.launch.c.variant == 0)
            .group_by(t.launch.c.pair)
        )
        return {row.pair: row.is_disturbed for row in found}
