from __future__ import annotations

import pytest

from service.domain.review.change import ChangeStatus, InlineComment, Review
from service.domain.values.errors import NotFound, Permanent, Transient
from service.domain.values.identity import ChangeKey
from tests.support.review.changes import KEY, change_at
from tests.support.review.delivery import MARKER, MESSAGE, Delivery


@pytest.fixture
def delivery() -> Delivery:
    delivery = Delivery()
    delivery.queue()
    return delivery


def test_a_review_is_posted_on_exactly_its_revision(delivery: Delivery) -> None:
    assert delivery.deliver() == 1

    (posted,) = delivery.server.reviews
    assert (posted.change, posted.revision, posted.message, posted.labels) == (
        KEY,
        "patch1",
        MESSAGE,
        {"Verified": 1},
    )
    assert delivery.states == [("sent", "")]


def test_inline_comments_are_posted_with_the_message() -> None:
    delivery = Delivery()
    remarks = (InlineComment("lib/a.cc", 3, "perf: error: no"),)
    with delivery.store.transaction() as tx:
        tx.outbox.queue_review(MARKER, Review(KEY, "patch1", MESSAGE, {}, remarks))

    assert delivery.deliver() == 1
    assert delivery.server.reviews[-1].comments == remarks


def test_only_inline_comments_that_the_server_accepted_are_recorded() -> None:
    delivery = Delivery()
    delivery.server.unshown = {"lib/b.cc"}
    taken, refused = (InlineComment(path, 3, "perf: error: no") for path in ("lib/a.cc", "lib/b.cc"))
    with delivery.store.transaction() as tx:
        tx.outbox.queue_review(MARKER, Review(KEY, "patch1", MESSAGE, {}, (taken, refused)))
    delivery.deliver()

    with delivery.store.transaction() as tx:
        assert set(tx.outbox.remarks_on(KEY, "patch2")) == {(taken.path, taken.text)}


REMARKS = (InlineComment("lib/a.cc", 3, "perf: error: no"),)


@pytest.fixture
def remarking() -> Delivery:
    """A review with a vote and an inline comment."""
    delivery = Delivery()
    with delivery.store.transaction() as tx:
        tx.outbox.queue_review(MARKER, Review(KEY, "patch1", MESSAGE, {"Verified": -1}, REMARKS))
    return delivery


def test_a_vote_does_not_wait_for_refused_inline_comments(remarking: Delivery) -> None:
    remarking.server.refused = [Transient("the proxy answers 502")] * 5
    for _ in range(5):
        remarking.deliver()

    assert remarking.deliver() == 1
    assert remarking.server.reviews[-1].comments == ()
    assert remarking.states == [
        ("sent", "posted without inline comments after five failed attempts with them")
    ]


def test_an_unreachable_server_does_not_count_as_a_failed_attempt(remarking: Delivery) -> None:
    for _ in range(9):
        remarking.server.before = [Transient("connection refused")]
        remarking.deliver()

    assert remarking.deliver() == 1
    assert remarking.server.reviews[-1].comments == REMARKS


@pytest.mark.parametrize(("failed", "is_recorded"), [(0, True), (4, True), (5, False)])
def test_an_inline_comment_is_recorded_if_the_successful_attempt_had_it(
    remarking: Delivery, failed: int, *, is_recorded: bool
) -> None:
    remarking.server.refused = [Transient("the proxy answers 502")] * failed
    for _ in range(failed):
        remarking.deliver()
    remarking.server.after = [Transient("502 after it was applied")]
    remarking.deliver()

    assert remarking.deliver() == 0
    assert [state for state, _ in remarking.states] == ["sent"]
    with remarking.store.transaction() as tx:
        assert bool(tx.outbox.remarks_on(KEY, "patch1")) is is_recorded


def test_a_sent_review_is_not_sent_again(delivery: Delivery) -> None:
    delivery.deliver()

    assert delivery.deliver() == 0
    assert len(delivery.server.reviews) == 1


class TestPostedAlready:
    def test_a_copy_of_the_message_by_another_account_does_not_count(self, delivery: Delivery) -> None:
        delivery.server.say(KEY, "mallory", MESSAGE)
        assert delivery.deliver() == 1

    def test_a_lost_response_does_not_cause_a_second_message(self, delivery: Delivery) -> None:
        delivery.server.after = [Transient("502 after it was applied")]
        assert delivery.deliver() == 0
        assert delivery.states == [("pending", "502 after it was applied")]

        assert delivery.deliver() == 0
        assert delivery.states == [("sent", "")]
        assert len(delivery.server.reviews) == 1

    @pytest.mark.parametrize(
        "text",
        [
            "Patch Set 1:\n\nBuild Failed \n\nhttps://bench.example.com/runs/5#v12",
            "Patch Set 1:\n\nBuild Failed \n\nhttps://bench.example.com/runs/55#v1",
            f"Patch Set 1:\n\n> {MARKER}\n\nI do not agree",
            f"Patch Set 1:\n\nsee {MARKER} please",
        ],
    )
    def test_another_message_with_a_similar_link_is_not_ours(self, delivery: Delivery, text: str) -> None:
        delivery.server.say(KEY, delivery.server.account, text)

        assert delivery.deliver() == 1

    def test_the_link_of_run_51_is_not_that_of_run_5(self) -> None:
        delivery = Delivery()
        delivery.queue("https://bench.example.com/runs/51", {})
        delivery.deliver()
        delivery.queue("https://bench.example.com/runs/5", {})

        assert delivery.deliver() == 1


