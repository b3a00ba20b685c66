"""Builds in a unit of work."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Text, cast, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.domain.building.findings import findings_from
from service.domain.decision.states import UNFINISHED, BuildState
from service.domain.decision.vote import CONSEQUENCES, LASTING, Outcome
from service.domain.project.kinds import JobKind
from service.ports.records import BuildRecord
from service.ports.transaction.builds import Builds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

    from service.ports.records import NewBuild, RunRecord


_LASTING: Final = sorted(outcome.value for outcome in LASTING)


class NumberedBuilds(Connected):
    """Numbers of builds, and the sequences they measure."""

    def _next_number(self, job: str) -> int:
        counted = insert(t.job_number).values(job=job, number=1)
        return int(
            self._connection.execute(
                counted.on_conflict_do_update(
                    index_elements=["job"], set_={"number": t.job_number.c.number + 1}
                ).returning(t.job_number.c.number)
            ).scalar_one()
        )

    def _sequence(self, digest: str) -> int | None:
        if not digest:
            return None
        # Drawn once the change is known: the author of the patch must not foresee the order of launches.
        self._connection.execute(
            insert(t.sequence)
            .values(digest=digest, seed=cast(func.gen_random_uuid(), Text))
            .on_conflict_do_nothing()
        )
        return int(
            self._connection.execute(
                select(t.sequence.c.id).where(t.sequence.c.digest == digest)
            ).scalar_one()
        )


class PostgresBuilds(NumberedBuilds, Builds):
    """Builds in the table ``build``."""

    @override
    def add_build(self, run_id: int, position: int, build: NewBuild) -> int:
        added = self._connection.execute(
            insert(t.build)
            .values(
                job=build.job,
                number=self._next_number(build.job),
                kind=build.kind,
                pool=build.pool,
                priority=build.priority,
                is_voting=build.is_voting,
                spec=build.spec,
                sequence_id=self._sequence(build.sequence),
                deadline_at=func.now() + timedelta(seconds=build.deadline_seconds),
                causes=build.causes,
                **_state(build),
            )
            .returning(t.build.c.id)
        ).scalar_one()
        self._connection.execute(
            insert(t.run_build).values(run_id=run_id, job=build.job, build_id=added, position=position)
        )
        return int(added)

    @override
    def adopt_build(
        self, run: RunRecord, position: int, sequence: str, deadline_seconds: float
    ) -> BuildRecord | None:
        is_fit = (t.build.c.state != BuildState.FINISHED.value) & ~t.build.c.cancel_requested
        has_result = (t.build.c.state == BuildState.FINISHED.value) & t.build.c.outcome.in_(_LASTING)
        # Locked, because upkeep may be dropping unwanted builds: it waits, or its request is seen here.
        row = self._connection.execute(
            select(t.build)
            .join(t.sequence)
            .where(t.sequence.c.digest == sequence, is_fit | has_result)
            .where(t.build.c.spec["branch"].astext == run.branch)
            .order_by(t.build.c.id.desc())
            .limit(1)
            .with_for_update(of=t.build, key_share=True)
        ).first()
        if row is None:
            return None
        later = func.greatest(t.build.c.deadline_at, func.now() + timedelta(seconds=deadline_seconds))
        self._connection.execute(update(t.build).where(t.build.c.id == row.id).values(deadline_at=later))
        taken = insert(t.run_build).values(
            run_id=run.id, job=row.job, build_id=row.id, position=position, is_reused=True
        )
        self._connection.execute(taken)
        return build_record(row)

    @override
    def builds_of(self, run_id: int) -> Sequence[BuildRecord]:
        found = self._connection.execute(
            select(t.build)
            .join(t.run_build, t.run_build.c.build_id == t.build.c.id)
            .where(t.run_build.c.run_id == run_id)
            .order_by(t.run_build.c.position, t.build.c.id)
        )
        return [build_record(row) for row in found]

    @override
    def lock_build(self, build_id: int) -> BuildRecord:
        return build_record(
            self._one(
                select(t.build).where(t.build.c.id == build_id).with_for_update(key_share=True),
                f"build {build_id}",
            )
        )

    @override
    def name_build(self, build_id: int, external_number: int, url: str) -> None:
        named = update(t.build).where(t.build.c.id == build_id)
        self._connection.execute(named.values(external_number=external_number, url=url))

    @override
    def finish_build(
        self, build_id: int, outcome: Outcome, causes: Sequence[str], blamed: Sequence[str] = ()
    ) -> Sequence[int]:
        self._connection.execute(delete(t.lease).where(t.lease.c.build_id == build_id))
        self._connection.execute(
            update(t.build)
            .where(t.build.c.id == build_id, t.build.c.state != BuildState.FINISHED.value)
            .values(
                phase="",
                causes=causes,
                blamed=list(blamed),
                **_ended(outcome),
            )
        )
        return (
            self._connection.execute(
                select(t.run.c.id)
                .join(t.run_build, t.run_build.c.run_id == t.run.c.id)
                .where(t.run_build.c.build_id == build_id, t.run.c.state.in_(UNFINISHED))
                .order_by(t.run.c.id)
            )
            .scalars()
            .all()
        )


def _state(build: NewBuild) -> dict[str, object]:
    if build.outcome is None:
        # Machines take what is queued, so they never see what another CI runs.
        is_external = build.kind.is_external
        return {"state": BuildState.RUNNING if is_external else BuildState.QUEUED}
    return _ended(build.outcome)


def _ended(outcome: Outcome) -> dict[str, object]:
    result = CONSEQUENCES[outcome].result
    return {"state": BuildState.FINISHED, "outcome": outcome, "result": result, "finished_at": func.now()}


def build_record(row: Row[Any]) -> BuildRecord:
    """A row of the table ``build`` as the steps use it."""
    return BuildRecord(
        id=row.id,
        job=row.job,
        number=row.number,
        kind=JobKind(row.kind),
        state=BuildState(row.state),
        attempt=row.attempt,
        is_voting=row.is_voting,
        cancel_requested=row.cancel_requested,
        spec=row.spec,
        execution=row.execution,
        outcome=None if row.outcome is None else Outcome(row.outcome),
        causes=tuple(row.causes),
        sequence_id=row.sequence_id,
        machine=row.machine or "",
        created_at=row.created_at,
        blamed=tuple(row.blamed),
        external_number=row.external_number,
        url=row.url,
        findings=findings_from(row.findings),
    )
