"""Hold the fake, the console and Gerrit's adapter, on a model of Gerrit, to one contract."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from service.adapters.review.console.review import ConsoleReview
from service.adapters.review.gerrit.review import GerritReview
from service.adapters.system.json_client import Password
from service.domain.review.change import Change, ChangeStatus, InlineComment, PatchSet, Review
from service.domain.values.errors import NotFound, Permanent
from service.domain.values.identity import ChangeKey
from tests.support.fakes import FakeReviewServer
from tests.support.review.gerrit_model import SECRET, URL, GerritModel

if TYPE_CHECKING:
    from pathlib import Path

    from service.ports.review.server import ReviewServer

START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
FIRST, SECOND, UNKNOWN = "1" * 40, "2" * 40, "f" * 40
PARENT = "a" * 40
KEY = ChangeKey("gerrit", 7)


class Stage(Protocol):
    """A review server for tests that create changes."""

    @property
    def server(self) -> ReviewServer: ...

    def upload(self, number: int, patch_set: int, revision: str) -> None:
        """Upload a patch set with parent ``PARENT`` on branch master of kv_engine."""

    def abandon(self, number: int) -> None: ...

    def merge(self, number: int, merged_as: str) -> None: ...

    def delete(self, number: int) -> None: ...

    def vote(self, value: int) -> None:
        """Set Code-Review on change 7's current patch set, as Bob."""


class FakeStage:
    def __init__(self) -> None:
        self.server = FakeReviewServer()

    def upload(self, number: int, patch_set: int, revision: str) -> None:
        ref = f"refs/changes/{number % 100:02}/{number}/{patch_set}"
        self.server.put(
            Change(
                key=ChangeKey("gerrit", number),
                project="kv_engine",
                branch="master",
                change_id=f"I{number:040}",
                subject="Speed up the hash table",
                status=ChangeStatus.NEW,
                updated=START,
                current=PatchSet(patch_set, revision, ref, (PARENT,)),
            )
        )

    def abandon(self, number: int) -> None:
        self._alter(number, status=ChangeStatus.ABANDONED)

    def merge(self, number: int, merged_as: str) -> None:
        self._alter(number, status=ChangeStatus.MERGED, merged_as=merged_as)

    def delete(self, number: int) -> None:
        del self.server.changes[ChangeKey("gerrit", number)]

    def _alter(self, number: int, **changed: Any) -> None:  # noqa: ANN401 - any field of a change
        change = self.server.change(ChangeKey("gerrit", number))
        self.server.put(replace(change, updated=change.updated + timedelta(seconds=1), **changed))

    def vote(self, value: int) -> None:
        self.server.votes[KEY] = {"Code-Review": {"bob": value}}

    def comment(self, *texts: str) -> None:
        """Comment on lines of files of change 7's current patch set, as Bob."""
        self.server.comment(KEY, "bob", *texts, patch_set=self.server.changes[KEY].current.number)


class ConsoleStage:
    def __init__(self, state: Path) -> None:
        self.server = ConsoleReview(state, "gerrit")
        self._patch_sets: dict[int, dict[str, Any]] = {}
        self._seconds = START.timestamp()

    def upload(self, number: int, patch_set: int, revision: str) -> None:
        self._patch_sets[number] = {"number": patch_set, "revision": revision, "parents": [PARENT]}
        self._tell("patchset-created", number, status="NEW")

    def abandon(self, number: int) -> None:
        self._tell("change-abandoned", number, status="ABANDONED")

    def merge(self, number: int, merged_as: str) -> None:
        self._tell("change-merged", number, status="MERGED", newRev=merged_as)

    def delete(self, number: int) -> None:
        self._tell("change-deleted", number, status="NEW")

    def _tell(self, kind: str, number: int, *, status: str = "NEW", **more: object) -> None:
        self._seconds += 1
        change = {"project": "kv_engine", "branch": "master", "number": number, "status": status}
        patch_set = self._patch_sets[number]
        event = {"type": kind, "change": change, "patchSet": patch_set, "eventCreatedOn": self._seconds}
        self.server.apply_event(json.dumps(event | more))

    def vote(self, value: int) -> None:
        more: dict[str, Any] = {
            "author": {"username": "bob"},
            "approvals": [{"type": "Code-Review", "value": str(value)}],
            "comment": f"Patch Set {self._patch_sets[7]['number']}: Code-Review{value:+}",
        }
        self._tell("comment-added", 7, **more)


