"""Gerrit fulfils the contract of a review server, and all review servers report authors and votes alike."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import pytest

from service.adapters.review.gerrit.review import GerritReview
from service.adapters.system.json_client import Password
from service.domain.review.change import Review
from service.domain.values.identity import ChangeKey
from tests.contract.review.review_server import FIRST, PARENT, SECOND, ReviewServerContract, ReviewSite
from tests.contract.review.test_review_server import ConsoleSite, FakeStage
from tests.support.review.gerrit_model import SECRET, URL, GerritModel

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.review.change import Change

pytestmark = pytest.mark.integration

KEY = ChangeKey("gerrit", 7)


class GerritSite:
    def __init__(self) -> None:
        self.model = GerritModel()
        credentials = Password("buildbot", SECRET)
        self.server = GerritReview("gerrit", URL, credentials, transport=self.model.transport)

    def upload(self, number: int, patch_set: int, revision: str) -> None:
        self.model.upload(number, revision, parent=PARENT)
        self.model.files[revision] = {"hash_table.cc"}
        assert self.server.change(ChangeKey("gerrit", number)).current.number == patch_set

    def abandon(self, number: int) -> None:
        self.model.abandon(number)

    def merge(self, number: int, merged_as: str) -> None:
        self.model.merge(number, merged_as)

    def delete(self, number: int) -> None:
        self.model.delete(number)

    def vote(self, value: int) -> None:
        self.model.vote(7, "bob", "Code-Review", value)


class VotingFakeStage(FakeStage):
    def vote(self, value: int) -> None:
        self.server.votes[KEY] = {"Code-Review": {"bob": value}}


class VotingConsoleStage(ConsoleSite):
    def vote(self, value: int) -> None:
        current = self.server.change(KEY).current
        event = {
            "type": "comment-added",
            "change": {"project": "kv_engine", "branch": "master", "number": 7, "status": "NEW"},
            "patchSet": {"number": current.number, "revision": current.revision, "parents": [PARENT]},
            "author": {"username": "bob"},
            "approvals": [{"type": "Code-Review", "value": str(value)}],
            "comment": f"Patch Set {current.number}: Code-Review{value:+}",
        }
        self.server.apply_event(json.dumps(event))


class VotingStage(ReviewSite, Protocol):
    """A review site on which another person votes, too."""

    def vote(self, value: int) -> None:
        """Set Code-Review on change 7's current patch set, as Bob."""


class TestGerritReview(ReviewServerContract):
    @pytest.fixture
    def stage(self) -> GerritSite:
        return GerritSite()


@pytest.fixture(params=["fake", "console", "gerrit"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> VotingStage:
    if request.param == "console":
        return VotingConsoleStage(tmp_path / "review.sqlite3")
    return VotingFakeStage() if request.param == "fake" else GerritSite()


def code_review(change: Change) -> list[int]:
    return list(change.votes.get("Code-Review", {}).values())


def test_a_change_is_read_back_with_its_votes(stage: VotingStage) -> None:
    stage.upload(7, 1, FIRST)
    stage.vote(-2)
    assert code_review(stage.server.change(KEY)) == [-2]
    assert [code_review(change) for change in stage.server.changes_since(None)] == [[-2]]


def test_a_vote_of_zero_is_no_vote(stage: VotingStage) -> None:
    stage.upload(7, 1, FIRST)
    stage.vote(1)
    stage.vote(0)
    assert code_review(stage.server.change(KEY)) == []


def test_a_new_patch_set_has_no_votes_yet(stage: VotingStage) -> None:
    stage.upload(7, 1, FIRST)
    stage.vote(1)
    stage.upload(7, 2, SECOND)
    assert code_review(stage.server.change(KEY)) == []


def test_posted_messages_have_the_services_account(stage: VotingStage) -> None:
    stage.upload(7, 1, FIRST)
    stage.server.post(Review(KEY, FIRST, "Build Successful", {"Verified": 1}))
    message = stage.server.messages(KEY)[-1]
    assert message.author.account == stage.server.account
    assert stage.server.account


def test_each_message_has_its_own_id(stage: VotingStage) -> None:
    stage.upload(7, 1, FIRST)
    for _ in range(3):
        stage.server.post(Review(KEY, FIRST, "same"))
    messages = stage.server.messages(KEY)
    assert len({message.id for message in messages}) == len(messages) >= 3


def test_messages_have_times_with_a_zone_in_order(stage: VotingStage) -> None:
    stage.upload(7, 1, FIRST)
    for text in ("first", "second"):
        stage.server.post(Review(KEY, FIRST, text))
    written = [message.written for message in stage.server.messages(KEY)]
    assert all(moment.tzinfo for moment in written)
    assert written == sorted(written)


def test_the_servers_clock_is_not_behind_its_messages(stage: VotingStage) -> None:
    stage.upload(7, 1, FIRST)
    assert stage.server.change(KEY).updated < stage.server.now() + timedelta(seconds=1)


def test_a_message_on_an_outdated_patch_set_names_that_patch_set(stage: VotingStage) -> None:
    stage.upload(7, 1, FIRST)
    stage.upload(7, 2, SECOND)
    stage.server.post(Review(KEY, FIRST, "late"))
    assert stage.server.messages(KEY)[-1].patch_set == 1


def test_a_merged_change_accepts_a_message_without_a_vote(stage: VotingStage) -> None:
    stage.upload(7, 1, FIRST)
    stage.merge(7, FIRST)
    assert stage.server.post(Review(KEY, FIRST, "Build Started")).labels == {}
    assert stage.server.messages(KEY)[-1].text.endswith("\n\nBuild Started")
