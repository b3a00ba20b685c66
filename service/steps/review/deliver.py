"""Deliver queued reviews: post each once, on its own revision, also after failed attempts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import structlog

from service.domain.review.change import Change, Posted, PostedMessage, Review
from service.domain.review.vote_override import held_votes, lost_votes, not_removed
from service.domain.runs.health import VOTE_ON
from service.domain.values.errors import Forbidden, NotFound, Permanent, Transient
from service.domain.wording.delivery import (
    NOT_REVIEWED,
    OUTDATED,
    TAKEN_BACK,
    WITHOUT_COMMENTS,
    missing_right,
    not_allowed,
    not_granted,
    rejected_votes,
    taken_back,
    withheld,
)
from service.ports.runs.decisions import ReviewState
from service.steps.runs.log_context import bind_change, bind_review

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from service.ports.review.server import ReviewServer
    from service.ports.runs.decisions import DueReview
    from service.ports.runs.upkeep import Delivery
    from service.ports.store import Store

_NOT_YET: Final = 60.0  # seconds until a server must show a patch set that was just pushed
_ENOUGH: Final = 2  # failures in a row: then the server fails, not a single change
_LONGEST: Final = 300.0  # seconds between two attempts
_SILENT: Final = 8  # attempts to post what nobody waits for, in about four minutes
_WITH_COMMENTS: Final = 5  # attempts to post the inline comments as well

_LOG: Final = structlog.get_logger(__name__)


def deliver_reviews(store: Store, upkeep: Delivery, server: ReviewServer) -> int:
    """Post every due review on a server in the order of the decisions; return how many were posted.

    After two failures in a row, the remaining reviews wait for the next call.
    """
    posted, failures = 0, 0
    for due in upkeep.due_reviews(server.instance):
        with store.exclusive(f"review {due.review.change.instance}/{due.review.change.number}") as is_ours:
            if not is_ours:
                continue
            bind_review(due.review, due.key)
            try:
                if _deliver(store, upkeep, server, due):
                    _LOG.info("review.posted", labels=dict(due.review.labels))
                    posted += 1
                failures = 0
            except Transient as error:
                if due.review.is_silent and due.attempts + 1 >= _SILENT:
                    upkeep.settle_review(due.outbox_id, ReviewState.DEAD, str(error))
                else:
                    wait = min(2.0**due.attempts, _LONGEST)
                    wait = wait if error.retry_after is None else error.retry_after
                    upkeep.postpone_review(due.outbox_id, wait, str(error))
                failures += 1
        if failures == _ENOUGH:
            break
    return posted


def _deliver(store: Store, upkeep: Delivery, server: ReviewServer, due: DueReview) -> bool:
    """Post one review. The caller holds the change's lock; no transaction is open during server calls."""
    review = due.review
    try:
        change = server.change(review.change)
        review = replace(review, change=change.key)  # its project may have another name now
        # Servers accept votes on outdated patch sets.
        if change.current.revision != review.revision or (review.labels and not change.is_votable):
            # The last attempt may have cast the vote although its response was lost.
            note = TAKEN_BACK if _take_back(server, change, review) else OUTDATED
            if change.is_open and change.current.revision == review.revision:
                note = NOT_REVIEWED  # a look at the change revives the review when that is over
            upkeep.settle_review(due.outbox_id, ReviewState.SUPERSEDED, note)
            return False
        bind_change(change.key, change.current.number)
        messages = server.messages(review.change)
        if any(_is_ours(message, review.marker, server) for message in messages):
            _settle_posted(store, upkeep, server, due)
            return False
        same_code = _same_code(store, change, review)
        labels = not_removed(review.labels, messages, same_code, server.account)
        # A proxy may reject the text of a comment; the vote is worth more.
        comments = review.comments if due.failed_posts < _WITH_COMMENTS else ()
        try:
            posted = _post(upkeep, server, change, replace(review, labels=labels, comments=comments))
        except Transient:
            upkeep.note_failed_post(due.outbox_id)
            raise
        # Somebody may have pushed after the change was read; if this fails, the next attempt does it.
        if posted.labels and _take_back(server, server.change(review.change), review):
            upkeep.settle_review(due.outbox_id, ReviewState.SENT, TAKEN_BACK, posted.comments)
            return True
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


