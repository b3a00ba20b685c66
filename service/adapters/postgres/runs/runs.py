"""Begin, end and find runs in a unit of work."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from sqlalchemy import Float, cast, exists, false, func, literal, select, true, union, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.runs.builds import build_record
from service.domain.review.change import ChangeStatus
from service.domain.runs.states import UNFINISHED, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import ChangeKey, RunKind
from service.ports.runs.history import RunHistory
from service.ports.runs.runs import RunRecord, Runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, RowMapping

    from service.domain.building.spec import BuildSpec
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import NewRun

_UNFINISHED: Final = t.run.c.state.in_(UNFINISHED)
_TESTED: Final = (Outcome.PASSED.value, Outcome.FAILED.value)
_NEWER: Final = t.patch_set.alias("newer")
_OUTDATED: Final = func.coalesce(
    (t.run.c.kind == RunKind.CHECK.value)
    & (
        (t.change.c.status != ChangeStatus.NEW.value)
        | exists().where(
            _NEWER.c.change_id == t.patch_set.c.change_id, _NEWER.c.number > t.patch_set.c.number
        )
    ),
    false(),
)
_RUNS: Final = select(
    t.run,
    t.patch_set.c.ref,
    t.change.c.instance.label("change_instance"),
    t.change.c.number.label("change_number"),
    (t.run.c.ended_by != "").label("is_called_off"),
    _OUTDATED.label("is_outdated"),
).select_from(t.run.outerjoin(t.patch_set).outerjoin(t.change))
_COPIED: Final = (
    *("kind", "patch_set_id", "instance", "project", "branch", "revision", "parent", "tree", "parent_tree"),
    *("subject", "author", "label", "pool", "machine"),
)


class PostgresRuns(Connected, Runs):
    """Rows of the table ``run``."""

    @override
    def add(self, run: NewRun) -> int | None:
        new = insert(t.run).values(state=RunState.PLANNING.value, **asdict(run))
        added = self._execute(new.on_conflict_do_nothing().returning(t.run.c.id)).scalar()
        if added is None and run.kind is RunKind.POST_SUBMIT and run.patch_set_id is not None:
            self.give_to_change(run, run.revision)
        return None if added is None else int(added)

    @override
    def give_to_change(self, run: NewRun | RunRecord, commit: str) -> bool:
        here = [t.run.c[name] == getattr(run, name) for name in ("instance", "project", "branch")]
        found = update(t.run).where(
            t.run.c.kind == RunKind.POST_SUBMIT.value,
            t.run.c.patch_set_id.is_(None),
            t.run.c.revision == commit,
            *here,
        )
        return self._execute(found.values(patch_set_id=run.patch_set_id)).rowcount > 0

    @override
    def lock(self, run_id: int) -> RunRecord:
        # In this order everywhere: comments lock the change first, too.
        self._execute(
            select(t.change.c.id)
            .select_from(t.run.join(t.patch_set).join(t.change))
            .where(t.run.c.id == run_id)
            .with_for_update(of=t.change, key_share=True)
        )
        query = _RUNS.where(t.run.c.id == run_id).with_for_update(of=t.run, key_share=True)
        return _run_record(self._one(query, f"run {run_id}"))

    @override
    def start(
        self,
        run_id: int,
        *,
        tree: str,
        parent: str | None,
        parent_tree: str | None,
        label: str,
        merged_as: str = "",
    ) -> None:
        planned = update(t.run).where(t.run.c.id == run_id, t.run.c.state == RunState.PLANNING.value)
        values = {"tree": tree, "parent": parent, "parent_tree": parent_tree, "label": label}
        values["merged_as"] = merged_as
        self._execute(planned.values(state=RunState.RUNNING.value, **values))

    @override
    def end(self, run_id: int, state: RunState, reason: str = "") -> None:
        self._end(t.run.c.id == run_id, state, reason=reason)

    @override
    def cancel(self, change_id: int, *, keep_patch_set: int | None, reason: str = "") -> None:
        kept = true() if keep_patch_set is None else t.patch_set.c.id != keep_patch_set
        runs = self._execute(
            select(t.run.c.id)
            .join(t.patch_set)
            .where(
                t.patch_set.c.change_id == change_id, t.run.c.kind == RunKind.CHECK.value, _UNFINISHED, kept
            )
            .order_by(t.run.c.id)
            .with_for_update(of=t.run, key_share=True)
        ).scalars()
        self._end(t.run.c.id.in_(runs.all()), RunState.CANCELLED, reason=reason)

    @override
    def cancel_check(self, run_id: int) -> None:
        self._end(t.run.c.id == run_id, RunState.CANCELLED, ended_by="person")

    def _end(self, which: ColumnElement[bool], state: RunState, **values: str) -> None:
        ended = update(t.run).where(which, _UNFINISHED)
        self._execute(ended.values(state=state, finished_at=func.now(), **values))

    @override
    def follow(self, previous: RunRecord, comment_id: int | None, *, is_planned: bool = True) -> int:
        state = RunState.RUNNING if is_planned else RunState.PLANNING
        new = {"state": state.value, "previous_id": previous.id, "asked_by": comment_id}
        columns = (*(t.run.c[name] for name in _COPIED), *map(literal, new.values()))
        copied = select(*columns).where(t.run.c.id == previous.id)
        statement = insert(t.run).from_select([*_COPIED, *new], copied)
        return int(self._execute(statement.returning(t.run.c.id)).scalar_one())


class PostgresRunHistory(Connected, RunHistory):
    """Rows of the table ``run``, and of ``build`` by run."""

    @override
    def runs_of(self, patch_set_id: int) -> Sequence[RunRecord]:
        found = self._execute(_RUNS.where(t.run.c.patch_set_id == patch_set_id).order_by(t.run.c.id))
        return [_run_record(row) for row in found.mappings()]

    @override
    def newest_check(self, patch_set_id: int) -> RunRecord | None:
        of_patch_set = t.run.c.patch_set_id == patch_set_id
        return self._newest(of_patch_set, t.run.c.kind == RunKind.CHECK.value, t.run.c.ended_by == "")

    @override
    def newest_run(self, change: ChangeKey, kind: RunKind, revision: str) -> RunRecord | None:
        of_change = (t.change.c.instance == change.instance) & (t.change.c.number == change.number)
        self._execute(select(t.change.c.id).where(of_change).with_for_update(key_share=True))
        is_it = (t.run.c.revision == revision) | (t.run.c.merged_as == revision)
        return self._newest(of_change, t.run.c.kind == kind.value, is_it)

    def _newest(self, *conditions: ColumnElement[bool]) -> RunRecord | None:
        last = _RUNS.where(*conditions).order_by(t.run.c.id.desc()).limit(1)
        row = self._execute(last.with_for_update(of=t.run, key_share=True)).mappings().first()
        return None if row is None else _run_record(row)

    @override
    def checks_of(self, instance: str, revision: str) -> tuple[tuple[RunState, bool], ...]:
        of_commit = (t.run.c.instance == instance) & (t.run.c.revision == revision)
        found = self._execute(
            select(t.run.c.state, t.run.c.tree).where(of_commit, t.run.c.kind == RunKind.CHECK.value)
        )
        return tuple((RunState(row.state), row.tree is not None) for row in found)

    @override
    def last_durations(self, run: RunRecord, count: int) -> Sequence[float]:
        columns = (t.run.c.kind, t.run.c.instance, t.run.c.project, t.run.c.branch, t.run.c.state)
        wanted = (run.kind.value, run.instance, run.project, run.branch, RunState.FINISHED.value)
        took = cast(func.extract("epoch", t.run.c.finished_at - t.run.c.created_at), Float)
        query = select(took).where(*(column == value for column, value in zip(columns, wanted, strict=True)))
        return self._execute(query.order_by(t.run.c.id.desc()).limit(count)).scalars().all()

    @override
    def builds_of(self, run: RunRecord, job: str) -> Sequence[BuildRecord]:
        runs = select(t.run.c.id).where(
            t.run.c.patch_set_id == run.patch_set_id,
            t.run.c.kind == run.kind.value,
            t.run.c.revision == run.revision,
        )
        tables = (t.run_build, t.replaced_build)
        ids = union(*(select(table.c.build_id).where(table.c.run_id.in_(runs)) for table in tables))
        found = self._execute(
            select(t.build).where(t.build.c.job == job, t.build.c.id.in_(ids)).order_by(t.build.c.id)
        )
        return [build_record(row) for row in found.mappings()]

    @override
    def tests_on_base(self, spec: BuildSpec) -> str:
        if spec.base is None:
            return ""
        is_of_code = t.run.c.kind.in_((RunKind.CHECK.value, RunKind.POST_SUBMIT.value))
        tests = t.build.c.execution["tests"].astext
        found = self._execute(
            select(tests)
            .join(t.run_build, t.run_build.c.build_id == t.build.c.id)
            .join(t.run, t.run.c.id == t.run_build.c.run_id)
            .where(t.run.c.instance == spec.instance, t.run.c.project == spec.project)
            .where(is_of_code, t.run.c.branch == spec.branch, t.run.c.tree == spec.base.tree)
            .where(t.build.c.job == spec.job.name, t.build.c.outcome.in_(_TESTED), tests != "")
            .order_by(t.build.c.id.desc())
            .limit(1)
        )
        return str(found.scalar() or "")


def _run_record(row: RowMapping) -> RunRecord:
    number = row["change_number"]
    change = None if number is None else ChangeKey(row["change_instance"], number, row["project"])
    return from_row(RunRecord, row, change=change)
