"""What people said and decided, and how far a server was read, in a unit of work."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert

from service.adapters.postgres.schema import tables as t
from service.adapters.postgres.transaction.connection import Connected
from service.domain.decision.overrides import Override, OverrideKind
from service.domain.identity import ChangeKey
from service.ports.records import ReviewComment, SyncCursor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Row

    from service.domain.gerrit.change import PostedMessage
    from service.ports.records import ChangeRecord, NewOverride


_HEARD = select(
    t.heard,
    t.change.c.instance,
    t.change.c.number,
    t.patch_set.c.number.label("patch_set"),
    t.patch_set.c.revision,
).select_from(t.heard.join(t.change).join(t.patch_set, t.patch_set.c.id == t.heard.c.patch_set_id))


class StoredComments(Connected):
    """Messages that may hold commands, and the log of what was decided."""

    def sync_cursor(self, instance: str) -> SyncCursor | None:
        """How far a server was read; None before the first contact."""
        row = self._connection.execute(select(t.server).where(t.server.c.instance == instance)).first()
        return None if row is None else SyncCursor(row.first_contact, row.seen_until)

    def move_sync_cursor(self, instance: str, seen_until: datetime) -> None:
        """Every change updated before then is stored as a hint; never moves back."""
        statement = insert(t.server).values(
            instance=instance, first_contact=seen_until, seen_until=seen_until
        )
        later = func.greatest(t.server.c.seen_until, statement.excluded.seen_until)
        self._connection.execute(
            statement.on_conflict_do_update(index_elements=["instance"], set_={"seen_until": later})
        )

    def record_comments(self, record: ChangeRecord, said: Sequence[PostedMessage]) -> Sequence[int]:
        """Store messages on the current patch set in their order; those that were not stored before."""
        added = (self._store(record, message) for message in said)
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

    def lock_comment(self, comment_id: int) -> ReviewComment:
        """A comment, with its change locked. NotFound without such a message."""
        # First the lock, then the look: what was obeyed while this waited is seen.
        self._connection.execute(
            select(t.change.c.id)
            .join(t.heard)
            .where(t.heard.c.id == comment_id)
            .with_for_update(of=t.change, key_share=True)
        )
        return _comment_of(self._one(_HEARD.where(t.heard.c.id == comment_id), f"message {comment_id}"))

    def pending_until(self, comment_id: int) -> Sequence[ReviewComment]:
        """What is still to be obeyed of its change up to a message, in the order in which it was said."""
        of_change = select(t.heard.c.change_id).where(t.heard.c.id == comment_id).scalar_subquery()
        found = self._connection.execute(
            _HEARD.where(
                t.heard.c.change_id == of_change, t.heard.c.state == "pending", t.heard.c.id <= comment_id
            ).order_by(t.heard.c.id)
        )
        return [_comment_of(row) for row in found]

    def answer(self, comment_id: int, text: str) -> None:
        """It was obeyed or refused, and this was said to it."""
        self._connection.execute(
            update(t.heard).where(t.heard.c.id == comment_id).values(state="done", answer=text)
        )

    def add_override(self, patch_set_id: int, override: NewOverride) -> int:
        """Append to the log of what people decided."""
        statement = insert(t.ruling).values(
            patch_set_id=patch_set_id,
            kind=override.kind.value,
            builds=list(override.builds),
            pattern=override.pattern,
            bug=override.bug,
            reason=override.reason,
            account=override.account,
            person=override.person,
            heard_id=override.comment_id,
        )
        return int(self._connection.execute(statement.returning(t.ruling.c.id)).scalar_one())

    def overrides(self, patch_set_id: int) -> Sequence[Override]:
        """What people decided about a patch set, oldest first; those in force and those taken back."""
        found = self._connection.execute(
            select(t.ruling, t.patch_set.c.revision)
            .join(t.patch_set)
            .where(t.ruling.c.patch_set_id == patch_set_id)
            .order_by(t.ruling.c.id)
        )
        return [
            Override(
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
            )
            for row in found
        ]


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
        is_pending=row.state == "pending",
    )
