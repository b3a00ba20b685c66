"""Posts a due review: on the right revision, once, whatever happened to earlier tries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.errors import NotFound, Permanent, Transient
from service.domain.review import Change, PostedMessage, Review

if TYPE_CHECKING:
    from service.domain.records import DueReview
    from service.ports import Store, Upkeep
    from service.ports.reviewing import ReviewServer

_NOT_YET: Final = 60.0  # seconds that a server may need until it shows what was just pushed


def deliver_reviews(store: Store, upkeep: Upkeep, server: ReviewServer) -> int:
    """Post every review that is due, in the order of the decisions; how many were posted."""
    posted = 0
    for due in upkeep.due_reviews():
        with store.exclusive(f"review {due.review.change.instance}/{due.review.change.number}") as is_ours:
            if is_ours:
                posted += _deliver(upkeep, server, due)
    return posted


def _deliver(upkeep: Upkeep, server: ReviewServer, due: DueReview) -> bool:
    """No transaction is open while the server is talked to; the section is exclusive per change."""
    review = due.review
    try:
        change = server.change(review.change)
        if _is_superseded(change, review.revision, has_vote=bool(review.labels)):
            upkeep.settle_review(due.outbox_id, "superseded", "the change moved on")
            return False
        if any(_is_ours(message, review.marker, server) for message in server.messages(review.change)):
            # An earlier try was applied although its answer never arrived.
            upkeep.settle_review(due.outbox_id, "sent", "found on the change")
            return False
        asked = Review(review.change, review.revision, review.message, review.labels)
        granted = server.post(asked)
    except NotFound as error:
        if due.waiting_seconds < _NOT_YET:
            upkeep.postpone_review(due.outbox_id, 5.0, str(error))
        else:
            upkeep.settle_review(due.outbox_id, "dead", str(error))
        return False
    except Permanent as error:
        upkeep.settle_review(due.outbox_id, "refused", str(error))
        return False
    except Transient as error:
        upkeep.postpone_review(due.outbox_id, min(2.0**due.attempts, 300.0), str(error))
        return False
    refused = sorted(name for name, value in review.labels.items() if granted.get(name) != value)
    upkeep.settle_review(due.outbox_id, "sent", f"label not granted: {', '.join(refused)}" if refused else "")
    return True


def _is_ours(message: PostedMessage, marker: str, server: ReviewServer) -> bool:
    """By account, since anybody may paste our link; by a whole line, since run 5 is a part of run 51."""
    return message.author.account == server.account and marker in message.text.splitlines()


def _is_superseded(change: Change, revision: str, *, has_vote: bool) -> bool:
    """Servers accept votes on outdated patch sets, so the check is ours."""
    is_outdated = change.current.revision != revision
    return is_outdated or (has_vote and not change.is_open)