def _post(upkeep: Delivery, server: ReviewServer, change: Change, review: Review) -> Posted:
    """Post a review; if Benchgate's account may not vote, without the vote, and with the missing right."""
    part = _part(change)
    try:
        posted = server.post(review)
    except Forbidden:
        if not review.labels:
            raise
    else:
        if posted.labels:
            upkeep.clear_trouble(part)
        return posted
    right = missing_right(review.labels, change.project, change.branch)
    posted = server.post(replace(review, labels={}, message=review.with_note(not_allowed(right))))
    upkeep.beat(part, right, right)
    return replace(posted, is_vote_forbidden=True)


def _settle_posted(store: Store, upkeep: Delivery, server: ReviewServer, due: DueReview) -> None:
    """Settle a review after its last attempt succeeded but the response was lost.

    (After an earlier success, the last attempt would have found the message.) The message does not show
    whether its vote was cast: that attempt may have left it out, or the server may have rejected it.
    """
    review = due.review
    # Read again, because the vote may have arrived after the change was read. The messages are read last, so
    # that no removal of the vote is missing.
    change = server.change(review.change)
    review = replace(review, change=change.key)
    messages = server.messages(review.change)
    if _take_back(server, change, review):
        upkeep.settle_review(due.outbox_id, ReviewState.SENT, TAKEN_BACK)
        return
    same_code = _same_code(store, change, review)
    lost = lost_votes(review.labels, change, messages, same_code, server.account)
    held = held_votes(review.labels, change, server.account)
    right = missing_right(lost, change.project, change.branch)
    is_forbidden = any(
        _is_ours(message, review.marker, server) and message.has_line(not_allowed(right))
        for message in messages
    )
    if is_forbidden:
        upkeep.beat(_part(change), right, right)
    attempt = replace(due, failed_posts=due.failed_posts - 1)  # its own failure is counted, too
    comments = review.comments if attempt.failed_posts < _WITH_COMMENTS else ()
    _settle(store, upkeep, attempt, {**held, **lost}, Posted(held, comments, is_vote_forbidden=is_forbidden))


def _take_back(server: ReviewServer, change: Change, review: Review) -> bool:
    """Withdraw the vote of a posted review if its patch set is outdated; return whether it was cast."""
    if not review.labels or not change.is_open or change.current.revision == review.revision:
        return False
    messages = server.messages(review.change)
    if not any(_is_ours(message, review.marker, server) for message in messages):
        return False
    marker = f"{review.marker}-taken-back"
    if not any(_is_ours(message, marker, server) for message in messages):
        text = f"{taken_back(change.current.number)}\n\n{marker}"
        server.post(Review(review.change, review.revision, text, dict.fromkeys(review.labels, 0)))
    return True


def _settle(store: Store, upkeep: Delivery, due: DueReview, cast: Mapping[str, int], posted: Posted) -> None:
    removed = sorted(due.review.labels.keys() - cast.keys())
    refused = sorted(name for name, value in cast.items() if posted.labels.get(name) != value)
    notes = [*map(withheld, removed), *map(not_granted, refused)]
    if due.review.comments and due.failed_posts >= _WITH_COMMENTS:
        notes.append(WITHOUT_COMMENTS)
    if refused and not posted.is_vote_forbidden:
        # Only the server's response shows it, so a second message must report it.
        _report_refused_votes(store, due, refused)
    upkeep.settle_review(due.outbox_id, ReviewState.SENT, "; ".join(notes), posted.comments)


def _report_refused_votes(store: Store, due: DueReview, refused: Sequence[str]) -> None:
    review = due.review
    marker = f"{review.marker}-not-granted"
    text = f"{rejected_votes({name: review.labels[name] for name in refused})}\n\n{marker}"
    with store.transaction() as tx:
        tx.outbox.queue_review(marker, Review(review.change, review.revision, text))


def _same_code(store: Store, change: Change, review: Review) -> Collection[int]:
    """Return the numbers of the current patch set and of those before it with the same code."""
    with store.transaction() as tx:
        return {change.current.number, *tx.changes.same_code(change.key, review.revision)}


def _part(change: Change) -> str:
    """Name the part of the service that votes on a branch."""
    return f"{VOTE_ON}{change.key.instance} {change.project} {change.branch}"


def _is_ours(message: PostedMessage, marker: str, server: ReviewServer) -> bool:
    """Return whether Benchgate posted the message."""
    return message.author.account == server.account and message.is_marked(marker)
