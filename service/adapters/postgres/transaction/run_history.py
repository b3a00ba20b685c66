"""The history of runs in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, union
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.transaction.builds import build_record
from service.adapters.postgres.transaction.runs import RUNS, run_record
from service.domain.decision.states import RunState
from service.domain.identity import RunKind
from service.ports.transaction.runs import RunHistory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.identity import ChangeKey
    from service.ports.records import BuildRecord, RunRecord


class PostgresRunHistory(Connected, RunHistory):
    """Runs of patch sets, changes and commits."""

    @override
    def runs_of(self, patch_set_id: int) -> Sequence[RunRecord]:
        found = self._connection.execute(
            RUNS.where(t.run.c.patch_set_id == patch_set_id).order_by(t.run.c.id)
        )
        return [run_record(row) for row in found]

    @override
    def newest_check(self, patch_set_id: int) -> RunRecord | None:
        is_check = (t.run.c.kind == RunKind.CHECK.value) & (t.run.c.ended_by == "")
        row = self._connection.execute(
            RUNS.where(t.run.c.patch_set_id == patch_set_id, is_check)
            .order_by(t.run.c.id.desc())
            .limit(1)
            .with_for_update(of=t.run, key_share=True)
        ).first()
        return None if row is None else run_record(row)

    @override
    def newest_run(self, change: ChangeKey, kind: RunKind, revision: str) -> RunRecord | None:
        of_change = (t.change.c.instance == change.instance) & (t.change.c.number == change.number)
        self._connection.execute(select(t.change.c.id).where(of_change).with_for_update(key_share=True))
        row = self._connection.execute(
            RUNS.where(of_change, t.run.c.kind == kind.value, t.run.c.revision == revision)
            .order_by(t.run.c.id.desc())
            .limit(1)
            .with_for_update(of=t.run, key_share=True)
        ).first()
        return None if row is None else run_record(row)

    @override
    def checks_of(self, instance: str, revision: str) -> tuple[tuple[RunState, bool], ...]:
        found = self._connection.execute(
            select(t.run.c.state, t.run.c.tree).where(
                t.run.c.instance == instance,
                t.run.c.revision == revision,
                t.run.c.kind == RunKind.CHECK.value,
            )
        )
        return tuple((RunState(row.state), row.tree is not None) for row in found)

    @override
    def builds_of_job(self, run: RunRecord, job: str) -> Sequence[BuildRecord]:
        runs = select(t.run.c.id).where(
            t.run.c.patch_set_id == run.patch_set_id,
            t.run.c.kind == run.kind.value,
            t.run.c.revision == run.revision,
        )
        tables = (t.run_build, t.replaced_build)
        ids = union(*(select(table.c.build_id).where(table.c.run_id.in_(runs)) for table in tables))
        found = self._connection.execute(
            select(t.build).where(t.build.c.job == job, t.build.c.id.in_(ids)).order_by(t.build.c.id)
        )
        return [build_record(row) for row in found]
