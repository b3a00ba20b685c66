"""Events, changes and patch sets in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import func, null, select, update
from sqlalchemy.dialects.postgresql import insert

from service.adapters.postgres.schema import tables as t
from service.adapters.postgres.transaction.connection import Connected
from service.domain.gerrit.change import ChangeStatus
from service.domain.identity import ChangeKey
from service.ports.records import ChangeRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.gerrit.change import Change, Person

_LARGEST_INTEGER: Final = 2**31 - 1

# Built once: bursts of events come in, and building it takes longer than its execution.
_ADD_EVENT: Final = (
    insert(t.event)
    .on_conflict_do_update(
        index_elements=["instance", "digest"],
        set_={"deliveries": t.event.c.deliveries + 1, "received_at": func.now(), "handled_at": null()},
    )
    .returning(t.event.c.id)
)


class Changes(Connected):
    """What the review server says."""

    def add_event(self, instance: str, digest: bytes, kind: str, change: int | None, body: bytes) -> int:
        """Store an event; a duplicate is counted and looked at again."""
        # The number is a stranger's word: one that no server gives is no hint, and must not stop the rest.
        hinted = change if change is not None and 0 < change <= _LARGEST_INTEGER else None
        event = {"instance": instance, "digest": digest, "type": kind, "change": hinted, "body": body}
        return int(self._connection.execute(_ADD_EVENT, event).scalar_one())

    def event_change(self, event_id: int) -> ChangeKey | None:
        """The change an event hints at; None where it concerns none. NotFound without such an event."""
        row = self._one(
            select(t.event.c.instance, t.event.c.change).where(t.event.c.id == event_id), f"event {event_id}"
        )
        return None if row.change is None else ChangeKey(row.instance, row.change)

    def mark_handled(self, event_id: int) -> None:
        """The event needs no more work."""
        self._connection.execute(
            update(t.event).where(t.event.c.id == event_id).values(handled_at=func.now())
        )

    def upsert_change(self, change: Change) -> ChangeRecord:
        """Store a change and its current patch set unless a newer state is stored; locks the change.

        Newer is the later update, and of one moment the higher patch set.
        """
        added = self._connection.execute(
            insert(t.change)
            .values(instance=change.key.instance, number=change.key.number, **_columns(change))
            .on_conflict_do_nothing()
            .returning(t.change.c.id)
        ).scalar()
        if added is not None:
            return ChangeRecord(added, self._patch_set(added, change), is_current=True)
        return self._update(change)

    def open_changes(self, instance: str) -> Sequence[ChangeKey]:
        """The changes of a server that were open when they were last looked at, by number."""
        numbers = self._connection.execute(
            select(t.change.c.number)
            .where(t.change.c.instance == instance, t.change.c.status == ChangeStatus.NEW.value)
            .order_by(t.change.c.number)
        ).scalars()
        return [ChangeKey(instance, number) for number in numbers]

    def _update(self, change: Change) -> ChangeRecord:
        stored = self._connection.execute(
            select(t.change.c.id, t.change.c.updated_at)
            .where(t.change.c.instance == change.key.instance, t.change.c.number == change.key.number)
            .with_for_update(key_share=True)
        ).one()
        newest = self._connection.execute(
            select(t.patch_set.c.id, t.patch_set.c.number)
            .where(t.patch_set.c.change_id == stored.id)
            .order_by(t.patch_set.c.number.desc())
            .limit(1)
        ).one()
        if (change.updated, change.current.number) < (stored.updated_at, newest.number):
            return ChangeRecord(stored.id, newest.id, is_current=False)
        self._connection.execute(
            update(t.change).where(t.change.c.id == stored.id).values(**_columns(change))
        )
        return ChangeRecord(stored.id, self._patch_set(stored.id, change), is_current=True)

    def _patch_set(self, change_id: int, change: Change) -> int:
        """Of a locked change; a patch set never changes once it is there."""
        current = change.current
        stored = self._connection.execute(
            select(t.patch_set.c.id).where(
                t.patch_set.c.change_id == change_id, t.patch_set.c.number == current.number
            )
        ).scalar()
        if stored is not None:
            return int(stored)
        return int(
            self._connection.execute(
                insert(t.patch_set)
                .values(
                    change_id=change_id,
                    number=current.number,
                    revision=current.revision,
                    ref=current.ref,
                    kind=current.kind,
                    author=_shown(current.author),
                    subject=change.subject,
                    message=change.message,
                )
                .returning(t.patch_set.c.id)
            ).scalar_one()
        )


def _columns(change: Change) -> dict[str, object]:
    return {
        "project": change.project,
        "branch": change.branch,
        "change_id": change.change_id,
        "subject": change.subject,
        "owner": _shown(change.owner),
        "status": change.status.value,
        "is_wip": change.is_wip,
        "is_private": change.is_private,
        "updated_at": change.updated,
    }


def _shown(person: Person) -> str:
    return person.name or person.username or person.email
