"""The requests that people made on the pages of a patch set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from service.domain.values.identity import ChangeAddress
from service.ports.review.changes import PageRequest
from tests.support.store_samples import change

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


def test_requests_come_newest_first_with_their_answers_and_without_comments(database: Database) -> None:
    store, reading = PostgresStore(database.owner), PostgresReading(database.owner)
    with store.transaction() as tx:
        record = tx.changes.upsert(change())
        first = tx.comments.add_request(PageRequest(record.patch_set_id, "1", "Bob", "s-1", "cancel", b"1"))
        second = tx.comments.add_request(
            PageRequest(record.patch_set_id, "2", "Carol", "s-2", "recheck", b"2")
        )
        assert first is not None
        tx.comments.answer(first, "no run is in progress")
    shown = reading.patch_set(ChangeAddress(7))
    assert shown.patch_set.id == record.patch_set_id
    assert [(each.id, each.person, each.text, each.is_pending, each.answer) for each in shown.requests] == [
        (second, "Carol", "recheck", True, ""),
        (first, "Bob", "cancel", False, "no run is in progress"),
    ]
