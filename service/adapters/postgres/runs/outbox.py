"""Hints and reviews that wait in the outbox."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, text
from typing_extensions import override

from service.adapters.postgres.connection import ShortTransactions
from service.adapters.postgres.rows import review_of
from service.adapters.postgres.storable import CleanJson, CleanText
from service.ports.runs.decisions import DueReview, DueReviews
from service.ports.runs.queue import Hint, Hints, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

    from service.domain.review.change import InlineComment
    from service.ports.runs.decisions import ReviewState

_BATCH: Final = 500  # more than a busy minute brings; the next call returns the rest

_DUE: Final = text("""
SELECT id, payload ->> 'task' AS task, (payload ->> 'entity')::bigint AS entity,
       coalesce(payload ->> 'pool', 'control') AS pool
FROM outbox WHERE kind = 'task' AND state = 'pending' AND next_at <= now()
ORDER BY id LIMIT :batch
""")
_DROP: Final = text("DELETE FROM outbox WHERE kind = 'task' AND id = ANY(cast(:ids AS bigint[]))")
# A later decision on a change never overtakes an earlier one: that vote would then be the last. A silent
# review has no vote, and holds up none.
_REVIEWS = text("""
SELECT id, dedup_key, attempts, payload,
       coalesce(extract(epoch FROM now() - missing_since), 0)::float8 AS missing_seconds
FROM outbox AS due
WHERE kind = 'review' AND state = 'pending' AND next_at <= now()
  AND (cast(:instance AS text) IS NULL OR payload ->> 'instance' = :instance)
  AND NOT EXISTS (
    SELECT FROM outbox AS earlier
    WHERE earlier.kind = 'review' AND earlier.state = 'pending' AND earlier.id < due.id
      AND earlier.payload -> 'instance' = due.payload -> 'instance'
      AND earlier.payload -> 'number' = due.payload -> 'number'
      AND NOT earlier.payload ? 'is_silent'
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
_HASTEN: Final = text("""
UPDATE outbox SET next_at = now() + make_interval(secs => :seconds)
WHERE kind = 'review' AND state = 'pending' AND payload ->> 'instance' = :instance
  AND next_at > now() + make_interval(secs => :seconds)
  AND missing_since IS NULL AND NOT payload ? 'failed_posts'
""")
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


class PostgresOutbox(ShortTransactions, Hints, DueReviews):
    """Rows of the table ``outbox``."""

    @override
    def due_hints(self) -> Sequence[Hint]:
        found = self._all(_DUE, batch=_BATCH)
        return [Hint(row.id, Task(row.task), row.entity, row.pool) for row in found]

    @override
    def drop_hints(self, hint_ids: Sequence[int]) -> None:
        self._do(_DROP, ids=list(hint_ids))

    @override
    def due_reviews(self, instance: str | None = None) -> Sequence[DueReview]:
        return [_due(row) for row in self._all(_REVIEWS, batch=_BATCH, instance=instance)]

    @override
    def settle_review(
        self,
        outbox_id: int,
        state: ReviewState,
        note: str = "",
        comments: Sequence[InlineComment] | None = None,
    ) -> None:
        taken = None if comments is None else [asdict(comment) for comment in comments]
        self._do(_SETTLE, id=outbox_id, state=state, note=note, comments=taken)

    @override
    def postpone_review(
        self, outbox_id: int, seconds: float, error: str, *, is_missing: bool = False
    ) -> None:
        self._do(_POSTPONE, id=outbox_id, seconds=seconds, error=error, is_missing=is_missing)

    @override
    def hasten_reviews(self, seconds: float, instance: str) -> None:
        self._do(_HASTEN, seconds=seconds, instance=instance)

    @override
    def note_failed_post(self, outbox_id: int) -> None:
        self._do(_NOTE_FAILED_POST, id=outbox_id)


def _due(row: Row[Any]) -> DueReview:
    payload = row.payload
    return DueReview(
        outbox_id=row.id,
        attempts=row.attempts,
        missing_seconds=row.missing_seconds,
        failed_posts=payload.get("failed_posts", 0),
        review=review_of(payload),
        key=row.dedup_key,
    )
