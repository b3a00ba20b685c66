"""Keeps what people said on a change: commands, each to be obeyed once, and their own overrides."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from service.domain.commands import may_be_command
from service.domain.person_override import person_overrides
from service.domain.records import NewRuling
from service.domain.rulings import RulingKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.records import ChangeRecord, Position
    from service.domain.review import Change, Person, PostedMessage
    from service.ports import Transaction

# Beyond, nobody waits for an answer: after a long outage yesterday's words must not stop today's run.
TOO_OLD: Final = timedelta(hours=24)


def hear(
    tx: Transaction, change: Change, record: ChangeRecord, said: Sequence[PostedMessage], account: str
) -> None:
    """Store what may be a command on the current patch set of a locked change; note a person's override."""
    position = tx.position(change.key.instance)
    if position is None:
        return  # nobody knows yet what was said before we came; the first look at everything tells
    commands = [m for m in said if _is_for_us(m, change, account, position)]
    tx.queue_task("obey", *tx.hear(record, commands))
    _note_person_overrides(tx, change, record, said, account)


def person_of(account: str, said: Sequence[PostedMessage]) -> Person | None:
    """An account as the server shows it, by what it said; None where it never said anything."""
    return next((each.author for each in reversed(said) if each.author.account == account), None)


def _is_for_us(message: PostedMessage, change: Change, account: str, position: Position) -> bool:
    return (
        message.patch_set == change.current.number
        and not message.is_by_machine
        and message.author.account != account
        and message.written >= position.first_contact
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
    known = {each.account for each in tx.rulings(record.patch_set_id) if each.kind is RulingKind.PERSON_VOTE}
    for found in person_overrides(said, change.current.number, run.label, bot):
        if found.account not in known:
            ruling = NewRuling(
                RulingKind.PERSON_VOTE, found.account, found.who, bug=found.bug, reason=found.reason
            )
            tx.add_ruling(record.patch_set_id, ruling)
