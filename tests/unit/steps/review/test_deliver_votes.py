"""Votes that are taken back, left out or not cast again."""

from __future__ import annotations

import pytest

from service.domain.review.change import Review
from service.domain.values.errors import Forbidden, Transient
from service.domain.wording.delivery import not_allowed
from tests.support.review.changes import KEY, change_at
from tests.support.review.delivery import MARKER, MESSAGE, Delivery


@pytest.fixture
def delivery() -> Delivery:
    delivery = Delivery()
    delivery.queue()
    return delivery


class TestPushesWhilePosting:
    """A vote that lands on a patch set which became outdated meanwhile is taken back."""

    WITHDRAWN = "Vote taken back: patch set 2 appeared while it was posted, and gets a vote of its own."
    NOTE = "the vote was taken back because a newer patch set appeared while it was posted"

    def test_the_vote_is_taken_back_on_the_outdated_revision(self, delivery: Delivery) -> None:
        delivery.server.pushed = [change_at(2)]

        assert delivery.deliver() == 1
        assert [(each.revision, each.labels) for each in delivery.server.reviews] == [
            ("patch1", {"Verified": 1}),
            ("patch1", {"Verified": 0}),
        ]
        assert delivery.server.reviews[-1].message == f"{self.WITHDRAWN}\n\n{MARKER}-taken-back"
        assert delivery.states == [("sent", self.NOTE)]
        assert delivery.deliver() == 0

    def test_a_message_without_a_vote_stays(self) -> None:
        delivery = Delivery()
        delivery.queue(labels={})
        delivery.server.pushed = [change_at(2)]

        assert delivery.deliver() == 1
        assert len(delivery.server.reviews) == 1

    @pytest.mark.parametrize("lost", [1, 2])
    def test_it_is_taken_back_once_although_responses_were_lost(self, delivery: Delivery, lost: int) -> None:
        delivery.server.pushed = [change_at(2)]
        delivery.server.after = [Transient("502 after it was applied")] * lost
        for _ in range(4):
            delivery.deliver()

        assert [each.labels for each in delivery.server.reviews] == [{"Verified": 1}, {"Verified": 0}]
        assert delivery.states == [("superseded", self.NOTE)]

    def test_another_event_on_the_same_patch_set_leaves_the_vote(self, delivery: Delivery) -> None:
        delivery.server.pushed = [change_at(1, minutes=1)]
        delivery.deliver()

        assert [each.labels for each in delivery.server.reviews] == [{"Verified": 1}]
        assert delivery.states == [("sent", "")]


@pytest.mark.parametrize("flag", ["is_wip", "is_private"])
def test_no_vote_lands_on_a_change_that_nobody_may_review_yet(delivery: Delivery, flag: str) -> None:
    delivery.server.put(change_at(1, minutes=1, **{flag: True}))

    assert delivery.deliver() == 0
    note = "the change is work in progress or private; Benchgate votes when it is ready for review"
    assert delivery.states == [("superseded", note)]