class GerritStage:
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

    def comment(self, *texts: str) -> None:
        """Comment on lines of files of change 7's current patch set, as Bob."""
        self.model.comment(7, "bob", {"hash_table.cc": list(texts)})


@pytest.fixture(params=["fake", "console", "gerrit"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    if request.param == "console":
        return ConsoleStage(tmp_path / "review.sqlite3")
    return FakeStage() if request.param == "fake" else GerritStage()


@pytest.fixture(params=[FakeStage, GerritStage])
def with_files(request: pytest.FixtureRequest) -> FakeStage | GerritStage:
    """Make a stage that shows files; the events that the console reads lack comments on them."""
    stage = request.param()
    assert isinstance(stage, FakeStage | GerritStage)
    return stage


def code_review(change: Change) -> list[int]:
    return list(change.votes.get("Code-Review", {}).values())


class TestPermissions:
    def test_every_reader_sees_the_changes_that_nothing_hides(self, stage: Stage) -> None:
        for number in (7, 8):
            stage.upload(number, 1, str(number) * 40)
        assert stage.server.visible(None, {7, 8, 9}) == {7, 8}
        assert stage.server.visible(None, {8}) == {8}
        assert stage.server.visible(None, ()) == frozenset()

    def test_a_deleted_change_is_visible_to_nobody(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.delete(7)
        assert stage.server.visible(None, {7}) == frozenset()

    def test_every_reader_can_read_a_branch_that_nothing_closes(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        assert stage.server.can_read(None, "kv_engine", "master")

    @pytest.mark.parametrize("email", ["", "nobody@example.com", '"', "a@b\\"])
    def test_nobody_has_an_unknown_address(self, stage: Stage, email: str) -> None:
        assert stage.server.account_of(email) is None


class TestCurrentChanges:
    def test_a_change_shows_its_current_patch_set(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.upload(7, 2, SECOND)
        change = stage.server.change(KEY)
        assert (change.project, change.branch, change.status) == ("kv_engine", "master", ChangeStatus.NEW)
        assert (change.current.number, change.current.revision) == (2, SECOND)
        assert change.current.parents == (PARENT,)
        assert change.current.ref == "refs/changes/07/7/2"

    def test_updated_has_a_time_zone(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        assert stage.server.change(KEY).updated.tzinfo is not None

    def test_an_unknown_change_is_not_found(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        with pytest.raises(NotFound):
            stage.server.change(ChangeKey("gerrit", 8))
        with pytest.raises(NotFound):
            stage.server.messages(ChangeKey("gerrit", 8))
        with pytest.raises(NotFound):
            stage.server.post(Review(ChangeKey("gerrit", 8), FIRST, "text"))

    def test_a_change_of_another_server_is_not_found(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        with pytest.raises(NotFound):
            stage.server.change(ChangeKey("another", 7))

    def test_a_deleted_change_is_not_found(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.delete(7)
        with pytest.raises(NotFound):
            stage.server.change(KEY)

    def test_a_merged_change_names_its_commit_on_the_branch(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.merge(7, SECOND)
        change = stage.server.change(KEY)
        assert (change.status, change.merged_as, change.is_open) == (ChangeStatus.MERGED, SECOND, False)

    @pytest.mark.parametrize("status", ChangeStatus)
    def test_the_change_of_a_parent_has_a_status(self, stage: Stage, status: ChangeStatus) -> None:
        stage.upload(8, 1, PARENT)
        stage.upload(7, 1, FIRST)
        if status is ChangeStatus.MERGED:
            stage.merge(8, SECOND)
        elif status is ChangeStatus.ABANDONED:
            stage.abandon(8)
        assert stage.server.status_of("kv_engine", "master", PARENT) is status
        assert stage.server.status_of("kv_engine", "master", UNKNOWN) is None

    def test_an_outdated_parent_has_the_status_of_its_change(self, stage: Stage) -> None:
        stage.upload(8, 1, PARENT)
        stage.upload(7, 1, FIRST)
        stage.upload(8, 2, SECOND)
        assert stage.server.status_of("kv_engine", "master", PARENT) is ChangeStatus.NEW

    @pytest.mark.parametrize(("project", "branch"), [("kv_engine", "7.6.x"), ("another", "master")])
    def test_a_change_of_another_branch_is_not_the_parents(
        self, stage: Stage, project: str, branch: str
    ) -> None:
        stage.upload(8, 1, PARENT)
        stage.merge(8, PARENT)
        assert stage.server.status_of(project, branch, PARENT) is None

    def test_without_a_time_all_open_changes_are_listed(self, stage: Stage) -> None:
        for number in (7, 8, 9):
            stage.upload(number, 1, str(number) * 40)
        stage.abandon(8)
        assert {change.key.number for change in stage.server.changes_since(None)} == {7, 9}

    def test_changes_since_their_own_update_include_them(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        updated = stage.server.change(KEY).updated
        assert [change.key.number for change in stage.server.changes_since(updated)] == [7]
        assert not list(stage.server.changes_since(updated + timedelta(hours=1)))

    def test_with_a_time_closed_changes_are_listed(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        updated = stage.server.change(KEY).updated
        stage.abandon(7)
        assert [change.status for change in stage.server.changes_since(updated)] == [ChangeStatus.ABANDONED]


class TestReviewServer:
    def test_a_posted_message_is_found_with_its_patch_set(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.server.post(Review(KEY, FIRST, "Build Successful\n\nlink", {"Verified": 1}))
        message = stage.server.messages(KEY)[-1]
        assert message.patch_set == 1
        assert message.votes == {"Verified": 1}
        assert message.shown.startswith("Patch Set 1:")
        assert message.shown.endswith("\n\nBuild Successful\n\nlink")
        assert message.text == "Build Successful\n\nlink"

    def test_messages_are_listed_oldest_first(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        for text in ("first", "second", "third"):
            stage.server.post(Review(KEY, FIRST, text))
        found = [message.text.rpartition("\n")[2] for message in stage.server.messages(KEY)]
        assert found[-3:] == ["first", "second", "third"]

    def test_a_repeated_message_is_added_again(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        before = len(stage.server.messages(KEY))
        for _ in range(2):
            stage.server.post(Review(KEY, FIRST, "same", {"Verified": -1}))
        assert len(stage.server.messages(KEY)) == before + 2

    def test_the_result_has_the_labels_set(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        answer = stage.server.post(Review(KEY, FIRST, "text", {"Verified": -1})).labels
        assert answer == {"Verified": -1}

    @pytest.mark.parametrize("labels", [{"Verified": 7}, {"No-Such-Label": 1}])
    def test_the_result_lacks_an_invalid_vote(self, stage: Stage, labels: dict[str, int]) -> None:
        stage.upload(7, 1, FIRST)
        assert stage.server.post(Review(KEY, FIRST, "text", labels)).labels == {}

    def test_a_comment_on_a_missing_file_costs_no_vote(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        remarks = (InlineComment("no/such/file.cc", 3, "perf: error: no"),)
        answer = stage.server.post(Review(KEY, FIRST, "text", {"Verified": -1}, remarks)).labels
        assert answer == {"Verified": -1}
        assert stage.server.messages(KEY)[-1].text == "text"

    def test_an_outdated_patch_set_accepts_a_vote(self, stage: Stage) -> None:
        """The caller must therefore check the patch set before it votes."""
        stage.upload(7, 1, FIRST)
        stage.upload(7, 2, SECOND)
        assert stage.server.post(Review(KEY, FIRST, "late", {"Verified": 1})).labels == {"Verified": 1}

    def test_an_unknown_revision_is_not_found(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        with pytest.raises(NotFound):
            stage.server.post(Review(KEY, UNKNOWN, "text"))

    def test_an_abandoned_change_accepts_a_message_but_no_vote(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.abandon(7)
        assert stage.server.post(Review(KEY, FIRST, "text")).labels == {}
        with pytest.raises(Permanent):
            stage.server.post(Review(KEY, FIRST, "refused", {"Verified": 1}))
        assert "refused" not in stage.server.messages(KEY)[-1].text

    def test_a_merged_change_accepts_no_lower_vote(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.merge(7, FIRST)
        with pytest.raises(Permanent):
            stage.server.post(Review(KEY, FIRST, "late", {"Verified": -1}))

    def test_a_change_is_read_back_with_its_votes(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.vote(-2)
        assert code_review(stage.server.change(KEY)) == [-2]
        assert [code_review(change) for change in stage.server.changes_since(None)] == [[-2]]

    def test_a_vote_of_zero_is_no_vote(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.vote(1)
        stage.vote(0)
        assert code_review(stage.server.change(KEY)) == []

    def test_a_new_patch_set_has_no_votes_yet(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.vote(1)
        stage.upload(7, 2, SECOND)
        assert code_review(stage.server.change(KEY)) == []

    def test_posted_messages_have_the_services_account(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.server.post(Review(KEY, FIRST, "Build Successful", {"Verified": 1}))
        message = stage.server.messages(KEY)[-1]
        assert message.author.account == stage.server.account
        assert stage.server.account

    def test_each_message_has_its_own_id(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        for _ in range(3):
            stage.server.post(Review(KEY, FIRST, "same"))
        messages = stage.server.messages(KEY)
        assert len({message.id for message in messages}) == len(messages) >= 3

    def test_messages_have_times_with_a_zone_in_order(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        for text in ("first", "second"):
            stage.server.post(Review(KEY, FIRST, text))
        written = [message.written for message in stage.server.messages(KEY)]
        assert all(moment.tzinfo for moment in written)
        assert written == sorted(written)

    def test_the_servers_clock_is_not_behind_its_messages(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        assert stage.server.change(KEY).updated < stage.server.now() + timedelta(seconds=1)

    def test_a_message_on_an_outdated_patch_set_names_that_patch_set(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.upload(7, 2, SECOND)
        stage.server.post(Review(KEY, FIRST, "late"))
        assert stage.server.messages(KEY)[-1].patch_set == 1

    def test_a_merged_change_accepts_a_message_without_a_vote(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        stage.merge(7, FIRST)
        assert stage.server.post(Review(KEY, FIRST, "Build Started")).labels == {}
        assert stage.server.messages(KEY)[-1].text == "Build Started"

    def test_own_inline_comments_are_no_messages(self, stage: Stage) -> None:
        stage.upload(7, 1, FIRST)
        before = len(stage.server.messages(KEY))
        stage.server.post(Review(KEY, FIRST, "text", {}, (InlineComment("hash_table.cc", 3, "recheck"),)))
        assert [message.text for message in stage.server.messages(KEY)[before:]] == ["text"]


class TestInlineComments:
    def test_each_is_a_message_of_its_own(self, with_files: FakeStage | GerritStage) -> None:
        with_files.upload(7, 1, FIRST)
        with_files.upload(7, 2, SECOND)
        before = len(with_files.server.messages(KEY))
        with_files.comment("why int?", "recheck")
        review, *inline = with_files.server.messages(KEY)[before:]
        assert (review.text, review.is_inline) == ("", False)
        assert [(each.text, each.shown, each.is_inline) for each in inline] == [
            ("why int?", "why int?", True),
            ("recheck", "recheck", True),
        ]
        for each in inline:
            assert (each.author, each.written, each.patch_set) == (review.author, review.written, 2)
            assert (each.votes, each.removed, each.is_by_machine) == (None, (), False)

    def test_each_has_its_own_id(self, with_files: FakeStage | GerritStage) -> None:
        with_files.upload(7, 1, FIRST)
        for _ in range(2):
            with_files.comment("recheck", "recheck")
        messages = with_files.server.messages(KEY)
        assert len({message.id for message in messages}) == len(messages)

    def test_they_stay_the_same_when_others_follow(self, with_files: FakeStage | GerritStage) -> None:
        with_files.upload(7, 1, FIRST)
        with_files.comment("recheck")
        first = with_files.server.messages(KEY)
        with_files.comment("done")
        assert with_files.server.messages(KEY)[: len(first)] == first
