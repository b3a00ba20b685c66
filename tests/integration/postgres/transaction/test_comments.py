"""What people said and decided, in a real database."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import ProgrammingError

from service.domain.decision.overrides import RulingKind
from service.domain.gerrit.change import Person, PostedMessage
from service.domain.identity import ChangeKey
from service.ports.records import NewRuling
from tests.integration.postgres.samples import NOON, change

if TYPE_CHECKING:
    from service.adapters.postgres.transaction.store import PostgresStore
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
BOB = Person("Bob", "bob@example.com", "bob", "1000003")


def said(text: str, *, message_id: str = "m1", minutes: int = 0) -> PostedMessage:
    return PostedMessage(message_id, 1, BOB, NOON + timedelta(minutes=minutes), text)


def test_a_message_is_heard_once_whatever_its_id_becomes(store: PostgresStore) -> None:
    with store.transaction() as tx:
        record = tx.upsert_change(change())
        assert tx.hear(record, [said("recheck"), said("cancel", minutes=1)]) == [1, 2]
        assert tx.hear(record, [said("recheck", message_id="rewritten")]) == []
        assert tx.hear(record, [said("recheck", minutes=2)]) != []


def test_what_was_heard_is_pending_until_it_is_answered(store: PostgresStore, database: Database) -> None:
    with store.transaction() as tx:
        record = tx.upsert_change(change())
        (heard_id,) = tx.hear(record, [said("Patch Set 1:\n\nrecheck \x00 please")])
        heard = tx.lock_heard(heard_id)
        assert (heard.change, heard.patch_set, heard.account) == (ChangeKey("review", 7), 1, "1000003")
        assert heard.text.startswith("Patch Set 1:\n\nrecheck")
        assert heard.is_pending
        tx.answer(heard_id, "done so")
        assert not tx.lock_heard(heard_id).is_pending
    assert database.value("SELECT answer FROM heard") == "done so"


class TestPosition:
    def test_nobody_knows_it_before_the_first_contact(self, store: PostgresStore) -> None:
        with store.transaction() as tx:
            assert tx.position("review") is None

    def test_it_never_moves_back_and_the_first_contact_stays(self, store: PostgresStore) -> None:
        with store.transaction() as tx:
            tx.move_position("review", NOON)
            tx.move_position("review", NOON + timedelta(minutes=5))
            tx.move_position("review", NOON + timedelta(minutes=2))
            found = tx.position("review")
        assert found is not None
        assert (found.first_contact, found.seen_until) == (NOON, NOON + timedelta(minutes=5))


class TestRulings:
    def test_they_come_back_as_they_were_made(self, store: PostgresStore) -> None:
        with store.transaction() as tx:
            record = tx.upsert_change(change())
            made = NewRuling(RulingKind.OVERRIDE, "1000003", "Bob", builds=[3, 4], bug="MB-1", reason="known")
            tx.add_ruling(record.patch_set_id, made)
            tx.add_ruling(record.patch_set_id, NewRuling(RulingKind.UNDO, "1000003", "Bob"))
            first, second = tx.rulings(record.patch_set_id)
        assert (first.kind, first.builds, first.bug, first.who) == (
            RulingKind.OVERRIDE,
            frozenset({3, 4}),
            "MB-1",
            "Bob",
        )
        assert first.revision == change().current.revision
        assert second.kind is RulingKind.UNDO

    @pytest.mark.parametrize("statement", ["UPDATE ruling SET person = 'Eve'", "DELETE FROM ruling"])
    def test_nothing_changes_or_removes_one(
        self, store: PostgresStore, database: Database, statement: str
    ) -> None:
        with store.transaction() as tx:
            record = tx.upsert_change(change())
            tx.add_ruling(record.patch_set_id, NewRuling(RulingKind.UNDO, "1000003", "Bob"))
        with pytest.raises(ProgrammingError, match="never changed"):
            database.change(statement)