class TestRemovedVotes:
    """Benchgate never casts a vote again that a person removed."""

    @pytest.fixture
    def delivery(self) -> Delivery:
        delivery = Delivery()
        delivery.server.say(KEY, delivery.server.account, "Patch Set 1: Verified-1\n\nBuild Failed")
        delivery.queue()
        return delivery

    def test_the_message_is_posted_without_it(self, delivery: Delivery) -> None:
        delivery.server.say(KEY, "bob", "Removed Verified-1 by Benchgate")

        assert delivery.deliver() == 1
        assert delivery.server.reviews[-1].labels == {}
        assert delivery.states == [("sent", "not cast again because a person removed it: Verified")]

    def test_a_vote_removed_before_its_delivery_was_known_is_withheld(self, delivery: Delivery) -> None:
        delivery.server.after = [Transient("502 after it was applied")]
        delivery.deliver()
        delivery.server.votes[KEY].clear()
        delivery.server.say(KEY, "bob", "Removed Verified+1 by Benchgate")

        assert delivery.deliver() == 0
        assert delivery.states == [("sent", "not cast again because a person removed it: Verified")]
        assert len(delivery.server.reviews) == 1

    def test_the_removal_of_another_accounts_vote_does_not_matter(self, delivery: Delivery) -> None:
        delivery.server.say(KEY, "bob", "Removed Verified-1 by Alice")

        assert delivery.deliver() == 1
        assert delivery.server.reviews[-1].labels == {"Verified": 1}

    def test_a_new_patch_set_gets_a_vote(self, delivery: Delivery) -> None:
        delivery.server.say(KEY, "bob", "Removed Verified-1 by Benchgate")
        delivery.server.put(change_at(2))
        with delivery.store.transaction() as tx:
            tx.outbox.queue_review("new", Review(KEY, "patch2", "Build Failed\n\nnew", {"Verified": -1}))

        assert delivery.deliver() + delivery.deliver() == 1
        assert delivery.server.reviews[-1].labels == {"Verified": -1}


class TestRejectedVotes:
    """A vote that the server ignores is reported, also if the response that showed it was lost."""

    @pytest.mark.parametrize("is_lost", [False, True])
    def test_a_rejected_vote_is_reported_once(self, *, is_lost: bool) -> None:
        delivery = Delivery()
        delivery.queue(labels={"Performance": 1})  # the server has no such label
        delivery.server.after = [Transient("502 after it was applied")] * is_lost
        for _ in range(3):
            delivery.deliver()

        assert delivery.states == [("sent", "label not granted: Performance"), ("sent", "")]
        original, report = delivery.server.reviews
        assert original.message == MESSAGE
        assert report.message.startswith("The review server rejected the vote Performance+1")


class TestForbiddenVotes:
    """A vote for which Benchgate lacks the right is left out, and the right is named."""

    def test_a_forbidden_vote_is_left_out_and_the_missing_right_is_named(self, delivery: Delivery) -> None:
        delivery.server.refused = [Forbidden("Applying label is restricted")]

        assert delivery.deliver() == 1
        (posted,) = delivery.server.reviews
        assert posted.labels == {}
        assert posted.message == MESSAGE.replace(
            MARKER, f"{not_allowed('no right to vote Verified+1 on kv, branch master')}\n\n{MARKER}"
        )
        assert delivery.states == [("sent", "label not granted: Verified")]
        assert delivery.store.memory.beats == {
            "vote on gerrit kv master": "no right to vote Verified+1 on kv, branch master"
        }
        assert delivery.deliver() == 0

    def test_the_next_vote_on_the_branch_clears_the_missing_right(self, delivery: Delivery) -> None:
        delivery.server.refused = [Forbidden("Applying label is restricted")]
        delivery.deliver()
        delivery.queue("https://bench.example.com/runs/6#v1")

        assert delivery.deliver() == 1
        assert delivery.server.reviews[-1].labels == {"Verified": 1}
        assert delivery.store.memory.beats == {"vote on gerrit kv master": ""}

    def test_a_lost_response_hides_neither_the_left_out_vote_nor_the_missing_right(
        self, delivery: Delivery
    ) -> None:
        delivery.server.refused = [Forbidden("Applying label is restricted")]
        delivery.server.after = [Transient("502 after it was applied")]

        assert [delivery.deliver(), delivery.deliver()] == [0, 0]
        assert delivery.states == [("sent", "label not granted: Verified")]
        assert delivery.store.memory.beats == {
            "vote on gerrit kv master": "no right to vote Verified+1 on kv, branch master"
        }
        assert len(delivery.server.reviews) == 1

    def test_a_message_forbidden_without_a_vote_is_tried_again(self, delivery: Delivery) -> None:
        delivery.server.refused = [Forbidden("read only")] * 2

        assert delivery.deliver() == 0
        assert delivery.states == [("pending", "read only")]
        assert delivery.store.memory.beats == {}
