"""Comments and overrides as rows."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import ProgrammingError

from service.domain.review.change import Person, PostedMessage
from service.domain.runs.overrides import OverrideKind
from service.domain.values.identity import ChangeKey
from service.ports.runs.decisions import NewOverride
from tests.support.store_samples import NOON, change

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
BOB = Person("Bob", "bob@example.com", "bob", "1000003")


def said(text: str, *, message_id: str = "m1", minutes: int = 0) -> PostedMessage:
    return PostedMessage(message_id, 1, BOB, NOON + timedelta(minutes=minutes), text)


def test_a_reply_is_stored_with_its_comment(store: PostgresStore, database: Database) -> None:
    with store.transaction() as tx:
        record = tx.changes.upsert(change())
        (comment_id,) = tx.comments.record(record, [said("Patch Set 1:\n\nrecheck \x00 please")])
        comment = tx.comments.lock(comment_id)
        assert (comment.change, comment.patch_set, comment.account) == (ChangeKey("review", 7), 1, "1000003")
        assert comment.text.startswith("Patch Set 1:\n\nrecheck")
        assert comment.is_pending
        tx.comments.answer(comment_id, "done so")
        assert not tx.comments.lock(comment_id).is_pending
    assert database.value("SELECT answer FROM heard") == "done so"


class TestOverrides:
    @pytest.mark.parametrize("statement", ["UPDATE ruling SET person = 'Eve'", "DELETE FROM ruling"])
    def test_no_statement_changes_or_removes_an_entry(
        self, store: PostgresStore, database: Database, statement: str
    ) -> None:
        with store.transaction() as tx:
            record = tx.changes.upsert(change())
            tx.overrides.add(record.patch_set_id, NewOverride(OverrideKind.UNDO, "1000003", "Bob"))
        with pytest.raises(ProgrammingError, match="never changed"):
            database.change(statement)
