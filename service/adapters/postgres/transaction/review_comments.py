"""Review comments in a unit of work."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.domain.identity import ChangeKey
from service.ports.records import CommentState, ReviewComment
from service.ports.transaction.intake import ReviewComments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

    from service.domain.gerrit.change import PostedMessage
    from service.ports.records import ChangeRecord


_COMMENTS = select(
    t.heard,
    t.change.c.instance,
    t.change.c.number,
    t.patch_set.c.number.label("patch_set"),
    t.patch_set.c.revision,
).select_from(t.heard.join(t.change).join(t.patch_set, t.patch_set.c.id == t.heard.c.patch_set_id))


class PostgresReviewComments(Connected, ReviewComments):
    """Messages with their replies."""

    @override
    def record_comments(self, record: ChangeRecord, messages: Sequence[PostedMessage]) -> Sequence[int]:
        added = (self._store(record, message) for message in messages)
        return [comment_id for comment_id in added if comment_id is not None]

    def _store(self, record: ChangeRecord, message: PostedMessage) -> int | None:
        statement = insert(t.heard).values(
            change_id=record.change_id,
            patch_set_id=record.patch_set_id,
            account=message.author.account,
            person=message.author.shown,
            written_at=message.written,
            # A server's own ids are of no use: they change when it rewrites its history.
            digest=hashlib.sha256(message.text.encode("utf-8", "replace")).digest(),
            text=message.text,
        )
        added = self._connection.execute(statement.on_conflict_do_nothing().returning(t.heard.c.id)).scalar()
        return None if added is None else int(added)

    @override
    def lock_comment(self, comment_id: int) -> ReviewComment:
        # The lock comes before the query, which then sees what was answered while this waited.
        self._connection.execute(
            select(t.change.c.id)
            .join(t.heard)
            .where(t.heard.c.id == comment_id)
            .with_for_update(of=t.change, key_share=True)
        )
        return _comment_of(self._one(_COMMENTS.where(t.heard.c.id == comment_id), f"message {comment_id}"))

    @override
    def pending_until(self, comment_id: int) -> Sequence[ReviewComment]:
        of_change = select(t.heard.c.change_id).where(t.heard.c.id == comment_id).scalar_subquery()
        found = self._connection.execute(
            _COMMENTS.where(
                t.heard.c.change_id == of_change,
                t.heard.c.state == CommentState.PENDING,
                t.heard.c.id <= comment_id,
            ).order_by(t.heard.c.id)
        )
        return [_comment_of(row) for row in found]

    @override
    def answer(self, comment_id: int, text: str) -> None:
        self._connection.execute(
            update(t.heard).where(t.heard.c.id == comment_id).values(state=CommentState.DONE, answer=text)
        )


def _comment_of(row: Row[Any]) -> ReviewComment:
    return ReviewComment(
        id=row.id,
        change_id=row.change_id,
        patch_set_id=row.patch_set_id,
        change=ChangeKey(row.instance, row.number),
        patch_set=row.patch_set,
        revision=row.revision,
        account=row.account,
        person=row.person,
        text=row.text,
        is_pending=CommentState(row.state) is CommentState.PENDING,
    )
