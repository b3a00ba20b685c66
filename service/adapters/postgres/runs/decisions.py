"""Decisions in a unit of work: overrides by people, votes, and the outbox."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.persisted import mappings_of, slowdowns_from
from service.adapters.postgres.rows import review_of
from service.domain.runs.overrides import Override, OverrideKind
from service.domain.values.identity import ChangeKey
from service.domain.wording.delivery import WITHOUT_COMMENTS
from service.ports.runs.decisions import (
    KINDS,
    Decisions,
    Outbox,
    Overrides,
    ReviewState,
    details_of,
    review_key,
    subject_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from service.domain.review.change import Review
    from service.ports.access import Audit
    from service.ports.runs.decisions import NewDecision, NewOverride
    from service.ports.runs.queue import Task
    from service.ports.runs.runs import RunRecord

CONTROL_POOL: Final = "control"

# A review that waits on another revision is never posted there: the change moved on.
_REMARKS = text("""
SELECT DISTINCT comment ->> 'path' AS path, comment ->> 'text' AS text
FROM outbox, jsonb_array_elements(payload -> 'comments') AS comment
WHERE payload ? 'comments' AND payload -> 'number' = to_jsonb(CAST(:number AS bigint))
  AND payload ->> 'instance' = :instance
  AND (state = 'sent' OR (state = 'pending' AND payload ->> 'revision' = :revision))
