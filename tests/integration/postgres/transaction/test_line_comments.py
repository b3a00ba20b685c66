"""What builds found on lines, and what was written there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.building.findings import Finding
from service.domain.gerrit.change import InlineComment
from service.domain.identity import ChangeKey
from service.ports.records import QueuedReview, ReviewState
from tests.support.store_samples import queue

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

KEY = ChangeKey("review", 7)
FIRST, SECOND = "1" * 40, "2" * 40
FOUND = (Finding("lib/a.cc", 3, "error: ‘x’"), Finding("lib/b.cc", 7, "fatal error: y"))
REMARK = InlineComment("lib/a.cc", 3, "perf: error: ‘x’")
SAID = {("lib/a.cc", "perf: error: ‘x’")}


def send(store: PostgresStore, key: str, *comments: InlineComment, change: ChangeKey = KEY) -> QueuedReview:
    """A review that waits to be posted on the first revision."""
    review = QueuedReview(change, FIRST, "Build Failed", f"/runs/{key}", {"Verified": -1}, comments)
    with store.transaction() as tx:
        tx.queue_review(key, review)
    return review


def said(store: PostgresStore, revision: str = FIRST, change: ChangeKey = KEY) -> set[tuple[str, str]]:
    with store.transaction() as tx:
        return set(tx.remarks_on(change, revision))


def test_a_build_keeps_what_it_named_last(store: PostgresStore) -> None:
    [build] = queue(store)
    with store.transaction() as tx:
        assert tx.lock_build(build).findings == ()
        tx.store_findings(build, FOUND[1:])
        tx.store_findings(build, FOUND)
        assert tx.lock_build(build).findings == FOUND


def test_a_row_that_is_no_finding_is_passed_over(store: PostgresStore, database: Database) -> None:
    [build] = queue(store)
    database.change("""UPDATE build SET findings = '[{"path": "/etc/passwd", "line": 1, "text": "x"}, 7]'""")
    with store.transaction() as tx:
        assert tx.lock_build(build).findings == ()


def test_a_build_that_is_repeated_has_found_nothing_yet(store: PostgresStore) -> None:
    [build] = queue(store)
    with store.transaction() as tx:
        tx.store_findings(build, FOUND)
        again = tx.repeat_build(tx.lock_build(build), None, 3600)
        assert tx.lock_build(again).findings == ()


def test_remarks_leave_with_their_review(store: PostgresStore, upkeep: PostgresUpkeep) -> None:
    review = send(store, "1", REMARK, InlineComment("lib/b.cc", 7, "perf: fatal error: y"))
    assert [due.review for due in upkeep.due_reviews()] == [review]


def test_a_review_from_before_there_were_remarks_is_still_due(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    send(store, "1")
    assert database.value("SELECT payload ? 'comments' FROM outbox") is False
    assert [due.review.comments for due in upkeep.due_reviews()] == [()]


def test_what_waits_is_said_on_its_revision_only(store: PostgresStore) -> None:
    send(store, "1", REMARK)
    assert said(store) == SAID
    assert said(store, SECOND) == set()


def test_what_was_sent_is_said_on_the_whole_change(store: PostgresStore, upkeep: PostgresUpkeep) -> None:
    send(store, "1", REMARK)
    upkeep.settle_review(upkeep.due_reviews()[0].outbox_id, ReviewState.SENT)
    assert said(store, SECOND) == SAID
    assert said(store, SECOND, ChangeKey("review", 8)) == said(store, SECOND, ChangeKey("other", 7)) == set()


@pytest.mark.parametrize("state", [ReviewState.SUPERSEDED, ReviewState.REFUSED, ReviewState.DEAD])
def test_what_was_never_posted_is_not_said(
    store: PostgresStore, upkeep: PostgresUpkeep, state: ReviewState
) -> None:
    send(store, "1", REMARK)
    send(store, "2")
    upkeep.settle_review(upkeep.due_reviews()[0].outbox_id, state)
    assert said(store) == set()
