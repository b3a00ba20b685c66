"""Decisions in a unit of work: overrides by people, votes, and the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.domain.decision.overrides import Override
    from service.domain.identity import ChangeKey
    from service.ports.queue import Task
    from service.ports.records import NewDecision, NewOverride, QueuedReview, RunRecord


class Overrides(Protocol):
    """The log of what people decided about patch sets; entries are only ever added."""

    def add_override(self, patch_set_id: int, entry: NewOverride) -> int:
        """Append an entry; return its id."""

    def overrides(self, patch_set_id: int) -> Sequence[Override]:
        """Return all entries of a patch set, oldest first, also those that were revoked."""


class Decisions(Protocol):
    """Votes with their messages."""

    def next_decision(self, run: RunRecord) -> int:
        """Return the number of the run's next decision, counted per patch set, else per run.

        The patch set is locked until the transaction ends, so that no other run gets the same number.
        """

    def add_decision(self, decision: NewDecision) -> int:
        """Store a decision; return its number."""


class Outbox(Protocol):
    """Hints and reviews that leave once the transaction is committed."""

    def queue_task(self, task: Task, *entities: int) -> None:
        """Queue a hint for each entity. NotFound without such a build to execute."""

    def queue_review(self, dedup_key: str, review: QueuedReview) -> None:
        """Queue a review for the review server, once for each key."""

    def revive_review(self, patch_set_id: int) -> None:
        """Queue the review of a patch set's last decision again if it was superseded or is dead."""

    def remarks_on(self, change: ChangeKey, revision: str) -> Collection[tuple[str, str]]:
        """Return path and text of each line comment sent to a change, or queued for this revision."""
