"""Read explanations of slower benchmarks in a unit of work; machines store them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.ports.verdict import Explanations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PostgresExplanations(Connected, Explanations):
    """Rows of the table ``explanation``."""

    @override
    def packed_of(self, builds: Sequence[int]) -> Mapping[int, bytes]:
        found = select(t.explanation).where(t.explanation.c.build_id.in_(builds))
        return {row.build_id: bytes(row.packed) for row in self._execute(found)}
