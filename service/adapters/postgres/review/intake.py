"""Store what a review server sends: events, changes, comments, and the sync cursor."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, null, select, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.review.page_commands import command_in, command_text
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.storable import LARGEST_INTEGER
from service.domain.review.change import ChangeStatus, CommentSource, patch_sets_with_code_of
from service.domain.values.identity import ChangeKey
from service.ports.review.changes import (
    ChangeRecord,
    Changes,
    CommentState,
    Events,
    ReviewComment,
    ReviewComments,
    SyncCursor,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import RowMapping

    from service.domain.review.change import Change, PostedMessage
    from service.ports.review.changes import PageRequest

# Built once: bursts of events come in, and building it takes longer than its execution.
_ADD_EVENT: Final = (
    insert(t.event)
    .on_conflict_do_update(
        index_elements=["instance", "digest"],
        set_={"deliveries": t.event.c.deliveries + 1, "received_at": func.now(), "handled_at": null()},
    )
    .returning(t.event.c.id)
)
_COMMENTS: Final = select(
    t.heard,
    (t.heard.c.state == CommentState.PENDING).label("is_pending"),
    t.change.c.instance,
    t.change.c.number,
    t.change.c.project,
    t.patch_set.c.number.label("patch_set"),
    t.patch_set.c.revision,
).select_from(t.heard.join(t.change).join(t.patch_set, t.patch_set.c.id == t.heard.c.patch_set_id))


class PostgresEvents(Connected, Events):
    """Rows of the tables ``event`` and ``server``."""

    @override
    def add(
        self, instance: str, digest: bytes, kind: str, change: int | None, body: bytes, project: str = ""
    ) -> int:
        # The number comes from outside: one that no server gives is no hint, and must not stop the rest.
        hinted = change if change is not None and 0 < change <= LARGEST_INTEGER else None
        event = {"instance": instance, "digest": digest, "type": kind, "change": hinted, "body": body}
        return int(self._execute(_ADD_EVENT, {**event, "project": project}).scalar_one())

    @override
    def change_of(self, event_id: int) -> ChangeKey | None:
        is_its_change = (t.change.c.instance == t.event.c.instance) & (t.change.c.number == t.event.c.change)
        query = (
            select(
                t.event.c.instance,
                t.event.c.change,
                func.coalesce(t.change.c.project, t.event.c.project).label("project"),
            )
            .join(t.change, is_its_change, isouter=True)
            .where(t.event.c.id == event_id)
        )
        row = self._one(query, f"event {event_id}")
        number = row["change"]
        return None if number is None else ChangeKey(row["instance"], number, row["project"])

    @override
    def mark_handled(self, event_id: int) -> None:
        self._execute(update(t.event).where(t.event.c.id == event_id).values(handled_at=func.now()))

    @override
    def cursor(self, instance: str) -> SyncCursor | None:
        row = self._execute(select(t.server).where(t.server.c.instance == instance)).first()
        return None if row is None else SyncCursor(row.first_contact, row.seen_until, row.inline_after)

    @override
    def move_cursor(self, instance: str, seen_until: datetime) -> None:
        new = insert(t.server).values(instance=instance, first_contact=seen_until, seen_until=seen_until)
        later = func.greatest(t.server.c.seen_until, new.excluded.seen_until)
        self._execute(new.on_conflict_do_update(index_elements=["instance"], set_={"seen_until": later}))


class PostgresChanges(Connected, Changes):
    """Rows of the tables ``change`` and ``patch_set``."""

    @override
    def upsert(self, change: Change) -> ChangeRecord:
        key = {"instance": change.key.instance, "number": change.key.number}
        new = insert(t.change).values(**key, **_columns(change)).on_conflict_do_nothing()
        added = self._execute(new.returning(t.change.c.id)).scalar()
        if added is not None:
            return ChangeRecord(added, self._patch_set(added, change), is_current=True)
        return self._update(change)

    @override
    def lock(self, key: ChangeKey) -> int | None:
        is_wanted = (t.change.c.instance == key.instance) & (t.change.c.number == key.number)
        return self._execute(select(t.change.c.id).where(is_wanted).with_for_update(key_share=True)).scalar()

    @override
    def same_code(self, change: ChangeKey, revision: str) -> Sequence[int]:
        of_change = (t.change.c.instance == change.instance) & (t.change.c.number == change.number)
        found = self._execute(
            select(t.patch_set.c.number, t.patch_set.c.kind, t.patch_set.c.revision)
            .join(t.change)
            .where(of_change)
            .order_by(t.patch_set.c.number.desc())
        )
        return patch_sets_with_code_of(revision, [tuple(row) for row in found])

    @override
    def with_patch_set(self, instance: str, branch: tuple[str, str], revision: str) -> ChangeKey | None:
        project, name = branch
        is_there = (t.change.c.project == project) & (t.change.c.branch == name)
        number = self._execute(
            select(t.change.c.number)
            .join(t.patch_set)
            .where(t.change.c.instance == instance, is_there, t.patch_set.c.revision == revision)
            .limit(1)
        ).scalar()
        return None if number is None else ChangeKey(instance, number, project)

    @override
    def open_changes(self, instance: str) -> Sequence[ChangeKey]:
        found = self._execute(
            select(t.change.c.number, t.change.c.project)
            .where(t.change.c.instance == instance, t.change.c.status == ChangeStatus.NEW.value)
            .order_by(t.change.c.number)
        )
        return [ChangeKey(instance, row.number, row.project) for row in found]

    def _update(self, change: Change) -> ChangeRecord:
        stored = self._execute(
            select(t.change.c.id, t.change.c.updated_at)
            .where(t.change.c.instance == change.key.instance, t.change.c.number == change.key.number)
            .with_for_update(key_share=True)
        ).one()
        newest = self._execute(
            select(t.patch_set.c.id, t.patch_set.c.number)
            .where(t.patch_set.c.change_id == stored.id)
            .order_by(t.patch_set.c.number.desc())
            .limit(1)
        ).one()
        if (change.updated, change.current.number) < (stored.updated_at, newest.number):
            return ChangeRecord(stored.id, newest.id, is_current=False)
        stays = (t.change.c.project == change.project) & (t.change.c.branch == change.branch)
        is_public = t.change.c.is_public & stays & (not change.is_private)
        changed = update(t.change).where(t.change.c.id == stored.id)
        changed = changed.values(**_columns(change), is_public=is_public).returning(t.change.c.is_public)
        return ChangeRecord(
            stored.id,
            patch_set_id=self._patch_set(stored.id, change),
            is_current=True,
            is_public=bool(self._execute(changed).scalar_one()),
        )

    def _patch_set(self, change_id: int, change: Change) -> int:
        """Return the current patch set of a locked change; a patch set that is stored never changes."""
        current = change.current
        place = (t.patch_set.c.change_id == change_id) & (t.patch_set.c.number == current.number)
        stored = self._execute(select(t.patch_set.c.id).where(place)).scalar()
        if stored is not None:
            return int(stored)
        new = insert(t.patch_set).values(
            change_id=change_id,
            number=current.number,
            revision=current.revision,
            ref=current.ref,
            kind=current.kind.value,
            author=current.author.shown,
            subject=change.subject,
            message=change.message,
        )
        return int(self._execute(new.returning(t.patch_set.c.id)).scalar_one())


class PostgresComments(Connected, ReviewComments):
    """Messages and requests with their replies."""

    @override
    def record(self, record: ChangeRecord, messages: Sequence[PostedMessage]) -> Sequence[int]:
        added = (self._store(record, message) for message in messages)
        return [comment_id for comment_id in added if comment_id is not None]

    def _store(self, record: ChangeRecord, message: PostedMessage) -> int | None:
        new = insert(t.heard).values(
            change_id=record.change_id,
            patch_set_id=record.patch_set_id,
            account=message.author.account,
            person=message.author.shown,
            written_at=message.written,
            # A server's own ids are of no use: they change when it rewrites its history.
            digest=hashlib.sha256((message.shown or message.text).encode("utf-8", "replace")).digest(),
            text=message.text,
        )
        return self._execute(new.on_conflict_do_nothing().returning(t.heard.c.id)).scalar()

    @override
    def add_request(self, request: PageRequest) -> int | None:
        change_of = select(t.patch_set.c.change_id).where(t.patch_set.c.id == request.patch_set_id)
        text = command_text(request.command)
        new = insert(t.heard).values(
            change_id=change_of.scalar_subquery(),
            patch_set_id=request.patch_set_id,
            account=request.account,
            person=request.person,
            written_at=func.clock_timestamp(),
            digest=hashlib.sha256(text.encode()).digest(),
            text=text,
            source=CommentSource.PAGE,
            signed_in_as=request.signed_in_as,
            ticket=request.ticket,
        )
        added = new.on_conflict_do_nothing(index_elements=["ticket"]).returning(t.heard.c.id)
        return self._execute(added).scalar()

    @override
    def lock(self, comment_id: int) -> ReviewComment:
        is_wanted = t.heard.c.id == comment_id
        # The lock comes before the query, which then sees what was answered while this waited.
        changes = select(t.change.c.id).join(t.heard).where(is_wanted)
        self._execute(changes.with_for_update(of=t.change, key_share=True))
        return _comment_of(self._one(_COMMENTS.where(is_wanted), f"message {comment_id}"))

    @override
    def pending_until(self, comment_id: int) -> Sequence[ReviewComment]:
        of_change = select(t.heard.c.change_id).where(t.heard.c.id == comment_id).scalar_subquery()
        found = self._execute(
            _COMMENTS.where(
                t.heard.c.change_id == of_change,
                t.heard.c.state == CommentState.PENDING,
                t.heard.c.id <= comment_id,
            ).order_by(t.heard.c.id)
        )
        return [_comment_of(row) for row in found.mappings()]

    @override
    def answer(self, comment_id: int, text: str) -> None:
        answered = update(t.heard).where(t.heard.c.id == comment_id)
        self._execute(answered.values(state=CommentState.DONE, answer=text))


def _comment_of(row: RowMapping) -> ReviewComment:
    change = ChangeKey(row["instance"], row["number"], row["project"])
    # Only a page's text: a person could write such a document in a comment.
    command = command_in(row["text"]) if row["source"] == CommentSource.PAGE else None
    return from_row(ReviewComment, row, change=change, command=command)


def _columns(change: Change) -> dict[str, object]:
    return {
        "project": change.project,
        "branch": change.branch,
        "change_id": change.change_id,
        "subject": change.subject,
        "owner": change.owner.shown,
        "owner_account": change.owner.account,
        "status": change.status.value,
        "is_wip": change.is_wip,
        "is_private": change.is_private,
        "updated_at": change.updated,
    }
