"""Decisions in a unit of work, with what leaves once it is committed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert

from service.adapters.postgres.schema import tables as t
from service.adapters.postgres.transaction.connection import Connected
from service.ports.records import review_key

if TYPE_CHECKING:
    from service.ports.queue import Task
    from service.ports.records import NewDecision, QueuedReview, RunRecord

CONTROL_POOL: Final = "control"


class Decisions(Connected):
    """Votes, and the outbox."""

    def add_decision(self, decision: NewDecision) -> int:
        """Store a decision; its number (counted per patch set, else per run)."""
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

    def next_decision(self, run: RunRecord) -> int:
        """The number that the run's next decision will have, if it is made in this transaction."""
        if run.patch_set_id is None:
            counted = t.decision.c.run_id == run.id
        else:
            counted = t.decision.c.patch_set_id == run.patch_set_id
            # Two runs of one patch set that end at once would both get the same number.
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

    def queue_task(self, task: Task, *entities: int) -> None:
        """Send a hint for each once this transaction is committed. NotFound: no such build to execute."""
        hints = [
            {"kind": "task", "payload": {"task": task, "entity": entity, "pool": self._pool_of(task, entity)}}
            for entity in entities
        ]
        if hints:
            self._connection.execute(insert(t.outbox), hints)

    def _pool_of(self, task: Task, entity: int) -> str:
        if not task.is_for_machines:
            return CONTROL_POOL
        return str(self._one(select(t.build.c.pool).where(t.build.c.id == entity), f"build {entity}").pool)

    def revive_review(self, patch_set_id: int) -> None:
        """Post the review of a patch set's last decision after all, where its change was closed or hidden."""
        last = (
            select(t.decision.c.run_id, t.decision.c.number)
            .where(t.decision.c.patch_set_id == patch_set_id)
            .order_by(t.decision.c.number.desc())
            .limit(1)
        )
        row = self._connection.execute(last).first()
        if row is not None:
            key = review_key(row.run_id, row.number)
            self._connection.execute(
                update(t.outbox)
                .where(t.outbox.c.dedup_key == key, t.outbox.c.state.in_(("superseded", "dead")))
                .values(state="pending", next_at=func.now(), missing_since=None)
            )

    def queue_review(self, dedup_key: str, review: QueuedReview) -> None:
        """Post to the review server once this transaction is committed; once for each key."""
        payload: dict[str, Any] = {
            "instance": review.change.instance,
            "number": review.change.number,
            "revision": review.revision,
            "message": review.message,
            "marker": review.marker,
            "labels": dict(review.labels),
        }
        if review.comments:
            payload["comments"] = [asdict(comment) for comment in review.comments]
        self._connection.execute(
            insert(t.outbox)
            .values(kind="review", dedup_key=dedup_key, payload=payload)
            .on_conflict_do_nothing()
        )
