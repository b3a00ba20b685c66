"""Findings and line comments that earlier versions stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.building.findings import Finding
from service.domain.review.change import InlineComment, Review
from service.domain.values.identity import ChangeKey
from tests.support.store_samples import queue

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

KEY = ChangeKey("review", 7)
FIRST, SECOND = "1" * 40, "2" * 40
FOUND = (Finding("lib/a.cc", 3, "error: ‘x’"), Finding("lib/b.cc", 7, "fatal error: y"))
REMARK = InlineComment("lib/a.cc", 3, "perf: error: ‘x’")
SAID = {("lib/a.cc", "perf: error: ‘x’")}


def send(store: PostgresStore, key: str, *comments: InlineComment, change: ChangeKey = KEY) -> Review:
    """A review that waits to be posted on the first revision."""
    review = Review(change, FIRST, f"Build Failed\n\n/runs/{key}", {"Verified": -1}, comments)
    with store.transaction() as tx:
        tx.outbox.queue_review(key, review)
    return review


def test_an_invalid_finding_is_ignored(store: PostgresStore, database: Database) -> None:
    [build] = queue(store)
    database.change("""UPDATE build SET findings = '[{"path": "/etc/passwd", "line": 1, "text": "x"}, 7]'""")
    with store.transaction() as tx:
        assert tx.builds.lock(build).findings == ()


def test_a_review_without_line_comments_is_due(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    send(store, "1")
    assert database.value("SELECT payload ? 'comments' FROM outbox") is False
    assert [due.review.comments for due in upkeep.due_reviews()] == [()]
