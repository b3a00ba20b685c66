from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from service.domain.errors import NotFound, Permanent, Transient
from service.domain.gerrit.change import ChangeStatus, InlineComment
from service.domain.identity import ChangeKey
from service.ports.records import QueuedReview
from service.steps.reviewers.deliver import deliver_reviews
from tests.support.changes import KEY, change_at
from tests.support.fakes import FakeReviewServer
from tests.support.memory_store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.gerrit.change import Change, Posted, Review

MARKER = "https://bench.example.com/runs/5#v1"
MESSAGE = f"Build Successful \n\nhttps://bench.example.com/job/perf/1/ : SUCCESS\n\n{MARKER}"


@dataclass
class FaultyServer(FakeReviewServer):
    """A server that fails: before it does anything, or after it did."""

    before: list[Exception] = field(default_factory=list)
    refused: list[Exception] = field(default_factory=list)  # of what it is given
    after: list[Exception] = field(default_factory=list)

    def change(self, key: ChangeKey) -> Change:
        if self.before:
            raise self.before.pop()
        return super().change(key)

    def post(self, review: Review) -> Posted:
        if self.refused:
            raise self.refused.pop()
        granted = super().post(review)
        if self.after:
            raise self.after.pop()
        return granted


class Desk:
    """A queued review and the server that it is for."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.server = FaultyServer()
        self.server.put(change_at(1))

    def queue(
        self, marker: str = MARKER, labels: Mapping[str, int] | None = None, change: ChangeKey = KEY
    ) -> None:
        message = MESSAGE.replace(MARKER, marker)
        asked = {"Verified": 1} if labels is None else labels
        review = QueuedReview(change, "patch1", message, marker, asked)
        with self.store.transaction() as tx:
            tx.queue_review(marker, review)

    def deliver(self) -> int:
        return deliver_reviews(self.store, self.store, self.server)

    @property
    def states(self) -> list[tuple[str, str]]:
        return [(each.state, each.note) for each in self.store.memory.reviews.values()]


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.queue()
    return desk


def test_a_review_is_posted_on_exactly_its_revision(desk: Desk) -> None:
    assert desk.deliver() == 1

    (posted,) = desk.server.reviews
    assert (posted.change, posted.revision, posted.message, posted.labels) == (
        KEY,
        "patch1",
        MESSAGE,
        {"Verified": 1},
    )
    assert desk.states == [("sent", "")]


def test_remarks_on_lines_are_posted_with_it() -> None:
    desk = Desk()
    remarks = (InlineComment("lib/a.cc", 3, "perf: error: no"),)
    with desk.store.transaction() as tx:
        tx.queue_review(MARKER, QueuedReview(KEY, "patch1", MESSAGE, MARKER, {}, remarks))

    assert desk.deliver() == 1
    assert desk.server.reviews[-1].comments == remarks


def test_only_remarks_that_the_server_took_count_as_said() -> None:
    desk = Desk()
    desk.server.unshown = {"lib/b.cc"}
    taken, refused = (InlineComment(path, 3, "perf: error: no") for path in ("lib/a.cc", "lib/b.cc"))
    with desk.store.transaction() as tx:
        tx.queue_review(MARKER, QueuedReview(KEY, "patch1", MESSAGE, MARKER, {}, (taken, refused)))
    desk.deliver()

    with desk.store.transaction() as tx:
        assert set(tx.remarks_on(KEY, "patch2")) == {(taken.path, taken.text)}


REMARKS = (InlineComment("lib/a.cc", 3, "perf: error: no"),)


@pytest.fixture
def remarking() -> Desk:
    """A review with a vote and a remark."""
    desk = Desk()
    with desk.store.transaction() as tx:
        tx.queue_review(MARKER, QueuedReview(KEY, "patch1", MESSAGE, MARKER, {"Verified": -1}, REMARKS))
    return desk


def test_a_vote_does_not_wait_for_remarks_that_something_refuses(remarking: Desk) -> None:
    remarking.server.refused = [Transient("what is in between answers 502")] * 5
    for _ in range(5):
        remarking.deliver()

    assert remarking.deliver() == 1
    assert remarking.server.reviews[-1].comments == ()
    assert remarking.states == [("sent", "left out after five failed tries: the comments on lines")]


def test_a_server_that_was_away_costs_no_remark(remarking: Desk) -> None:
    """It was never given them."""
    for _ in range(9):
        remarking.server.before = [Transient("nobody is there")]
        remarking.deliver()

    assert remarking.deliver() == 1
    assert remarking.server.reviews[-1].comments == REMARKS


@pytest.mark.parametrize(("failed", "said"), [(0, True), (4, True), (5, False)])
def test_a_remark_counts_as_said_if_the_try_that_was_applied_had_it(
    remarking: Desk, failed: int, *, said: bool
) -> None:
    remarking.server.refused = [Transient("what is in between answers 502")] * failed
    for _ in range(failed):
        remarking.deliver()
    remarking.server.after = [Transient("502 after it was applied")]
    remarking.deliver()

    assert remarking.deliver() == 0
    assert [state for state, _ in remarking.states] == ["sent"]
    with remarking.store.transaction() as tx:
        assert bool(tx.remarks_on(KEY, "patch1")) is said


def test_what_was_sent_is_not_sent_again(desk: Desk) -> None:
    desk.deliver()

    assert desk.deliver() == 0
    assert len(desk.server.reviews) == 1


class TestPostedAlready:
    def test_our_link_pasted_by_somebody_else_does_not_silence_us(self, desk: Desk) -> None:
        desk.server.say(KEY, "mallory", MESSAGE)
        assert desk.deliver() == 1

    def test_an_answer_that_never_came_does_not_post_twice(self, desk: Desk) -> None:
        desk.server.after = [Transient("502 after it was applied")]
        assert desk.deliver() == 0
        assert desk.states == [("pending", "502 after it was applied")]

        assert desk.deliver() == 0
        assert desk.states == [("sent", "")]
        assert len(desk.server.reviews) == 1

    @pytest.mark.parametrize(
        "text",
        [
            "Patch Set 1:\n\nBuild Failed \n\nhttps://bench.example.com/runs/5#v12",
            "Patch Set 1:\n\nBuild Failed \n\nhttps://bench.example.com/runs/55#v1",
            f"Patch Set 1:\n\n> {MARKER}\n\nI do not agree",
            f"Patch Set 1:\n\nsee {MARKER} please",
        ],
    )
    def test_another_message_with_a_similar_link_is_not_ours(self, desk: Desk, text: str) -> None:
        desk.server.say(KEY, desk.server.account, text)

        assert desk.deliver() == 1

    def test_a_refusal_of_one_run_is_not_taken_for_that_of_another(self) -> None:
        desk = Desk()
        desk.queue("https://bench.example.com/runs/51", {})
        desk.deliver()
        desk.queue("https://bench.example.com/runs/5", {})

        assert desk.deliver() == 1


class TestChangesThatMovedOn:
    def test_an_outdated_patch_set_gets_no_vote(self, desk: Desk) -> None:
        desk.server.put(change_at(2))

        assert desk.deliver() == 0
        assert desk.states == [("superseded", "the change moved on")]
        assert desk.server.reviews == []

    @pytest.mark.parametrize("status", [ChangeStatus.MERGED, ChangeStatus.ABANDONED])
    def test_a_closed_change_gets_no_vote(self, desk: Desk, status: ChangeStatus) -> None:
        desk.server.put(change_at(1, status=status))

        assert desk.deliver() == 0
        assert desk.states == [("superseded", "the change moved on")]

    def test_a_message_without_a_vote_still_reaches_a_closed_change(self) -> None:
        desk = Desk()
        desk.queue(labels={})
        desk.server.put(change_at(1, status=ChangeStatus.MERGED))

        assert desk.deliver() == 1


class TestRemovedVotes:
    """A vote that a person removed is never put back."""

    @pytest.fixture
    def desk(self) -> Desk:
        desk = Desk()
        desk.server.say(KEY, desk.server.account, "Patch Set 1: Verified-1\n\nBuild Failed")
        desk.queue()
        return desk

    def test_the_message_comes_without_it(self, desk: Desk) -> None:
        desk.server.say(KEY, "bob", "Removed Verified-1 by Benchgate")

        assert desk.deliver() == 1
        assert desk.server.reviews[-1].labels == {}
        assert desk.states == [("sent", "not put back after a person removed it: Verified")]

    def test_somebody_elses_vote_is_no_matter(self, desk: Desk) -> None:
        desk.server.say(KEY, "bob", "Removed Verified-1 by Alice")

        assert desk.deliver() == 1
        assert desk.server.reviews[-1].labels == {"Verified": 1}

    def test_new_code_is_voted_on(self, desk: Desk) -> None:
        desk.server.say(KEY, "bob", "Removed Verified-1 by Benchgate")
        desk.server.put(change_at(2))
        with desk.store.transaction() as tx:
            tx.queue_review("new", QueuedReview(KEY, "patch2", "Build Failed", "new", {"Verified": -1}))

        assert desk.deliver() + desk.deliver() == 1
        assert desk.server.reviews[-1].labels == {"Verified": -1}


class TestFaults:
    def test_a_label_that_was_not_granted_is_noted_and_told_once(self) -> None:
        desk = Desk()
        desk.queue(labels={"Verified": 1, "Performance": 1})

        assert desk.deliver() == 1
        assert desk.states[0] == ("sent", "label not granted: Performance")
        assert desk.deliver() == 1
        assert desk.server.reviews[-1].labels == {}
        assert desk.server.reviews[-1].message.startswith("The server did not take the vote Performance+1: ")
        assert desk.deliver() == 0

    def test_a_server_that_says_when_to_come_again_is_obeyed(self, desk: Desk) -> None:
        (review,) = desk.store.memory.reviews.values()
        desk.server.before = [Transient("429 too many requests", retry_after=17.0)]

        assert desk.deliver() == 0
        assert review.postponed == 17.0

    def test_a_server_that_is_away_is_not_asked_for_each_review(self, desk: Desk) -> None:
        for number in (8, 9):
            other = ChangeKey("gerrit", number)
            desk.server.put(change_at(1, key=other))
            desk.queue(f"https://bench.example.com/runs/{number}#v1", change=other)
        desk.server.before = [Transient("down")] * 3

        assert desk.deliver() == 0
        assert len(desk.server.before) == 1

    def test_a_server_that_is_down_is_asked_again_less_and_less_often(self, desk: Desk) -> None:
        (review,) = desk.store.memory.reviews.values()
        waits = []
        for _ in range(12):
            desk.server.before = [Transient("down")]
            assert desk.deliver() == 0
            waits.append(review.postponed)

        assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
        assert desk.deliver() == 1

    def test_a_change_that_is_not_there_yet_is_waited_for(self, desk: Desk) -> None:
        """A server shows what was pushed only after a while."""
        desk.server.before = [NotFound("no change 7")]

        assert desk.deliver() == 0
        assert desk.states == [("pending", "no change 7")]
        assert desk.deliver() == 1

    def test_a_change_that_stays_away_is_given_up(self, desk: Desk) -> None:
        (review,) = desk.store.memory.reviews.values()
        review.missing_seconds = 61
        desk.server.changes.clear()

        assert desk.deliver() == 0
        assert desk.states == [("dead", "change 7 does not exist")]

    def test_a_refusal_is_final(self, desk: Desk) -> None:
        desk.server.before = [Permanent("403: not allowed to vote")]

        assert desk.deliver() == 0
        assert desk.states == [("refused", "403: not allowed to vote")]
        assert desk.deliver() == 0

    def test_one_change_that_fails_does_not_hold_up_the_next(self, desk: Desk) -> None:
        other = ChangeKey("gerrit", 8)
        desk.server.put(change_at(1, key=other))
        desk.queue("https://bench.example.com/runs/6#v1", change=other)
        desk.server.before = [Transient("down")]

        assert desk.deliver() == 1
        assert [state for state, _ in desk.states] == ["pending", "sent"]

    def test_a_later_decision_never_overtakes_an_earlier_one_on_its_change(self, desk: Desk) -> None:
        desk.queue("https://bench.example.com/runs/6#v2", {"Verified": -1})
        desk.server.before = [Transient("down")]
        assert desk.deliver() == 0

        while desk.deliver():
            pass
        assert [each.labels["Verified"] for each in desk.server.reviews] == [1, -1]

    def test_one_process_delivers_to_a_change_at_a_time(self, desk: Desk) -> None:
        with desk.store.exclusive(f"review {KEY.instance}/{KEY.number}"):
            assert desk.deliver() == 0

        assert desk.deliver() == 1
