"""The outbox: what has to leave and what became of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, text

from service.adapters.postgres.session import Session
from service.adapters.postgres.storable import CleanJson, CleanText
from service.domain.gerrit.change import InlineComment
from service.domain.identity import ChangeKey
from service.ports.queue import Task
from service.ports.records import DueReview, Hint, QueuedReview

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

BATCH: Final = 500  # more than a busy minute brings; the rest comes with the next look

_HINTS = text("""
SELECT id, payload ->> 'task' AS task, (payload ->> 'entity')::bigint AS entity,
       coalesce(payload ->> 'pool', 'control') AS pool
FROM outbox WHERE kind = 'task' AND state = 'pending' AND next_at <= now()
ORDER BY id LIMIT :batch
""")
# A later decision on a change never overtakes an earlier one: the earlier would then have the last word.
_REVIEWS = text("""
SELECT id, attempts, payload,
       coalesce(extract(epoch FROM now() - missing_since), 0)::float8 AS missing_seconds
FROM outbox AS due
WHERE kind = 'review' AND state = 'pending' AND next_at <= now() AND NOT EXISTS (
    SELECT FROM outbox AS earlier
    WHERE earlier.kind = 'review' AND earlier.state = 'pending' AND earlier.id < due.id
      AND earlier.payload -> 'instance' = due.payload -> 'instance'
      AND earlier.payload -> 'number' = due.payload -> 'number'
)
ORDER BY id LIMIT :batch
""")
_SETTLE = text("""
UPDATE outbox SET state = :state, attempts = attempts + 1, last_error = nullif(:note, ''),
    sent_at = CASE WHEN :state = 'sent' THEN now() END,
    payload = CASE WHEN payload ? 'comments'
        THEN jsonb_set(payload, '{comments}', coalesce(:comments, payload -> 'comments')) ELSE payload END
WHERE id = :id AND state = 'pending'
""").bindparams(
    bindparam("note", type_=CleanText),
    bindparam("state", type_=CleanText),
    bindparam("comments", type_=CleanJson),
)
_NOTE_FAILED_POST = text("""
UPDATE outbox SET payload = jsonb_set(
    payload, '{failed_posts}', to_jsonb(coalesce((payload ->> 'failed_posts')::int, 0) + 1)
)
WHERE id = :id AND state = 'pending'
""")
_POSTPONE = text("""
UPDATE outbox SET attempts = attempts + 1, last_error = :error,
    next_at = now() + make_interval(secs => :seconds),
    missing_since = CASE WHEN :is_missing THEN coalesce(missing_since, now()) END
WHERE id = :id AND state = 'pending'
""").bindparams(bindparam("error", type_=CleanText))


class Relay(Session):
    """Hints to workers and reviews to post."""

    def due_hints(self) -> Sequence[Hint]:
        """Hints that wait in the outbox, the oldest first."""
        with self._begin() as connection:
            found = connection.execute(_HINTS, {"batch": BATCH}).all()
        return [Hint(row.id, Task(row.task), row.entity, row.pool) for row in found]

    def drop_hints(self, hint_ids: Sequence[int]) -> None:
        """These hints were sent."""
        with self._begin() as connection:
            connection.execute(
                text("DELETE FROM outbox WHERE kind = 'task' AND id = ANY(cast(:ids AS bigint[]))"),
                {"ids": list(hint_ids)},
            )

    def due_reviews(self) -> Sequence[DueReview]:
        """Reviews that are due now, in the order of their decisions; of each change the first only."""
        with self._begin() as connection:
            found = connection.execute(_REVIEWS, {"batch": BATCH}).all()
        return [_due(row) for row in found]

    def settle_review(
        self, outbox_id: int, state: str, note: str = "", said: Sequence[InlineComment] | None = None
    ) -> None:
        """A review ended: sent, superseded, refused or dead. One that has ended stays as it is.

        ``said`` takes the place of the comments that were to be posted.
        """
        comments = None if said is None else [asdict(each) for each in said]
        values = {"id": outbox_id, "state": state, "note": note, "comments": comments}
        with self._begin() as connection:
            connection.execute(_SETTLE, values)

    def postpone_review(
        self, outbox_id: int, seconds: float, error: str, *, is_missing: bool = False
    ) -> None:
        """A review could not be sent now; ``is_missing``: its change was not there."""
        values = {"id": outbox_id, "seconds": seconds, "error": error, "is_missing": is_missing}
        with self._begin() as connection:
            connection.execute(_POSTPONE, values)

    def note_failed_post(self, outbox_id: int) -> None:
        """A server was given a review and did not say that it took it."""
        with self._begin() as connection:
            connection.execute(_NOTE_FAILED_POST, {"id": outbox_id})


def _due(row: Row[Any]) -> DueReview:
    payload = row.payload
    return DueReview(
        outbox_id=row.id,
        attempts=row.attempts,
        missing_seconds=row.missing_seconds,
        failed_posts=payload.get("failed_posts", 0),
        review=QueuedReview(
            change=ChangeKey(payload["instance"], payload["number"]),
            revision=payload["revision"],
            message=payload["message"],
            marker=payload["marker"],
            labels=payload["labels"],
            comments=tuple(InlineComment(**each) for each in payload.get("comments", ())),
        ),
    )
