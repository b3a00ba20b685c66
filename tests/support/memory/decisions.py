"""Overrides, decisions and the outbox in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.runs.overrides import Override
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
from service.ports.runs.queue import Hint
from tests.support.memory.audit import MemoryAudit
from tests.support.memory.state import InMemory, StoredReview, row

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from service.domain.review.change import Review
    from service.domain.values.identity import ChangeKey
    from service.ports.runs.decisions import NewDecision, NewOverride
    from service.ports.runs.queue import Task
    from service.ports.runs.runs import RunRecord

_UNPOSTED: Final = {ReviewState.SUPERSEDED, ReviewState.DEAD}


class MemoryOverrides(MemoryAudit, Overrides):
    def add(self, patch_set_id: int, entry: NewOverride) -> int:
        patch_set = row(self._m.patch_sets, patch_set_id, "patch set")
        change = self._m.change_ids[patch_set.change_id - 1]
        subject = subject_of(change, patch_set.number)
        self.record_act(KINDS[entry.kind], entry.account, subject, details_of(entry, patch_set.revision))
        number = len(self._m.overrides) + 1
        made = Override(
            id=number,
            kind=entry.kind,
            revision=patch_set.revision,
            filter=entry.pattern,
            bug=entry.bug,
            reason=entry.reason,
            who=entry.person,
            account=entry.account,
            at=self._m.now,
            builds=frozenset(entry.builds),
            carried_from=entry.carried_from,
            levels=entry.levels,
        )
        self._m.overrides.append((patch_set_id, made))
        return number

    def of(self, patch_set_id: int) -> Sequence[Override]:
        return [override for number, override in self._m.overrides if number == patch_set_id]

    def of_change(self, change: ChangeKey, patch_sets: Sequence[int]) -> Mapping[int, Sequence[Override]]:
        made: dict[int, list[Override]] = {}
        for number, override in self._m.overrides:
            patch_set = self._m.patch_sets[number - 1]
            of_change = self._m.change_ids[patch_set.change_id - 1] == change
            if of_change and patch_set.number in patch_sets:
                made.setdefault(patch_set.number, []).append(override)
        return made


class MemoryDecisions(InMemory, Decisions):
    def next_number(self, run: RunRecord) -> int:
        return 1 + max(
            (
                each.number
                for each in self._m.decisions
                if each.run_id == run.id
                or (run.patch_set_id is not None and each.patch_set_id == run.patch_set_id)
            ),
            default=0,
        )

    def add(self, decision: NewDecision) -> int:
        known = [(each.run_id, each.number) for each in self._m.decisions]
        assert (decision.run_id, decision.number) not in known, "a number is used once"
        self._m.decisions.append(decision)
        return decision.number

    def last_message(self, run_id: int) -> str:
        decided = [each for each in self._m.decisions if each.run_id == run_id]
        return max(decided, key=lambda each: each.number).message if decided else ""


class MemoryOutbox(InMemory, Outbox):
    def queue_task(self, task: Task, *entities: int) -> None:
        for entity in entities:
            pool = "control"
            if task.is_for_machines:
                pool = self._m.waiting[row(self._m.builds, entity, "build").id].pool
            self._m.sent += 1
            self._m.outbox[self._m.sent] = Hint(self._m.sent, task, entity, pool)

    def queue_review(self, dedup_key: str, review: Review) -> None:
        self._m.reviews.setdefault(dedup_key, StoredReview(review, next_at=self._m.clock))

    def drop_review(self, dedup_key: str) -> None:
        stored = self._m.reviews.get(dedup_key)
        if stored is not None and stored.state is ReviewState.PENDING:
            self._m.reviews[dedup_key] = replace(stored, state=ReviewState.SUPERSEDED)

    def sent_review(self, patch_set_id: int) -> Review | None:
        stored = self._m.reviews.get(self._last_review(patch_set_id))
        if stored is None or stored.state is not ReviewState.SENT:
            return None
        return stored.review if stored.note in {"", WITHOUT_COMMENTS} else None

    def revive_review(self, patch_set_id: int, *, is_lost: bool = False) -> None:
        key = self._last_review(patch_set_id)
        stored = self._m.reviews.get(key)
        revived = _UNPOSTED | ({ReviewState.SENT} if is_lost else set())
        if stored is not None and stored.state in revived:
            self._m.reviews[key] = replace(
                stored, state=ReviewState.PENDING, next_at=self._m.clock, missing_since=None
            )

    def _last_review(self, patch_set_id: int) -> str:
        decided = [each for each in self._m.decisions if each.patch_set_id == patch_set_id]
        last = max(decided, key=lambda each: each.number, default=None)
        return "" if last is None else review_key(last.run_id, last.number)

    def remarks_on(self, change: ChangeKey, revision: str) -> Collection[tuple[str, str]]:
        return {
            (comment.path, comment.text)
            for each in self._m.reviews.values()
            if each.review.change == change
            and (
                each.state is ReviewState.SENT
                or (each.state is ReviewState.PENDING and each.review.revision == revision)
            )
            for comment in each.review.comments
        }