class TestOutdatedReviews:
    def test_an_outdated_patch_set_gets_no_vote(self, delivery: Delivery) -> None:
        delivery.server.put(change_at(2))

        assert delivery.deliver() == 0
        assert delivery.states == [("superseded", "the patch set is outdated or its change is closed")]
        assert delivery.server.reviews == []

    @pytest.mark.parametrize("status", [ChangeStatus.MERGED, ChangeStatus.ABANDONED])
    def test_a_closed_change_gets_no_vote(self, delivery: Delivery, status: ChangeStatus) -> None:
        delivery.server.put(change_at(1, status=status))

        assert delivery.deliver() == 0
        assert delivery.states == [("superseded", "the patch set is outdated or its change is closed")]

    def test_a_message_without_a_vote_still_reaches_a_closed_change(self) -> None:
        delivery = Delivery()
        delivery.queue(labels={})
        delivery.server.put(change_at(1, status=ChangeStatus.MERGED))

        assert delivery.deliver() == 1


class TestFaults:
    def test_a_refused_label_is_recorded_and_reported_once(self) -> None:
        delivery = Delivery()
        delivery.queue(labels={"Verified": 1, "Performance": 1})

        assert delivery.deliver() == 1
        assert delivery.states[0] == ("sent", "label not granted: Performance")
        assert delivery.deliver() == 1
        assert delivery.server.reviews[-1].labels == {}
        assert delivery.server.reviews[-1].message.startswith(
            "The review server rejected the vote Performance+1: "
        )
        assert delivery.deliver() == 0

    def test_the_servers_retry_after_is_respected(self, delivery: Delivery) -> None:
        delivery.server.before = [Transient("429 too many requests", retry_after=17.0)]

        assert delivery.deliver() == 0
        assert delivery.waits == [17.0]

    def test_an_unreachable_server_is_not_tried_for_each_review(self, delivery: Delivery) -> None:
        for number in (8, 9):
            other = ChangeKey("gerrit", number)
            delivery.server.put(change_at(1, key=other))
            delivery.queue(f"https://bench.example.com/runs/{number}#v1", change=other)
        delivery.server.before = [Transient("down")] * 3

        assert delivery.deliver() == 0
        assert len(delivery.server.before) == 1

    def test_the_time_between_attempts_grows(self, delivery: Delivery) -> None:
        waits = []
        for _ in range(12):
            delivery.server.before = [Transient("down")]
            assert delivery.deliver() == 0
            waits += delivery.waits

        assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
        assert delivery.deliver() == 1

    def test_a_change_that_the_server_does_not_show_yet_is_tried_again(self, delivery: Delivery) -> None:
        delivery.server.before = [NotFound("no change 7")]

        assert delivery.deliver() == 0
        assert delivery.states == [("pending", "no change 7")]
        assert delivery.deliver() == 1

    def test_a_change_that_stays_missing_is_given_up(self, delivery: Delivery) -> None:
        delivery.server.changes.clear()

        assert [delivery.deliver(), delivery.deliver()] == [0, 0]
        assert delivery.states == [("dead", "change 7 does not exist")]

    def test_a_refusal_is_final(self, delivery: Delivery) -> None:
        delivery.server.before = [Permanent("403: not allowed to vote")]

        assert delivery.deliver() == 0
        assert delivery.states == [("refused", "403: not allowed to vote")]
        assert delivery.deliver() == 0

    def test_a_failure_on_one_change_does_not_delay_the_next(self, delivery: Delivery) -> None:
        other = ChangeKey("gerrit", 8)
        delivery.server.put(change_at(1, key=other))
        delivery.queue("https://bench.example.com/runs/6#v1", change=other)
        delivery.server.before = [Transient("down")]

        assert delivery.deliver() == 1
        assert [state for state, _ in delivery.states] == ["pending", "sent"]

    def test_a_later_decision_never_overtakes_an_earlier_one_on_its_change(self, delivery: Delivery) -> None:
        delivery.queue("https://bench.example.com/runs/6#v2", {"Verified": -1})
        delivery.server.before = [Transient("down")]
        assert delivery.deliver() == 0

        while delivery.deliver():
            pass
        assert [review.labels["Verified"] for review in delivery.server.reviews] == [1, -1]

    def test_one_process_delivers_to_a_change_at_a_time(self, delivery: Delivery) -> None:
        with delivery.store.exclusive(f"review {KEY.instance}/{KEY.number}"):
            assert delivery.deliver() == 0

        assert delivery.deliver() == 1


def test_a_message_that_nobody_waits_for_is_given_up_after_some_attempts(delivery: Delivery) -> None:
    delivery.deliver()
    why = Review(KEY, "patch1", "why\n\nhttps://bench.example.com/job/perf/1/#why", is_silent=True)
    with delivery.store.transaction() as tx:
        tx.outbox.queue_review("why", why)
    delivery.server.refused = [Transient("the proxy rejects the text")] * 20
    for _ in range(12):
        delivery.deliver()
    assert delivery.states[1] == ("dead", "the proxy rejects the text")
    assert len(delivery.server.refused) == 12
