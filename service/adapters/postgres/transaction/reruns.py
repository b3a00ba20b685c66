"""Reruns in a unit of work."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, insert, literal, select, update
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.transaction.builds import NumberedBuilds
from service.domain.decision.states import BuildState, RunState
from service.ports.transaction.runs import Reruns

if TYPE_CHECKING:
    from service.domain.building.spec import BuildSpec
    from service.ports.records import BuildRecord, RunRecord

_COPIED: Final = (
    *("kind", "patch_set_id", "instance", "project", "branch", "revision", "parent", "tree", "parent_tree"),
    *("subject", "author", "label", "pool"),
)
_REPEATED: Final = ("job", "kind", "pool", "priority", "is_voting", "spec", "sequence_id")


class PostgresReruns(NumberedBuilds, Reruns):
    """Runs that follow others, and the table ``replaced_build``."""

    @override
    def follow_run(self, previous: RunRecord, comment_id: int | None) -> int:
        copied = select(
            *(t.run.c[name] for name in _COPIED),
            literal(RunState.RUNNING.value),
            literal(previous.id),
            literal(comment_id),
        ).where(t.run.c.id == previous.id)
        statement = insert(t.run).from_select([*_COPIED, "state", "previous_id", "asked_by"], copied)
        return int(self._connection.execute(statement.returning(t.run.c.id)).scalar_one())

    @override
    def take_build(self, run_id: int, position: int, build_id: int) -> None:
        taken = select(literal(run_id), t.build.c.job, t.build.c.id, literal(position), literal(True)).where(  # noqa: FBT003
            t.build.c.id == build_id
        )
        columns = ["run_id", "job", "build_id", "position", "is_reused"]
        self._connection.execute(insert(t.run_build).from_select(columns, taken))

    @override
    def repeat_build(self, build: BuildRecord, spec: BuildSpec | None, deadline_seconds: float) -> int:
        kind = build.kind if spec is None else spec.job.kind
        state = BuildState.RUNNING if kind.is_external else BuildState.QUEUED
        values = [
            literal(self._next_number(build.job)),
            literal(state.value),
            func.now() + timedelta(seconds=deadline_seconds),
        ]
        copied = select(*(t.build.c[name] for name in _REPEATED), *values).where(t.build.c.id == build.id)
        statement = insert(t.build).from_select([*_REPEATED, "number", "state", "deadline_at"], copied)
        again = int(self._connection.execute(statement.returning(t.build.c.id)).scalar_one())
        if spec is not None:
            changed = {
                "spec": spec.to_mapping(),
                "kind": kind,
                "pool": spec.job.pool,
                "sequence_id": self._sequence("" if kind.is_external else spec.sequence),
            }
            self._connection.execute(update(t.build).where(t.build.c.id == again).values(**changed))
        return again

    @override
    def put_build(self, run_id: int, position: int, job: str, build_id: int, comment_id: int | None) -> None:
        place = (t.run_build.c.run_id == run_id) & (t.run_build.c.job == job)
        replaced = self._connection.execute(
            select(t.run_build.c.build_id, t.run_build.c.position).where(place)
        ).first()
        if replaced is None:
            new = insert(t.run_build).values(run_id=run_id, job=job, build_id=build_id, position=position)
            self._connection.execute(new)
            return
        self._connection.execute(
            insert(t.replaced_build).values(
                run_id=run_id, build_id=replaced.build_id, position=replaced.position, heard_id=comment_id
            )
        )
        self._connection.execute(
            update(t.run_build).where(place).values(build_id=build_id, position=position, is_reused=False)
        )
