"""Recover votes that the review server lost, for example because it was restored from a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.review.change import Review
from service.domain.review.vote_override import lost_votes
from service.domain.runs.states import RunState
from service.domain.wording.delivery import CAST_AGAIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.review.change import Change, PostedMessage
    from service.ports.review.server import ReviewServer
    from service.ports.store import Store, Transaction


def recover_vote(
    store: Store, server: ReviewServer, patch_set_id: int, change: Change, messages: Sequence[PostedMessage]
) -> None:
    """Queue a patch set's last review again if its vote is missing and no person removed it.

    A message that is still there is not posted twice. A restored server shows an older state of the change
    than the stored one, so the state need not be current.
    """
    if not change.is_votable:
        return
    with store.transaction() as tx:
        _, lost = _lost(tx, patch_set_id, change, messages, server.account)
    if not lost:
        return
    # Benchgate may have posted the vote after the change was read.
    fresh = server.change(change.key)
    with store.transaction() as tx:
        review, lost = _lost(tx, patch_set_id, fresh, messages, server.account)
        if review is None or not lost:
            return
        if any(each.author.account == server.account and each.is_marked(review.marker) for each in messages):
            # The same each time, so that a vote which cannot stay is cast again only once.
            marker = f"{review.marker}-again"
            text = f"{CAST_AGAIN}\n\n{marker}"
            tx.outbox.queue_review(marker, Review(review.change, review.revision, text, lost))
        else:
            tx.outbox.revive_review(patch_set_id, is_lost=True)


def _lost(
    tx: Transaction, patch_set_id: int, change: Change, messages: Sequence[PostedMessage], account: str
) -> tuple[Review | None, Mapping[str, int]]:
    # This locks the run. An override that is being decided is committed before the last review is read.
    run = tx.history.newest_check(patch_set_id)
    review = tx.outbox.sent_review(patch_set_id)
    if review is None or review.revision != change.current.revision or not change.is_votable:
        return None, {}
    # A later run votes anew. So does the run that follows a move, because the server drops all votes then.
    if run is None or run.state is not RunState.FINISHED or run.branch != change.branch:
        return None, {}
    same_code = {change.current.number, *tx.changes.same_code(change.key, review.revision)}
    return review, lost_votes(review.labels, change, messages, same_code, account)
