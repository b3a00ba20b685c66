"""Record people's comments on a change: commands, and overrides by hand."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from service.domain.review.change import person_of
from service.domain.review.comment_commands import MAX_COMMANDS, may_be_command
from service.domain.review.vote_override import person_overrides
from service.domain.runs.overrides import OverrideKind
from service.ports.runs.decisions import NewOverride
from service.ports.runs.queue import Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.review.change import Change, PostedMessage
    from service.ports.review.changes import ChangeRecord, SyncCursor
    from service.ports.store import Transaction

# After a long outage, a command from yesterday must not stop a run of today.
TOO_OLD: Final = timedelta(hours=24)
# On a line of C++, these words alone are about the code.
_ABOUT_CODE: Final = frozenset({"accept", "benchmark", "cancel", "override"})


def record_comments(
    tx: Transaction, change: Change, record: ChangeRecord, messages: Sequence[PostedMessage], account: str
) -> None:
    """Store possible commands on the current patch set of a locked change, and overrides by hand."""
    cursor = tx.events.cursor(change.key.instance)
    if cursor is None:
        return  # the first reconciliation sets the time of first contact; older comments are ignored
    commands = _limited([m for m in messages if _may_be_command(m, change, account, cursor)])
    tx.outbox.queue_task(Task.RUN_COMMENT_COMMANDS, *tx.comments.record(record, commands))
    _record_person_overrides(tx, change, record, messages, account)


def _may_be_command(message: PostedMessage, change: Change, account: str, cursor: SyncCursor) -> bool:
    return (
        message.patch_set == change.current.number
        and not message.is_by_machine
        and message.author.account != account
        and message.written >= cursor.first_contact
        and message.written >= change.updated - TOO_OLD
        and not (message.is_inline and cursor.inline_after and message.written <= cursor.inline_after)
        and not (message.is_inline and message.text.strip().rstrip(".!?").lower() in _ABOUT_CODE)
        and may_be_command(message.text)
    )


def _limited(messages: Sequence[PostedMessage]) -> Sequence[PostedMessage]:
    """Keep at most ``MAX_COMMANDS`` inline comments of a review, since each may get a reply."""
    kept, inline = [], Counter[tuple[str, datetime]]()
    for message in messages:
        inline[message.author.account, message.written] += message.is_inline
        if not message.is_inline or inline[message.author.account, message.written] <= MAX_COMMANDS:
            kept.append(message)
    return kept


def _record_person_overrides(
    tx: Transaction, change: Change, record: ChangeRecord, messages: Sequence[PostedMessage], account: str
) -> None:
    bot = person_of(account, messages)
    run = tx.history.newest_check(record.patch_set_id)
    if bot is None or run is None:
        return
    known = {o.account for o in tx.overrides.of(record.patch_set_id) if o.kind is OverrideKind.PERSON_VOTE}
    for by_hand in person_overrides(messages, change.current.number, run.label, bot):
        if by_hand.account not in known:
            override = NewOverride(
                OverrideKind.PERSON_VOTE, by_hand.account, by_hand.who, bug=by_hand.bug, reason=by_hand.reason
            )
            tx.overrides.add(record.patch_set_id, override)
