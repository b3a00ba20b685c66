"""Look at a change: fetch its current state, and give its current revision a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.review.change import Change, ChangeStatus
from service.domain.runs.states import UNFINISHED, RunState
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.wording.refusals import CHANGE_GONE, moved
from service.steps.review.record_comments import record_comments
from service.steps.review.record_visibility import record_change
from service.steps.review.recover_vote import recover_vote
from service.steps.runs.log_context import bind_change
from service.steps.runs.new_run import check_of, run_of, start_run

if TYPE_CHECKING:
    from service.domain.values.identity import ChangeKey
    from service.ports.review.changes import ChangeRecord, Events
    from service.ports.review.server import ReviewServer
    from service.ports.store import Store, Transaction


def handle_event(store: Store, server: ReviewServer, event_id: int) -> bool:
    """Look at the change that a stored event names; return whether it names one."""
    with store.transaction() as tx:
        key = tx.events.change_of(event_id)
    if key is not None:
        look_at_change(store, server, key)
    with store.transaction() as tx:
        tx.events.mark_handled(event_id)
    return key is not None


def look_at_change(store: Store, server: ReviewServer, key: ChangeKey) -> None:
    """Start and cancel runs to match the current state of the change; a second call changes nothing.

    If the server does not show the change (deleted, or hidden from Benchgate's account), its runs end, and
    no reader sees it any more.
    """
    try:
        bind_change(key)
        change = server.change(key)
        bind_change(change.key, change.current.number)
        # Read after the change, so that no message on the fetched patch set is missing.
        messages = server.messages(change.key) if change.is_open else ()
        account = server.account
    except NotFound:
        _end_runs(store, key)
        return
    with store.transaction() as tx:
        record = tx.changes.upsert(change)
        if record.is_current:
            _update_runs(tx, change, record)
            record_comments(tx, change, record, messages, account)
    if record.is_current and not (record.is_public or change.is_private):
        record_change(store, server, key.number)
    recover_vote(store, server, record.patch_set_id, change, messages)


def _end_runs(store: Store, key: ChangeKey) -> None:
    with store.transaction() as tx:
        change_id = tx.changes.lock(key)
        if change_id is not None:
            tx.runs.cancel(change_id, keep_patch_set=None, reason=CHANGE_GONE)
            tx.visibility.hide_change(change_id)


def _update_runs(tx: Transaction, change: Change, record: ChangeRecord) -> None:
    if change.status is ChangeStatus.NEW:
        tx.runs.cancel(record.change_id, keep_patch_set=record.patch_set_id)
        if not change.is_votable:
            return
        tx.outbox.revive_review(record.patch_set_id)
        checks = [run for run in tx.history.runs_of(record.patch_set_id) if run.kind is RunKind.CHECK]
        for run in checks:
            if run.branch != change.branch and run.state in UNFINISHED:
                tx.runs.end(run.id, RunState.CANCELLED, moved(change.branch))
        # A check that ended because the change was abandoned starts again when the change is restored; one
        # that a person cancelled does not. A check on another branch says nothing about this one.
        if not any(
            run.branch == change.branch and (run.state is not RunState.CANCELLED or run.is_called_off)
            for run in checks
        ):
            start_run(tx.runs, tx.outbox, check_of(change, record.patch_set_id))
        return
    tx.runs.cancel(record.change_id, keep_patch_set=None)
    if change.status is ChangeStatus.MERGED and change.merged_as and _is_news(tx.events, change):
        # Of another kind: it measures the branch, and casts no vote.
        start_run(
            tx.runs, tx.outbox, run_of(change, RunKind.POST_SUBMIT, record.patch_set_id, change.merged_as)
        )


def _is_news(stored: Events, change: Change) -> bool:
    """Return whether the change was merged after first contact; older merges start no run."""
    cursor = stored.cursor(change.key.instance)
    return change.submitted is None or (cursor is not None and change.submitted >= cursor.first_contact)
