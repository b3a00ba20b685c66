"""Events, changes, comments and sync cursors in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.review.change import ChangeStatus, CommentSource, patch_sets_with_code_of
from service.domain.values.identity import ChangeKey
from service.ports.review.changes import (
    ChangeRecord,
    Changes,
    Events,
    ReviewComment,
    ReviewComments,
    SyncCursor,
    Visibility,
)
from tests.support.memory.state import InMemory, StoredEvent, StoredPatchSet, row

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from service.domain.review.change import Change, PostedMessage
    from service.ports.review.changes import PageRequest


class MemoryEvents(InMemory, Events):
    def add(
        self, instance: str, digest: bytes, kind: str, change: int | None, body: bytes, project: str = ""
    ) -> int:
        for number, event in enumerate(self._m.events, 1):
            if (event.instance, event.digest) == (instance, digest):
                again = replace(
                    event, deliveries=event.deliveries + 1, is_handled=False, received=self._m.clock
                )
                self._m.events[number - 1] = again
                return number
        hinted = change if change is not None and 0 < change < 1 << 31 else None
        self._m.events.append(StoredEvent(instance, digest, kind, hinted, self._m.clock, project=project))
        return len(self._m.events)

    def change_of(self, event_id: int) -> ChangeKey | None:
        event = row(self._m.events, event_id, "event")
        if event.change is None:
            return None
        stored = self._m.changes.get(key := ChangeKey(event.instance, event.change, event.project))
        return key if stored is None else stored.key

    def mark_handled(self, event_id: int) -> None:
        self._m.events[event_id - 1] = replace(self._m.events[event_id - 1], is_handled=True)

    def cursor(self, instance: str) -> SyncCursor | None:
        return self._m.sync_cursors.get(instance)

    def move_cursor(self, instance: str, seen_until: datetime) -> None:
        known = self._m.sync_cursors.get(instance, SyncCursor(seen_until, seen_until))
        self._m.sync_cursors[instance] = replace(known, seen_until=max(known.seen_until, seen_until))


class MemoryChanges(InMemory, Changes):
    def upsert(self, change: Change) -> ChangeRecord:
        change = replace(change, key=replace(change.key, project=change.project))
        if change.key not in self._m.changes:
            self._m.change_ids.append(change.key)
            self._m.changes[change.key] = change
        change_id = self._m.change_ids.index(change.key) + 1
        known = {
            each.number: n for n, each in enumerate(self._m.patch_sets, 1) if each.change_id == change_id
        }
        stored = self._m.changes[change.key]
        if (change.updated, change.current.number) < (stored.updated, max(known, default=0)):
            return ChangeRecord(change_id, known[max(known)], is_current=False)
        self._m.changes[change.key] = change
        if change.is_private or (change.project, change.branch) != (stored.project, stored.branch):
            self._m.public.discard(change.key)
        current = change.current
        if current.number not in known:
            self._m.patch_sets.append(
                StoredPatchSet(change_id, current.number, current.revision, current.ref, current.kind)
            )
            known[current.number] = len(self._m.patch_sets)
        is_public = change.key in self._m.public
        return ChangeRecord(change_id, known[current.number], is_current=True, is_public=is_public)

    def lock(self, key: ChangeKey) -> int | None:
        return self._m.change_ids.index(key) + 1 if key in self._m.changes else None

    def same_code(self, change: ChangeKey, revision: str) -> Sequence[int]:
        its = [each for each in self._m.patch_sets if self._m.change_ids[each.change_id - 1] == change]
        newest_first = sorted(its, key=lambda each: -each.number)
        return patch_sets_with_code_of(
            revision, [(each.number, each.kind, each.revision) for each in newest_first]
        )

    def with_patch_set(self, instance: str, branch: tuple[str, str], revision: str) -> ChangeKey | None:
        for patch_set in self._m.patch_sets:
            key = self._m.change_ids[patch_set.change_id - 1]
            change = self._m.changes[key]
            is_there = key.instance == instance and (change.project, change.branch) == branch
            if is_there and patch_set.revision == revision:
                return key
        return None

    def open_changes(self, instance: str) -> Sequence[ChangeKey]:
        found = [each for each in self._m.changes.values() if each.status is ChangeStatus.NEW]
        return sorted(
            (each.key for each in found if each.key.instance == instance), key=lambda key: key.number
        )


class MemoryVisibility(InMemory, Visibility):
    def hide_change(self, change_id: int) -> None:
        key = self._m.change_ids[change_id - 1]
        self._m.changes[key] = replace(self._m.changes[key], is_private=True)
        self._m.public.discard(key)

    def record_visible(self, instance: str, asked: Collection[int], visible: Collection[int]) -> None:
        for key in (ChangeKey(instance, number) for number in asked):
            self._m.public.discard(key)
            change = self._m.changes.get(key)
            if change is not None and key.number in visible and not change.is_private:
                self._m.public.add(key)
                self._m.public_branches.add((instance, change.project, change.branch))

    def hidden_changes(self, instance: str, after: int, limit: int) -> Sequence[int]:
        found = [
            key.number
            for key, change in self._m.changes.items()
            if key.instance == instance
            and key.number > after
            and (instance, change.project, change.branch) in self._m.public_branches
            and not change.is_private
            and key not in self._m.public
        ]
        return sorted(found)[:limit]

    def branches(self, instance: str) -> Sequence[tuple[str, str]]:
        changes = [change for key, change in self._m.changes.items() if key.instance == instance]
        return sorted({(change.project, change.branch) for change in changes})

    def record_branch(self, instance: str, project: str, branch: str, *, is_public: bool) -> None:
        if is_public:
            self._m.public_branches.add((instance, project, branch))
            return
        self._m.public_branches.discard((instance, project, branch))
        for key, change in self._m.changes.items():
            if (key.instance, change.project, change.branch) == (instance, project, branch):
                self._m.public.discard(key)


class MemoryReviewComments(InMemory, ReviewComments):
    def record(self, record: ChangeRecord, messages: Sequence[PostedMessage]) -> Sequence[int]:
        new = []
        patch_set = self._m.patch_sets[record.patch_set_id - 1]
        for message in messages:
            key = (record.change_id, message.author.account, message.written, message.text)
            if key not in self._m.recorded:
                self._m.recorded[key] = self._m.clock
                new.append(len(self._m.comment) + 1)
                self._m.comment.append(
                    ReviewComment(
                        id=new[-1],
                        change_id=record.change_id,
                        patch_set_id=record.patch_set_id,
                        change=self._m.change_ids[record.change_id - 1],
                        patch_set=patch_set.number,
                        revision=patch_set.revision,
                        account=message.author.account,
                        person=message.author.shown,
                        text=message.text,
                        is_pending=True,
                        source=CommentSource.COMMENT,
                    )
                )
        return new

    def add_request(self, request: PageRequest) -> int | None:
        if request.ticket in self._m.tickets:
            return None
        self._m.tickets.add(request.ticket)
        patch_set = self._m.patch_sets[request.patch_set_id - 1]
        number = len(self._m.comment) + 1
        self._m.recorded[number] = self._m.clock
        self._m.comment.append(
            ReviewComment(
                id=number,
                change_id=patch_set.change_id,
                patch_set_id=request.patch_set_id,
                change=self._m.change_ids[patch_set.change_id - 1],
                patch_set=patch_set.number,
                revision=patch_set.revision,
                account=request.account,
                person=request.person,
                text="",
                is_pending=True,
                source=CommentSource.PAGE,
                signed_in_as=request.signed_in_as,
                command=request.command,
            )
        )
        return number

    def lock(self, comment_id: int) -> ReviewComment:
        return row(self._m.comment, comment_id, "message")

    def pending_until(self, comment_id: int) -> Sequence[ReviewComment]:
        earlier = self._m.comment[:comment_id]
        changes = {each.change_id for each in earlier if each.id == comment_id}
        return [each for each in earlier if each.change_id in changes and each.is_pending]

    def answer(self, comment_id: int, text: str) -> None:
        self._m.comment[comment_id - 1] = replace(self._m.comment[comment_id - 1], is_pending=False)
        self._m.answers[comment_id] = text