""")


_RULINGS: Final = (
    select(t.ruling, t.patch_set.c.revision, t.patch_set.c.number.label("patch_set"))
    .select_from(t.ruling.join(t.patch_set).join(t.change))
    .order_by(t.ruling.c.id)
)


class PostgresOverrides(Connected, Overrides):
    """The log of overrides, which refuses changes.

    Args:
        connection: a connection in a transaction, which the store ends.
        audit: of the same transaction.
    """

    def __init__(self, connection: Connection, audit: Audit) -> None:
        super().__init__(connection)
        self._audit = audit

    @override
    def add(self, patch_set_id: int, entry: NewOverride) -> int:
        found = self._one(
            select(
                t.change.c.instance,
                t.change.c.number,
                t.patch_set.c.number.label("patch_set"),
                t.patch_set.c.revision,
            )
            .join(t.change)
            .where(t.patch_set.c.id == patch_set_id),
            f"patch set {patch_set_id}",
        )
        change = ChangeKey(found["instance"], found["number"])
        self._audit.record_act(
            KINDS[entry.kind],
            entry.account,
            subject_of(change, found["patch_set"]),
            details_of(entry, found["revision"]),
        )
        values = {**asdict(entry), "builds": list(entry.builds), "levels": mappings_of(entry.levels)}
        del values["signed_in_as"]  # the message has it
        new = insert(t.ruling).values(patch_set_id=patch_set_id, heard_id=values.pop("comment_id"), **values)
        return int(self._execute(new.returning(t.ruling.c.id)).scalar_one())

    @override
    def of(self, patch_set_id: int) -> Sequence[Override]:
        return overrides_of(self._connection, patch_set_id)

    @override
    def of_change(self, change: ChangeKey, patch_sets: Sequence[int]) -> Mapping[int, Sequence[Override]]:
        of_change = (t.change.c.instance == change.instance) & (t.change.c.number == change.number)
        rows = self._execute(_RULINGS.where(of_change, t.patch_set.c.number.in_(patch_sets)))
        made: defaultdict[int, list[Override]] = defaultdict(list)
        for row in rows:
            made[row.patch_set].append(_override(row))
        return dict(made)


class PostgresDecisions(Connected, Decisions):
    """Rows of the table ``decision``."""

    @override
    def add(self, decision: NewDecision) -> int:
        self._execute(insert(t.decision).values(asdict(decision)))
        return decision.number

    @override
    def next_number(self, run: RunRecord) -> int:
        counted = t.decision.c.run_id == run.id
        if run.patch_set_id is not None:
            counted = t.decision.c.patch_set_id == run.patch_set_id
            # Two runs of one patch set that end at once would otherwise get the same number.
            patch_set = select(t.patch_set.c.id).where(t.patch_set.c.id == run.patch_set_id)
            self._execute(patch_set.with_for_update(key_share=True))
        last = func.coalesce(func.max(t.decision.c.number), 0)
        return int(self._execute(select(last + 1).where(counted)).scalar_one())

    @override
    def last_message(self, run_id: int) -> str:
        newest = select(t.decision.c.message).where(t.decision.c.run_id == run_id)
        found = self._execute(newest.order_by(t.decision.c.number.desc()).limit(1)).scalar()
        return str(found or "")


class OutgoingWork(Connected, Outbox):
    """Outbox entries of a unit of work."""

    @override
    def queue_task(self, task: Task, *entities: int) -> None:
        hints = [
            {"kind": "task", "payload": {"task": task, "entity": entity, "pool": self._pool_of(task, entity)}}
            for entity in entities
        ]
        if hints:
            self._execute(insert(t.outbox), hints)

    def _pool_of(self, task: Task, entity: int) -> str:
        if not task.is_for_machines:
            return CONTROL_POOL
        build = select(t.build.c.pool).where(t.build.c.id == entity)
        return str(self._one(build, f"build {entity}")["pool"])

    @override
    def queue_review(self, dedup_key: str, review: Review) -> None:
        payload: dict[str, Any] = {
            "instance": review.change.instance,
            "number": review.change.number,
            "project": review.change.project,
            "revision": review.revision,
            "message": review.message,
            "marker": review.marker,  # the version before reads it, and may still post
            "labels": dict(review.labels),
        }
        if review.is_silent:
            payload["is_silent"] = True
        if review.comments:
            payload["comments"] = [asdict(comment) for comment in review.comments]
        new = insert(t.outbox).values(kind="review", dedup_key=dedup_key, payload=payload)
        self._execute(new.on_conflict_do_nothing())

    @override
    def drop_review(self, dedup_key: str) -> None:
        waits = t.outbox.c.state == ReviewState.PENDING
        unwanted = update(t.outbox).where(t.outbox.c.dedup_key == dedup_key, waits)
        self._execute(unwanted.values(state=ReviewState.SUPERSEDED))

    @override
    def sent_review(self, patch_set_id: int) -> Review | None:
        query = select(t.outbox.c.payload).where(
            t.outbox.c.dedup_key == self._last_review(patch_set_id),
            t.outbox.c.state == ReviewState.SENT,
            func.coalesce(t.outbox.c.last_error, "").in_(["", WITHOUT_COMMENTS]),
        )
        payload = self._execute(query).scalar()
        return None if payload is None else review_of(payload)

    @override
    def revive_review(self, patch_set_id: int, *, is_lost: bool = False) -> None:
        states = [ReviewState.SUPERSEDED, ReviewState.DEAD, *([ReviewState.SENT] if is_lost else [])]
        unposted = t.outbox.c.state.in_(states)
        again = update(t.outbox).where(t.outbox.c.dedup_key == self._last_review(patch_set_id), unposted)
        self._execute(again.values(state=ReviewState.PENDING, next_at=func.now(), missing_since=None))

    def _last_review(self, patch_set_id: int) -> str:
        """Return the key of the review of the last decision; empty without a decision."""
        decisions = select(t.decision.c.run_id, t.decision.c.number).where(
            t.decision.c.patch_set_id == patch_set_id
        )
        last = self._execute(decisions.order_by(t.decision.c.number.desc()).limit(1)).first()
        return "" if last is None else review_key(*last)

    @override
    def remarks_on(self, change: ChangeKey, revision: str) -> Collection[tuple[str, str]]:
        where = {"instance": change.instance, "number": change.number, "revision": revision}
        return {(row.path, row.text) for row in self._execute(_REMARKS, where)}


def overrides_of(connection: Connection, patch_set_id: int) -> Sequence[Override]:
    """Return all entries of a patch set, oldest first, also those that were revoked."""
    found = connection.execute(_RULINGS.where(t.ruling.c.patch_set_id == patch_set_id))
    return [_override(row) for row in found]


def _override(row: Row[Any]) -> Override:
    return Override(
        id=row.id,
        kind=OverrideKind(row.kind),
        revision=row.revision,
        filter=row.pattern,
        bug=row.bug,
        reason=row.reason,
        who=row.person,
        account=row.account,
        at=row.made_at,
        builds=frozenset(row.builds),
        carried_from=row.carried_from,
        levels=slowdowns_from(row.levels),
    )
