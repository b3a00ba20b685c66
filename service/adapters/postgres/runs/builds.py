"""Builds in a unit of work."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Text, case, cast, delete, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.persisted import slowdowns_from
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.runs.turns import turn_of
from service.domain.building.findings import findings_from
from service.domain.runs.states import UNFINISHED, BuildState
from service.domain.runs.vote import CONSEQUENCES, LASTING, Outcome
from service.domain.values.identity import RunKind
from service.ports.runs.builds import BuildRecord, Builds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import RowMapping

    from service.domain.building.spec import BuildSpec
    from service.ports.runs.builds import NewBuild
    from service.ports.runs.runs import RunRecord


_REPEATED: Final = (
    "job",
    "kind",
    "pool",
    "is_voting",
    "is_exclusive",
    "for_machine",
    "spec",
    "sequence_id",
)
_FORMERLY_MERGED: Final = 1  # the version before let merged commits come after every check
_LASTING: Final = sorted(outcome.value for outcome in LASTING)
_AFTER_THE_MERGE: Final = (RunKind.POST_SUBMIT.value, RunKind.LONGER.value)


class PostgresBuilds(Connected, Builds):
    """Rows of the tables ``build``, ``run_build`` and ``replaced_build``."""

    @override
    def add(self, run_id: int, position: int, build: NewBuild) -> int:
        state, number = _state(build), self._next_number(build.job)
        if state["state"] is BuildState.QUEUED:
            kind = build.spec.get("kind")
            state |= turn_of(self._connection, run_id, build.job, build.pool, kind)
        new = insert(t.build).values(
            job=build.job,
            number=number,
            kind=build.kind,
            pool=build.pool,
            priority=build.priority,
            is_voting=build.is_voting,
            is_exclusive=build.is_exclusive,
            spec=build.spec,
            sequence_id=self._sequence(build.sequence),
            deadline_at=func.now() + timedelta(seconds=build.deadline_seconds),
            causes=build.causes,
            for_machine=build.for_machine,
            **state,
        )
        added = int(self._execute(new.returning(t.build.c.id)).scalar_one())
        place = {"run_id": run_id, "job": build.job, "build_id": added, "position": position}
        self._execute(insert(t.run_build).values(place))
        return added

    @override
    def adopt(
        self, run: RunRecord, position: int, sequence: str, deadline_seconds: float, queued_seconds: float
    ) -> BuildRecord | None:
        is_fit = (t.build.c.state != BuildState.FINISHED.value) & ~t.build.c.cancel_requested
        has_result = (t.build.c.state == BuildState.FINISHED.value) & t.build.c.outcome.in_(_LASTING)
        # Locked, because upkeep may be dropping unwanted builds: it waits, or its request is seen here.
        found = self._execute(
            select(t.build)
            .join(t.sequence)
            .where(t.sequence.c.digest == sequence, is_fit | has_result)
            .where(t.build.c.spec["branch"].astext == run.branch)
            # One after the merge may share the sequence, but has a later turn.
            .where(func.coalesce(t.build.c.spec["kind"].astext, "").not_in(_AFTER_THE_MERGE))
            .order_by(t.build.c.id.desc())
            .limit(1)
            .with_for_update(of=t.build, key_share=True)
        )
        row = found.mappings().first()
        if row is None:
            return None
        build = build_record(row)
        left = queued_seconds if build.state is BuildState.QUEUED else deadline_seconds
        later = func.greatest(t.build.c.deadline_at, func.now() + timedelta(seconds=left))
        self._execute(update(t.build).where(t.build.c.id == build.id).values(deadline_at=later))
        place = {"run_id": run.id, "job": build.job, "build_id": build.id, "position": position}
        self._execute(insert(t.run_build).values(**place, is_reused=True))
        return build

    @override
    def of_run(self, run_id: int) -> Sequence[BuildRecord]:
        found = self._execute(
            select(t.build)
            .join(t.run_build, t.run_build.c.build_id == t.build.c.id)
            .where(t.run_build.c.run_id == run_id)
            .order_by(t.run_build.c.position, t.build.c.id)
        )
        return [build_record(row) for row in found.mappings()]

    @override
    def lock(self, build_id: int) -> BuildRecord:
        locked = select(t.build).where(t.build.c.id == build_id).with_for_update(key_share=True)
        return build_record(self._one(locked, f"build {build_id}"))

    @override
    def finish(
        self,
        build_id: int,
        outcome: Outcome,
        causes: Sequence[str],
        blamed: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Sequence[int]:
        is_executed = select(t.build.c.id).where(t.build.c.state == BuildState.EXECUTED.value)
        is_lost = (t.lease.c.build_id == build_id) & t.lease.c.build_id.not_in(is_executed)
        self._execute(delete(t.lease).where(is_lost))
        unfinished = (t.build.c.id == build_id) & (t.build.c.state != BuildState.FINISHED.value)
        sentences = {"causes": causes, "blamed": list(blamed), "notes": list(notes)}
        values = {"phase": "", **sentences, **ended(outcome)}
        self._execute(update(t.build).where(unfinished).values(values))
        runs = self._execute(
            select(t.run.c.id)
            .join(t.run_build, t.run_build.c.run_id == t.run.c.id)
            .where(t.run_build.c.build_id == build_id, t.run.c.state.in_(UNFINISHED))
            .order_by(t.run.c.id)
        )
        return runs.scalars().all()

    @override
    def take(self, run_id: int, position: int, build_id: int) -> None:
        job = select(t.build.c.job).where(t.build.c.id == build_id).scalar_subquery()
        place = {"run_id": run_id, "position": position, "job": job, "build_id": build_id}
        self._execute(insert(t.run_build).values(**place, is_reused=True))

    @override
    def repeat(self, build: BuildRecord, spec: BuildSpec | None, deadline_seconds: float) -> int:
        kind = build.kind if spec is None else spec.job.kind
        state = BuildState.RUNNING if kind.is_external else BuildState.QUEUED
        priority = t.build.c.priority
        values = {
            "number": literal(self._next_number(build.job)),
            "state": literal(state.value),
            "deadline_at": func.now() + timedelta(seconds=deadline_seconds),
            "priority": case((priority == _FORMERLY_MERGED, 0), else_=priority),
        }
        copied = select(*(t.build.c[name] for name in _REPEATED), *values.values())
        copied = copied.where(t.build.c.id == build.id)
        statement = insert(t.build).from_select([*_REPEATED, *values], copied)
        again = int(self._execute(statement.returning(t.build.c.id)).scalar_one())
        changed: dict[str, Any] = {}
        if spec is None:
            changed = self._unless_retired(again)
        else:
            changed = {
                "spec": spec.to_mapping(),
                "kind": kind,
                "pool": spec.job.pool,
                "is_exclusive": spec.job.compares,
                "sequence_id": self._sequence(spec.shared_sequence),
            }
        if state is BuildState.QUEUED:
            changed |= self._turn_again(build, changed)
        if changed:
            self._execute(update(t.build).where(t.build.c.id == again).values(**changed))
        return again

    def _unless_retired(self, build_id: int) -> dict[str, Any]:
        """Return a new sequence if the pairs of the one that a new build got were deleted; else nothing.

        Since the build has it, none of its pairs can be deleted meanwhile.
        """
        of_build = select(t.sequence.c.digest).join(t.build).where(t.build.c.id == build_id)
        digest = self._execute(of_build).scalar() or ""
        if not digest.startswith(t.RETIRED):
            return {}
        return {"sequence_id": self._sequence(digest.rpartition(" ")[2])}

    def _turn_again(self, build: BuildRecord, changed: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a build's turn when it is queued again, by the run that it was made for."""
        of_run = (
            select(t.run_build.c.run_id)
            .where(t.run_build.c.build_id == build.id)
            .order_by(t.run_build.c.is_reused, t.run_build.c.run_id.desc())
            .limit(1)
        )
        former = select(t.build.c.pool, of_run.scalar_subquery().label("run_id")).where(
            t.build.c.id == build.id
        )
        found = self._execute(former).one()
        spec, pool = changed.get("spec", build.spec), changed.get("pool", found.pool)
        # Measuring longer takes many times what the job usually takes: it needs no earlier turn as well.
        is_asked = not spec.get("longer")
        return turn_of(self._connection, found.run_id, build.job, pool, spec.get("kind"), is_asked=is_asked)

    @override
    def put(self, run_id: int, position: int, job: str, build_id: int, comment_id: int | None) -> None:
        place = (t.run_build.c.run_id == run_id) & (t.run_build.c.job == job)
        new = {"build_id": build_id, "position": position}
        replaced = self._execute(select(t.run_build.c.build_id, t.run_build.c.position).where(place)).first()
        if replaced is None:
            self._execute(insert(t.run_build).values(run_id=run_id, job=job, **new))
            return
        old = {"build_id": replaced.build_id, "position": replaced.position}
        self._execute(insert(t.replaced_build).values(run_id=run_id, heard_id=comment_id, **old))
        self._execute(update(t.run_build).where(place).values(is_reused=False, **new))

    def _next_number(self, job: str) -> int:
        first = insert(t.job_number).values(job=job, number=1)
        counted = first.on_conflict_do_update(
            index_elements=["job"], set_={"number": t.job_number.c.number + 1}
        )
        return int(self._execute(counted.returning(t.job_number.c.number)).scalar_one())

    def _sequence(self, digest: str) -> int | None:
        if not digest:
            return None
        # Drawn once the change is known: the patch's author must not foresee the launch order.
        new = insert(t.sequence).values(digest=digest, seed=cast(func.gen_random_uuid(), Text))
        # One that is there keeps its seed, but is locked: until the build has it, its pairs may be deleted.
        locked = new.on_conflict_do_update(index_elements=["digest"], set_={"seed": t.sequence.c.seed})
        return int(self._execute(locked.returning(t.sequence.c.id)).scalar_one())


def _state(build: NewBuild) -> dict[str, object]:
    if build.outcome is None:
        # Machines take what is queued, so they never see what another CI runs.
        is_external = build.kind.is_external
        return {"state": BuildState.RUNNING if is_external else BuildState.QUEUED}
    return ended(build.outcome)


def ended(outcome: Outcome) -> dict[str, object]:
    """Return the columns of a build that ends now."""
    result = CONSEQUENCES[outcome].result
    return {"state": BuildState.FINISHED, "outcome": outcome, "result": result, "finished_at": func.now()}


def build_record(row: RowMapping) -> BuildRecord:
    """Make a record from a row of the table ``build``."""
    findings, slowdowns = findings_from(row["findings"]), slowdowns_from(row["slowdowns"])
    return from_row(BuildRecord, row, machine=row["machine"] or "", findings=findings, slowdowns=slowdowns)
