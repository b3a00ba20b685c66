"""The outbox in a unit of work."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.ports.records import ReviewState, review_key
from service.ports.transaction.decisions import Outbox

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.domain.identity import ChangeKey
    from service.ports.queue import Task
    from service.ports.records import QueuedReview

CONTROL_POOL: Final = "control"

# A review that waits on another revision is never posted there: the change moved on.
_REMARKS = text("""
SELECT DISTINCT comment ->> 'path' AS path, comment ->> 'text' AS text
FROM outbox, jsonb_array_elements(payload -> 'comments') AS comment
WHERE payload ? 'comments' AND payload -> 'number' = to_jsonb(CAST(:number AS bigint))
  AND payload ->> 'instance' = :instance
  AND (state = 'sent' OR (state = 'pending' AND payload ->> 'revision' = :revision))
""")


class PostgresOutbox(Connected, Outbox):
    """Hints and reviews in the table ``outbox``."""

    @override
    def queue_task(self, task: Task, *entities: int) -> None:
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

    @override
    def revive_review(self, patch_set_id: int) -> None:
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
                .where(
                    t.outbox.c.dedup_key == key,
                    t.outbox.c.state.in_((ReviewState.SUPERSEDED, ReviewState.DEAD)),
                )
                .values(state=ReviewState.PENDING, next_at=func.now(), missing_since=None)
            )

    @override
    def queue_review(self, dedup_key: str, review: QueuedReview) -> None:
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

    @override
    def remarks_on(self, change: ChangeKey, revision: str) -> Collection[tuple[str, str]]:
        where = {"instance": change.instance, "number": change.number, "revision": revision}
        return {(row.path, row.text) for row in self._connection.execute(_REMARKS, where)}
