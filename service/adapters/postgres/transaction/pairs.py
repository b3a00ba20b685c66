"""Pairs in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import false, func, select
from typing_extensions import override

from service.adapters.postgres.connection import Connected
from service.adapters.postgres.schema import tables as t
from service.domain.comparison.link_layout import variant_of
from service.ports.transaction.builds import Pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PostgresPairs(Connected, Pairs):
    """Pairs in the table ``launch``, a row per program and side."""

    @override
    def pair_artifacts(self, sequence_id: int) -> Sequence[tuple[int, str]]:
        found = self._connection.execute(
            select(t.launch.c.pair, t.launch.c.artifact)
            .where(t.launch.c.sequence_id == sequence_id)
            .distinct()
            .order_by(t.launch.c.pair)
        )
        return [(row.pair, row.artifact) for row in found]

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
            .where(t.launch.c.sequence_id == sequence_id)
            .group_by(t.launch.c.pair)
        )
        return {row.pair: row.is_disturbed for row in found if not variant_of(row.pair)}
