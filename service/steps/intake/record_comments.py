"""Keeps what people said on a change: commands, each to be obeyed once, and their own overrides."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from service.domain.decision.overrides import OverrideKind
from service.domain.gerrit.change import person_of
from service.domain.gerrit.comment_commands import may_be_command
from service.domain.gerrit.vote_override import person_overrides
from service.ports.queue import Task
from service.ports.records import NewOverride

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.gerrit.change import Change, PostedMessage
    from service.ports.records import ChangeRecord, SyncCursor
    from service.ports.store import Transaction

# Beyond, nobody waits for an answer: after a long outage yesterday's words must not stop today's run.
TOO_OLD: Final = timedelta(hours=24)


def record_comments(
    tx: Transaction, change: Change, record: ChangeRecord, said: Sequence[PostedMessage], account: str
) -> None:
    """Store what may be a command on the current patch set of a locked change; note a person's override."""
    cursor = tx.sync_cursor(change.key.instance)
    if cursor is None:
        return  # nobody knows yet what was said before we came; the first look at everything tells
    commands = [m for m in said if _is_for_us(m, change, account, cursor)]
    tx.queue_task(Task.RUN_COMMENT_COMMANDS, *tx.record_comments(record, commands))
    _note_person_overrides(tx, change, record, said, account)


def _is_for_us(message: PostedMessage, change: Change, account: str, cursor: SyncCursor) -> bool:
    return (
        message.patch_set == change.current.number
        and not message.is_by_machine
        and message.author.account != account
        and message.written >= cursor.first_contact
        and message.written >= change.updated - TOO_OLD
        and may_be_command(message.text)
    )


def _note_person_overrides(
    tx: Transaction, change: Change, record: ChangeRecord, said: Sequence[PostedMessage], account: str
) -> None:
    bot = person_of(account, said)
    run = tx.newest_check(record.patch_set_id)
    if bot is None or run is None:
        return
    known = {
        each.account for each in tx.overrides(record.patch_set_id) if each.kind is OverrideKind.PERSON_VOTE
    }
    for found in person_overrides(said, change.current.number, run.label, bot):
        if found.account not in known:
            override = NewOverride(
                OverrideKind.PERSON_VOTE, found.account, found.who, bug=found.bug, reason=found.reason
            )
            tx.add_override(record.patch_set_id, override)
