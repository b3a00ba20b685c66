"""Posts a due review: on the right revision, once, whatever happened to earlier tries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.errors import NotFound, Permanent, Transient
from service.domain.gerrit.change import Change, PostedMessage, Review, person_of
from service.domain.gerrit.vote_override import is_vote_removed
from service.ports.records import QueuedReview, ReviewState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.gerrit.change import Posted
    from service.ports.records import DueReview
    from service.ports.reviewing import ReviewServer
    from service.ports.store import Store
    from service.ports.upkeep import DueReviews

_NOT_YET: Final = 60.0  # seconds that a server may need until it shows what was just pushed
_ENOUGH: Final = 2  # failures in a row: then it is not the change
_LONGEST: Final = 300.0  # seconds between two tries
_LEFT_OUT: Final = "left out after five failed tries: the comments on lines"
_WITH_COMMENTS: Final = 5  # times that a server is given them


def deliver_reviews(store: Store, upkeep: DueReviews, server: ReviewServer) -> int:
    """Post every review that is due, in the order of the decisions; how many were posted.

    A server that cannot be reached twice in a row is not asked again for each of the others.
    """
    posted, failures = 0, 0
    for due in upkeep.due_reviews():
        with store.exclusive(f"review {due.review.change.instance}/{due.review.change.number}") as is_ours:
            if not is_ours:
                continue
            try:
                posted += _deliver(store, upkeep, server, due)
                failures = 0
            except Transient as error:
                wait = min(2.0**due.attempts, _LONGEST) if error.retry_after is None else error.retry_after
                upkeep.postpone_review(due.outbox_id, wait, str(error))
                failures += 1
        if failures == _ENOUGH:
            break
    return posted


def _deliver(store: Store, upkeep: DueReviews, server: ReviewServer, due: DueReview) -> bool:
    """No transaction is open while the server is talked to; the section is exclusive per change."""
    review = due.review
    try:
        change = server.change(review.change)
        if _is_superseded(change, review.revision, has_vote=bool(review.labels)):
            upkeep.settle_review(due.outbox_id, ReviewState.SUPERSEDED, "the change moved on")
            return False
        said = server.messages(review.change)
        if any(_is_ours(message, review.marker, server) for message in said):
            # An earlier try was applied although its answer never arrived.
            # Had it been one before the last, this would have been seen before the last.
            is_without = due.failed_posts > _WITH_COMMENTS
            left_out = (_LEFT_OUT, ()) if is_without else ()
            upkeep.settle_review(due.outbox_id, ReviewState.SENT, *left_out)
            return False
        labels = _votes_to_cast(change, said, review.labels, server.account)
        # Something in between may refuse a comment's words; the vote is worth more.
        comments = review.comments if due.failed_posts < _WITH_COMMENTS else ()
        posted = _post(
            upkeep, server, due, Review(review.change, review.revision, review.message, labels, comments)
        )
    except NotFound as error:
        if due.missing_seconds < _NOT_YET:
            upkeep.postpone_review(due.outbox_id, 5.0, str(error), is_missing=True)
        else:
            upkeep.settle_review(due.outbox_id, ReviewState.DEAD, str(error))
        return False
    except Permanent as error:
        upkeep.settle_review(due.outbox_id, ReviewState.REFUSED, str(error))
        return False
    _settle(store, upkeep, due, labels, posted)
    return True


def _post(upkeep: DueReviews, server: ReviewServer, due: DueReview, review: Review) -> Posted:
    try:
        return server.post(review)
    except Transient:
        upkeep.note_failed_post(due.outbox_id)
        raise


def _votes_to_cast(
    change: Change, said: Sequence[PostedMessage], labels: Mapping[str, int], account: str
) -> Mapping[str, int]:
    """The votes but for those that a person removed from this patch set: these are never put back."""
    bot = person_of(account, said)
    if bot is None:
        return labels
    number = change.current.number
    return {name: vote for name, vote in labels.items() if not is_vote_removed(said, number, name, bot)}


def _settle(
    store: Store, upkeep: DueReviews, due: DueReview, asked: Mapping[str, int], posted: Posted
) -> None:
    kept_back = sorted(due.review.labels.keys() - asked.keys())
    refused = sorted(name for name, value in asked.items() if posted.labels.get(name) != value)
    notes = [f"not put back after a person removed it: {name}" for name in kept_back]
    notes += [f"label not granted: {name}" for name in refused]
    if due.review.comments and due.failed_posts >= _WITH_COMMENTS:
        notes.append(_LEFT_OUT)
    if refused:
        # Only the answer tells: so it is said after the message that should have brought the vote.
        _tell_of_refusal(store, due, refused)
    upkeep.settle_review(due.outbox_id, ReviewState.SENT, "; ".join(notes), posted.comments)


def _tell_of_refusal(store: Store, due: DueReview, refused: Sequence[str]) -> None:
    review = due.review
    marker = f"{review.marker}-not-granted"
    votes = ", ".join(f"{name}{review.labels[name]:+}" for name in refused)
    text = (
        f"The server did not take the vote {votes}: it has no such label or value here, or this account may "
        f"not use it.\n\n{marker}"
    )
    with store.transaction() as tx:
        tx.queue_review(marker, QueuedReview(review.change, review.revision, text, marker))


def _is_ours(message: PostedMessage, marker: str, server: ReviewServer) -> bool:
    """By account, since anybody may paste our link; by a whole line, since run 5 is a part of run 51."""
    return message.author.account == server.account and marker in message.text.splitlines()


def _is_superseded(change: Change, revision: str, *, has_vote: bool) -> bool:
    """Servers accept votes on outdated patch sets, so the check is ours."""
    is_outdated = change.current.revision != revision
    return is_outdated or (has_vote and not change.is_open)
