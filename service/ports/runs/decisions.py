"""Decisions: overrides by people, votes, and the reviews that leave through the outbox."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol

from service.domain.access.audit import AuditKind
from service.domain.review.change import CommentSource, InlineComment, Review
from service.domain.runs.overrides import Override, OverrideKind
from service.domain.runs.slowdown import Slowdown
from service.domain.values.identity import ChangeKey
from service.domain.wording.overrides import accepted_levels
from service.ports.runs.queue import Task
from service.ports.runs.runs import RunRecord


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A decision to be stored."""

    run_id: int
    patch_set_id: int | None
    number: int
    vote: int | None
    header: str
    message: str


def review_key(run_id: int, decision: int) -> str:
    """Return the idempotency key of a decision's review in the queue."""
    return f"run/{run_id}/decision/{decision}"


def why_key(run_id: int, build_id: int) -> str:
    """Return the idempotency key of the review that explains a build after a run's decision."""
    return f"run/{run_id}/why/{build_id}"


class ReviewState(StrEnum):
    """The progress of a review from the outbox to its server."""

    PENDING = "pending"
    SENT = "sent"
    SUPERSEDED = "superseded"  # its change moved on before it was posted
    REFUSED = "refused"  # by the server, for good
    DEAD = "dead"  # the server does not show its change, or does not take an optional message


@dataclass(frozen=True, slots=True)
class DueReview:
    """A review to be posted now."""

    outbox_id: int
    attempts: int
    missing_seconds: float  # since the server first did not show its change; 0: it did at the last attempt
    review: Review
    failed_posts: int = 0  # attempts that the server received and did not confirm
    key: str = ""  # under which it was queued


@dataclass(frozen=True, slots=True)
class NewOverride:
    """An entry for the log of overrides.

    ``comment_id`` is the message that asked for it, and ``signed_in_as`` is as of this message.
    ``carried_from`` is the patch set with the same code that the person decided on; 0: this one.
    ``levels`` are the slow-downs that an accept covers; None: of any size.
    """

    kind: OverrideKind
    account: str
    person: str
    builds: Sequence[int] = ()
    pattern: str = ""
    bug: str = ""
    reason: str = ""
    comment_id: int | None = None
    signed_in_as: str = ""
    carried_from: int = 0
    levels: tuple[Slowdown, ...] | None = None


class Overrides(Protocol):
    """Append-only log of people's decisions about patch sets."""

    def add(self, patch_set_id: int, entry: NewOverride) -> int:
        """Append an entry, and record it in the audit log; return its id. Raises NotFound."""

    def of(self, patch_set_id: int) -> Sequence[Override]:
        """Return all entries of a patch set, oldest first, also those that were revoked."""

    def of_change(self, change: ChangeKey, patch_sets: Sequence[int]) -> Mapping[int, Sequence[Override]]:
        """Return all entries of patch sets by their numbers, oldest first; one without any is left out."""


class Decisions(Protocol):
    """Votes with their messages."""

    def next_number(self, run: RunRecord) -> int:
        """Return the number of the run's next decision, counted per patch set, else per run.

        The patch set is locked until the transaction ends, so that no other run gets the same number.
        """

    def add(self, decision: NewDecision) -> int:
        """Store a decision; return its number."""

    def last_message(self, run_id: int) -> str:
        """Return the message of a run's newest decision; empty if it has none."""


class Outbox(Protocol):
    """Transactional outbox: hints and reviews that leave after the commit."""

    def queue_task(self, task: Task, *entities: int) -> None:
        """Queue a hint for each entity; raises NotFound for a missing build to execute."""

    def queue_review(self, dedup_key: str, review: Review) -> None:
        """Queue a review for the review server, once for each key."""

    def drop_review(self, dedup_key: str) -> None:
        """Supersede the review of this key if it was not posted yet."""

    def sent_review(self, patch_set_id: int) -> Review | None:
        """Return the review of a patch set's last decision if the server took its message and its votes."""

    def revive_review(self, patch_set_id: int, *, is_lost: bool = False) -> None:
        """Queue the review of a patch set's last decision again if it was superseded or is dead.

        ``is_lost``: also if it was sent.
        """

    def remarks_on(self, change: ChangeKey, revision: str) -> Collection[tuple[str, str]]:
        """Return path and text of each line comment sent to a change, or queued for this revision."""


class DueReviews(Protocol):
    """Reviews that wait in the outbox."""

    def due_reviews(self, instance: str | None = None) -> Sequence[DueReview]:
        """Return the reviews that are due, in the order of their decisions; only the first of each change.

        A silent review waits for those before it, but none waits for a silent one.
        ``instance`` is the review server; None: all.
        """

    def settle_review(
        self,
        outbox_id: int,
        state: ReviewState,
        note: str = "",
        comments: Sequence[InlineComment] | None = None,
    ) -> None:
        """End a review; a review that has ended stays as it is.

        ``comments`` are those that the server took; None leaves those that were to be posted.
        """

    def postpone_review(
        self, outbox_id: int, seconds: float, error: str, *, is_missing: bool = False
    ) -> None:
        """Try a review again later; ``is_missing``: the server did not show its change."""

    def hasten_reviews(self, seconds: float, instance: str) -> None:
        """Retry reviews on a server within ``seconds``, because it answers again.

        Unconfirmed reviews, and those of changes that the server did not show, keep their time.
        """

    def note_failed_post(self, outbox_id: int) -> None:
        """Count that a server was given a review and did not confirm it."""


KINDS: Final[Mapping[OverrideKind, AuditKind]] = MappingProxyType(
    {
        OverrideKind.OVERRIDE: AuditKind.OVERRIDE,
        OverrideKind.ACCEPT: AuditKind.ACCEPT,
        OverrideKind.UNDO: AuditKind.UNDO,
        OverrideKind.TRUST: AuditKind.TRUST,
        OverrideKind.PERSON_VOTE: AuditKind.PERSON_VOTE,
    }
)


def subject_of(change: ChangeKey, patch_set: int) -> str:
    """Name a patch set: ``review~4711/3``."""
    return f"{change.instance}~{change.number}/{patch_set}"


def details_of(entry: NewOverride, revision: str) -> Mapping[str, str]:
    """Return an override's details for the log, without empty values."""
    details = {
        "person": entry.person,
        "revision": revision,
        "builds": ", ".join(map(str, entry.builds)),
        "filter": entry.pattern,
        "levels": "; ".join(accepted_levels(entry.levels)),
        "bug": entry.bug,
        "reason": entry.reason,
        "way": _way_of(entry),
        "signed in as": entry.signed_in_as,
    }
    return {name: value for name, value in details.items() if value}


def _way_of(entry: NewOverride) -> str:
    if entry.carried_from:
        return f"carried over from patch set {entry.carried_from}"
    if entry.comment_id is None:
        return ""  # a vote by hand; its kind says so
    return CommentSource.PAGE if entry.signed_in_as else CommentSource.COMMENT
