"""How rounds of builds follow each other, in a unit of work."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, insert, literal, select, union, update

from service.adapters.postgres.schema import tables as t
from service.adapters.postgres.transaction.builds import Builds, build_record
from service.adapters.postgres.transaction.runs import RUNS, run_record
from service.domain.decision.rounds import Place
from service.domain.decision.states import BuildState, RunState
from service.domain.identity import RunKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.building.spec import BuildSpec
    from service.domain.identity import ChangeKey
    from service.ports.records import BuildRecord, RunRecord

_COPIED: Final = (
    *("kind", "patch_set_id", "instance", "project", "branch", "revision", "parent", "tree", "parent_tree"),
    *("subject", "author", "label", "pool"),
)
_REPEATED: Final = ("job", "kind", "pool", "priority", "is_voting", "spec", "sequence_id")


class RoundsOfBuilds(Builds):
    """Builds that are run again, with those that stay."""

    def newest_check(self, patch_set_id: int) -> RunRecord | None:
        """The last check of a patch set that nobody called off, locked; None where there was none."""
        is_check = (t.run.c.kind == RunKind.CHECK.value) & (t.run.c.ended_by == "")
        row = self._connection.execute(
            RUNS.where(t.run.c.patch_set_id == patch_set_id, is_check)
            .order_by(t.run.c.id.desc())
            .limit(1)
            .with_for_update(of=t.run, key_share=True)
        ).first()
        return None if row is None else run_record(row)

    def checks_of(self, instance: str, revision: str) -> tuple[tuple[RunState, bool], ...]:
        """The states of the checks of a commit, whatever patch set it is, and whether each was planned."""
        found = self._connection.execute(
            select(t.run.c.state, t.run.c.tree).where(
                t.run.c.instance == instance,
                t.run.c.revision == revision,
                t.run.c.kind == RunKind.CHECK.value,
            )
        )
        return tuple((RunState(row.state), row.tree is not None) for row in found)

    def places(self, run_id: int) -> Sequence[Place]:
        """The places of a run's builds in their order."""
        found = self._connection.execute(
            select(t.run_build.c.job, t.run_build.c.build_id, t.run_build.c.is_reused)
            .where(t.run_build.c.run_id == run_id)
            .order_by(t.run_build.c.position, t.run_build.c.build_id)
        )
        return [Place(row.job, row.build_id, row.is_reused) for row in found]

    def follow_run(self, previous: RunRecord, heard_id: int | None) -> int:
        """A running run without builds that follows a finished one of the same revision."""
        copied = select(
            *(t.run.c[name] for name in _COPIED),
            literal(RunState.RUNNING.value),
            literal(previous.id),
            literal(heard_id),
        ).where(t.run.c.id == previous.id)
        statement = insert(t.run).from_select([*_COPIED, "state", "previous_id", "asked_by"], copied)
        return int(self._connection.execute(statement.returning(t.run.c.id)).scalar_one())

    def take_build(self, run_id: int, position: int, build_id: int) -> None:
        """Make a build of an earlier round a part of a run."""
        taken = select(literal(run_id), t.build.c.job, t.build.c.id, literal(position), literal(True)).where(  # noqa: FBT003
            t.build.c.id == build_id
        )
        columns = ["run_id", "job", "build_id", "position", "is_reused"]
        self._connection.execute(insert(t.run_build).from_select(columns, taken))

    def repeat_build(self, build: BuildRecord, spec: BuildSpec | None, deadline_seconds: float) -> int:
        """A new build that does what another did, as a part of no run; queued but for another CI's.

        ``spec`` is what it does instead, where its job was configured otherwise since.
        """
        state = BuildState.RUNNING if build.is_external else BuildState.QUEUED
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
                "pool": spec.job.pool,
                "sequence_id": self._sequence(spec.sequence),
            }
            self._connection.execute(update(t.build).where(t.build.c.id == again).values(**changed))
        return again

    def put_build(self, run_id: int, position: int, job: str, build_id: int, heard_id: int | None) -> None:
        """Give a job's place in a run to a new build; the one that stood there is remembered."""
        place = (t.run_build.c.run_id == run_id) & (t.run_build.c.job == job)
        stood = self._connection.execute(
            select(t.run_build.c.build_id, t.run_build.c.position).where(place)
        ).first()
        if stood is None:
            new = insert(t.run_build).values(run_id=run_id, job=job, build_id=build_id, position=position)
            self._connection.execute(new)
            return
        self._connection.execute(
            insert(t.replaced_build).values(
                run_id=run_id, build_id=stood.build_id, position=stood.position, heard_id=heard_id
            )
        )
        self._connection.execute(
            update(t.run_build).where(place).values(build_id=build_id, position=position, is_reused=False)
        )

    def newest_run(self, change: ChangeKey, kind: RunKind, revision: str) -> RunRecord | None:
        """The last run of a kind for a revision of a change, both locked; None where there is none."""
        of_change = (t.change.c.instance == change.instance) & (t.change.c.number == change.number)
        self._connection.execute(select(t.change.c.id).where(of_change).with_for_update(key_share=True))
        row = self._connection.execute(
            RUNS.where(of_change, t.run.c.kind == kind.value, t.run.c.revision == revision)
            .order_by(t.run.c.id.desc())
            .limit(1)
            .with_for_update(of=t.run, key_share=True)
        ).first()
        return None if row is None else run_record(row)

    def builds_of_job(self, run: RunRecord, job: str) -> Sequence[BuildRecord]:
        """A job's builds in every round that a revision had, the oldest first, also those replaced there."""
        rounds = select(t.run.c.id).where(
            t.run.c.patch_set_id == run.patch_set_id,
            t.run.c.kind == run.kind.value,
            t.run.c.revision == run.revision,
        )
        places = (t.run_build, t.replaced_build)
        stood = union(*(select(each.c.build_id).where(each.c.run_id.in_(rounds)) for each in places))
        found = self._connection.execute(
            select(t.build).where(t.build.c.job == job, t.build.c.id.in_(stood)).order_by(t.build.c.id)
        )
        return [build_record(row) for row in found]

    def name_build(self, build_id: int, external_number: int, url: str) -> None:
        """Write down what another CI calls a build that it runs."""
        named = update(t.build).where(t.build.c.id == build_id)
        self._connection.execute(named.values(external_number=external_number, url=url))

    def cancel_check(self, run_id: int) -> None:
        """A person ends an unfinished run; it is not made anew by itself."""
        self._connection.execute(
            update(t.run)
            .where(t.run.c.id == run_id, t.run.c.state.in_(t.UNFINISHED_RUN))
            .values(state=RunState.CANCELLED.value, finished_at=func.now(), ended_by="person")
        )
