"""Search very many changes without reading all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.domain.review.change_search import MOST_VOTES, parse_change_search, written
from tests.support.store_samples import change

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


def test_votes_are_searched_in_the_changes_that_were_updated_last(
    store: PostgresStore, database: Database
) -> None:
    with store.transaction() as tx:
        tx.changes.upsert(change(7))
    reading = PostgresReading(database.owner)

    def found(search: str) -> list[int]:
        return [each.number for each in reading.changes(5, None, parse_change_search(search))]

    own = written("owner", str(database.value("SELECT owner FROM change")))
    assert (found(f"vote:none {own}"), found(f"-vote:none {own}")) == ([7], [])
    database.change(
        "INSERT INTO change (instance, number, change_id, project, branch, subject, owner, status, is_wip,"
        " is_private, updated_at) SELECT instance, 1000 + n, change_id, project, branch, subject, 'other',"
        " status, is_wip, is_private, updated_at + interval '1 s' FROM change, generate_series(1, :n) AS n",
        n=MOST_VOTES,
    )
    assert (found(f"vote:none {own}"), found(f"-vote:-1 {own}"), found(own)) == ([], [], [7])
    database.change("DELETE FROM change WHERE number = 1001")
    assert found(f"vote:none {own}") == [7]
