"""Changes and patch sets in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.domain.gerrit.change import ChangeStatus
from service.domain.identity import ChangeKey
from service.ports.records import ChangeRecord
from service.ports.transaction.intake import Changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.gerrit.change import Change, Person


class PostgresChanges(Connected, Changes):
    """Changes in the tables ``change`` and ``patch_set``."""

    @override
    def upsert_change(self, change: Change) -> ChangeRecord:
        added = self._connection.execute(
            insert(t.change)
            .values(instance=change.key.instance, number=change.key.number, **_columns(change))
            .on_conflict_do_nothing()
            .returning(t.change.c.id)
        ).scalar()
        if added is not None:
            return ChangeRecord(added, self._patch_set(added, change), is_current=True)
        return self._update(change)

    @override
    def open_changes(self, instance: str) -> Sequence[ChangeKey]:
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
        """The current patch set of a locked change; a patch set that is stored never changes."""
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
