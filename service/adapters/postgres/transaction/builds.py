"""Builds in a unit of work."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, cast, delete, false, func, select, update
from sqlalchemy.dialects.postgresql import insert

from service.adapters.postgres.schema import tables as t
from service.adapters.postgres.transaction.connection import Connected
from service.domain.building.findings import findings_from
from service.domain.comparison.link_layout import BY_LAYOUT, variant_of
from service.domain.decision.states import BuildState
from service.domain.decision.vote import CONSEQUENCES, LASTING, Outcome
from service.domain.inference.verdict import Verdict
from service.domain.measuring.instructions import METRIC as INSTRUCTIONS
from service.domain.project.job import JobKind
from service.ports.records import BuildRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Row

    from service.ports.records import NewBuild, RunRecord


_LASTING = sorted(outcome.value for outcome in LASTING)


class Builds(Connected):
    """Numbered executions of jobs."""

    def add_build(self, run_id: int, position: int, build: NewBuild) -> int:
        """Queue a numbered build (or store it as finished) as part of a run."""
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

    def adopt_build(
        self, run: RunRecord, position: int, sequence: str, deadline_seconds: float
    ) -> BuildRecord | None:
        """Make the newest build of a sequence a part of a run as well; None where none is fit."""
        is_fit = (t.build.c.state != BuildState.FINISHED.value) & ~t.build.c.cancel_requested
        has_result = (t.build.c.state == BuildState.FINISHED.value) & t.build.c.outcome.in_(_LASTING)
        # Locked: what drops unwanted builds waits, or was here before us and is seen.
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
        # Drawn once the change is known: whoever wrote the patch must not foresee the order of launches.
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

    def builds_of(self, run_id: int) -> Sequence[BuildRecord]:
        """The builds of a run in their order."""
        found = self._connection.execute(
            select(t.build)
            .join(t.run_build, t.run_build.c.build_id == t.build.c.id)
            .where(t.run_build.c.run_id == run_id)
            .order_by(t.run_build.c.position, t.build.c.id)
        )
        return [build_record(row) for row in found]

    def lock_build(self, build_id: int) -> BuildRecord:
        """A build, locked until the transaction ends. NotFound without such a build."""
        return build_record(
            self._one(
                select(t.build).where(t.build.c.id == build_id).with_for_update(key_share=True),
                f"build {build_id}",
            )
        )

    def pair_artifacts(self, sequence_id: int) -> Sequence[tuple[int, str]]:
        """Number and artifact of each pair of a sequence, in order."""
        found = self._connection.execute(
            select(t.launch.c.pair, t.launch.c.artifact)
            .where(t.launch.c.sequence_id == sequence_id)
            .distinct()
            .order_by(t.launch.c.pair)
        )
        return [(row.pair, row.artifact) for row in found]

    def listing(self, sequence_id: int) -> Sequence[Mapping[str, Any]]:
        """The listing of a sequence; empty where none was fixed."""
        fixed = self._connection.execute(
            select(t.sequence.c.listing).where(t.sequence.c.id == sequence_id)
        ).scalar()
        return fixed or []

    def disturbed_pairs(self, sequence_id: int) -> Mapping[int, bool]:
        """By number of each pair of the programs as built, whether other work disturbed it."""
        is_disturbed = func.bool_or(t.launch.c.facts["disturbed"].as_boolean())
        found = self._connection.execute(
            select(t.launch.c.pair, func.coalesce(is_disturbed, false()).label("is_disturbed"))
            .where(t.launch.c.sequence_id == sequence_id)
            .group_by(t.launch.c.pair)
        )
        return {row.pair: row.is_disturbed for row in found if not variant_of(row.pair)}

    def unresolved_benchmarks(self, build_id: int) -> Sequence[str]:
        """The benchmarks of a build with a comparison that is undecided, and that more pairs may decide.

        What layout leaves undecided is slower as linked, and instructions do not come in pairs.
        """
        found = self._connection.execute(
            select(t.series.c.benchmark)
            .distinct()
            .join(t.comparison, t.comparison.c.series_id == t.series.c.id)
            .where(
                t.comparison.c.build_id == build_id,
                t.comparison.c.verdict == Verdict.UNDECIDED.value,
                ~t.comparison.c.reason.startswith(BY_LAYOUT),
                t.series.c.metric != INSTRUCTIONS.name,
            )
            .order_by(t.series.c.benchmark)
        )
        return [row.benchmark for row in found]

    def finish_build(
        self, build_id: int, outcome: str, result: str, causes: Sequence[str], blamed: Sequence[str] = ()
    ) -> Sequence[int]:
        """End a build, once; the runs that wait for it. Whoever holds a lease on it has lost it."""
        self._connection.execute(delete(t.lease).where(t.lease.c.build_id == build_id))
        self._connection.execute(
            update(t.build)
            .where(t.build.c.id == build_id, t.build.c.state != BuildState.FINISHED.value)
            .values(
                state=BuildState.FINISHED.value,
                phase="",
                outcome=Outcome(outcome).value,
                result=result,
                causes=causes,
                blamed=list(blamed),
                finished_at=func.now(),
            )
        )
        return (
            self._connection.execute(
                select(t.run.c.id)
                .join(t.run_build, t.run_build.c.run_id == t.run.c.id)
                .where(t.run_build.c.build_id == build_id, t.run.c.state.in_(t.UNFINISHED_RUN))
                .order_by(t.run.c.id)
            )
            .scalars()
            .all()
        )


def _state(build: NewBuild) -> dict[str, object]:
    if build.outcome is None:
        # Machines take what is queued, so they never see what another CI runs.
        is_external = build.kind == JobKind.EXTERNAL
        return {"state": BuildState.RUNNING.value if is_external else BuildState.QUEUED.value}
    return {
        "state": BuildState.FINISHED.value,
        "outcome": build.outcome.value,
        "result": CONSEQUENCES[build.outcome].result.value,
        "finished_at": func.now(),
    }


def build_record(row: Row[Any]) -> BuildRecord:
    """A row of the table as the steps know it."""
    return BuildRecord(
        id=row.id,
        job=row.job,
        number=row.number,
        kind=row.kind,
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
