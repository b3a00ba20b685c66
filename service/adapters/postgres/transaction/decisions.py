"""Decisions in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.ports.transaction.decisions import Decisions

if TYPE_CHECKING:
    from service.ports.records import NewDecision, RunRecord


class PostgresDecisions(Connected, Decisions):
    """Votes in the table ``decision``."""

    @override
    def add_decision(self, decision: NewDecision) -> int:
        self._connection.execute(
            insert(t.decision).values(
                run_id=decision.run_id,
                patch_set_id=decision.patch_set_id,
                number=decision.number,
                vote=decision.vote,
                header=decision.header,
                message=decision.message,
            )
        )
        return decision.number

    @override
    def next_decision(self, run: RunRecord) -> int:
        if run.patch_set_id is None:
            counted = t.decision.c.run_id == run.id
        else:
            counted = t.decision.c.patch_set_id == run.patch_set_id
            # Two runs of one patch set that end at once would otherwise get the same number.
            self._connection.execute(
                select(t.patch_set.c.id)
                .where(t.patch_set.c.id == run.patch_set_id)
                .with_for_update(key_share=True)
            )
        return int(
            self._connection.execute(
                select(func.coalesce(func.max(t.decision.c.number), 0) + 1).where(counted)
            ).scalar_one()
        )
