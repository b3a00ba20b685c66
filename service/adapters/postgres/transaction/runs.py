"""Runs in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, true, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.domain.decision.states import UNFINISHED, RunState
from service.domain.identity import ChangeKey, RunKind
from service.ports.records import RunRecord
from service.ports.transaction.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

    from service.ports.records import NewRun

_UNFINISHED = t.run.c.state.in_(UNFINISHED)
RUNS = select(
    t.run,
    t.patch_set.c.ref,
    t.change.c.instance.label("change_instance"),
    t.change.c.number.label("change_number"),
).select_from(t.run.outerjoin(t.patch_set).outerjoin(t.change))


class PostgresRuns(Connected, Runs):
    """Runs in the table ``run``."""

    @override
    def cancel_runs(self, change_id: int, *, keep_patch_set: int | None) -> None:
        runs = self._lock_runs(change_id, keep_patch_set)
        self._connection.execute(
            update(t.run)
            .where(t.run.c.id.in_(runs))
            .values(state=RunState.CANCELLED.value, finished_at=func.now())
        )

    def _lock_runs(self, change_id: int, keep_patch_set: int | None) -> Sequence[int]:
        kept = true() if keep_patch_set is None else t.patch_set.c.id != keep_patch_set
        return (
            self._connection.execute(
                select(t.run.c.id)
                .join(t.patch_set)
                .where(
                    t.patch_set.c.change_id == change_id,
                    t.run.c.kind == RunKind.CHECK.value,
                    _UNFINISHED,
                    kept,
                )
                .order_by(t.run.c.id)
                .with_for_update(of=t.run, key_share=True)
            )
            .scalars()
            .all()
        )

    @override
    def add_run(self, run: NewRun) -> int | None:
        added = self._connection.execute(
            insert(t.run)
            .values(
                kind=run.kind.value,
                state=RunState.PLANNING.value,
                patch_set_id=run.patch_set_id,
                instance=run.instance,
                project=run.project,
                branch=run.branch,
                revision=run.revision,
                subject=run.subject,
                author=run.author,
                pool=run.pool,
            )
            .on_conflict_do_nothing()
            .returning(t.run.c.id)
        ).scalar()
        return None if added is None else int(added)

    @override
    def lock_run(self, run_id: int) -> RunRecord:
        # In this order everywhere: comments lock the change first, too.
        self._connection.execute(
            select(t.change.c.id)
            .select_from(t.run.join(t.patch_set).join(t.change))
            .where(t.run.c.id == run_id)
            .with_for_update(of=t.change, key_share=True)
        )
        return run_record(
            self._one(
                RUNS.where(t.run.c.id == run_id).with_for_update(of=t.run, key_share=True), f"run {run_id}"
            )
        )

    @override
    def start_run(
        self, run_id: int, *, tree: str, parent: str | None, parent_tree: str | None, label: str
    ) -> None:
        self._connection.execute(
            update(t.run)
            .where(t.run.c.id == run_id, t.run.c.state == RunState.PLANNING.value)
            .values(
                state=RunState.RUNNING.value, tree=tree, parent=parent, parent_tree=parent_tree, label=label
            )
        )

    @override
    def end_run(self, run_id: int, state: RunState, reason: str = "") -> None:
        self._connection.execute(
            update(t.run)
            .where(t.run.c.id == run_id, _UNFINISHED)
            .values(state=state, reason=reason, finished_at=func.now())
        )

    @override
    def cancel_check(self, run_id: int) -> None:
        self._connection.execute(
            update(t.run)
            .where(t.run.c.id == run_id, _UNFINISHED)
            .values(state=RunState.CANCELLED, finished_at=func.now(), ended_by="person")
        )


def run_record(row: Row[Any]) -> RunRecord:
    """A row of :data:`RUNS` as the steps use it."""
    return RunRecord(
        id=row.id,
        kind=RunKind(row.kind),
        state=RunState(row.state),
        instance=row.instance,
        project=row.project,
        branch=row.branch,
        revision=row.revision,
        parent=row.parent,
        label=row.label,
        patch_set_id=row.patch_set_id,
        change=None if row.change_number is None else ChangeKey(row.change_instance, row.change_number),
        ref=row.ref,
        pool=row.pool,
        is_called_off=row.ended_by != "",
    )
