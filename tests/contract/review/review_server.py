"""The contract of every review server; an adapter's tests inherit it and prepare the server's state."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import pytest

from service.domain.review.change import ChangeStatus, InlineComment, Review
from service.domain.values.errors import NotFound, Permanent
from service.domain.values.identity import ChangeKey

if TYPE_CHECKING:
    from service.ports.review.server import ReviewServer

FIRST, SECOND, UNKNOWN = "1" * 40, "2" * 40, "f" * 40
PARENT = "a" * 40


class ReviewSite(Protocol):
    """A review server whose changes a test can create."""

    @property
    def server(self) -> ReviewServer: ...

    def upload(self, number: int, patch_set: int, revision: str) -> None:
        """Upload a patch set with parent ``PARENT`` on branch master of kv_engine."""

    def abandon(self, number: int) -> None: ...

    def merge(self, number: int, merged_as: str) -> None: ...

    def delete(self, number: int) -> None: ...


class PermissionsContract:
    """The tests of the rights that accounts have; a subclass defines the fixture ``stage``."""

    def test_every_reader_sees_the_changes_that_nothing_hides(self, stage: ReviewSite) -> None:
        for number in (7, 8):
            stage.upload(number, 1, str(number) * 40)
        assert stage.server.visible(None, {7, 8, 9}) == {7, 8}
        assert stage.server.visible(None, {8}) == {8}
        assert stage.server.visible(None, ()) == frozenset()

    def test_a_deleted_change_is_visible_to_nobody(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        stage.delete(7)
        assert stage.server.visible(None, {7}) == frozenset()

    def test_every_reader_can_read_a_branch_that_nothing_closes(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        assert stage.server.can_read(None, "kv_engine", "master")

    @pytest.mark.parametrize("email", ["", "nobody@example.com", '"', "a@b\\"])
    def test_nobody_has_an_unknown_address(self, stage: ReviewSite, email: str) -> None:
        assert stage.server.account_of(email) is None


class ReviewServerContract(PermissionsContract):
    """The tests of the contract; a subclass defines the fixture ``stage``."""

    def key(self, stage: ReviewSite, number: int = 7) -> ChangeKey:
        return ChangeKey(stage.server.instance, number)

    def test_a_change_shows_its_current_patch_set(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        stage.upload(7, 2, SECOND)
        change = stage.server.change(self.key(stage))
        assert (change.project, change.branch, change.status) == ("kv_engine", "master", ChangeStatus.NEW)
        assert (change.current.number, change.current.revision) == (2, SECOND)
        assert change.current.parents == (PARENT,)
        assert change.current.ref == "refs/changes/07/7/2"

    def test_updated_has_a_time_zone(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        assert stage.server.change(self.key(stage)).updated.tzinfo is not None

    def test_an_unknown_change_is_not_found(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        with pytest.raises(NotFound):
            stage.server.change(self.key(stage, 8))
        with pytest.raises(NotFound):
            stage.server.messages(self.key(stage, 8))
        with pytest.raises(NotFound):
            stage.server.post(Review(self.key(stage, 8), FIRST, "text"))

    def test_a_change_of_another_server_is_not_found(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        with pytest.raises(NotFound):
            stage.server.change(ChangeKey("another", 7))

    def test_a_deleted_change_is_not_found(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        stage.delete(7)
        with pytest.raises(NotFound):
            stage.server.change(self.key(stage))

    def test_a_merged_change_names_its_commit_on_the_branch(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        stage.merge(7, SECOND)
        change = stage.server.change(self.key(stage))
        assert (change.status, change.merged_as, change.is_open) == (ChangeStatus.MERGED, SECOND, False)

    def test_without_a_time_all_open_changes_are_listed(self, stage: ReviewSite) -> None:
        for number in (7, 8, 9):
            stage.upload(number, 1, str(number) * 40)
        stage.abandon(8)
        assert {change.key.number for change in stage.server.changes_since(None)} == {7, 9}

    def test_changes_since_their_own_update_include_them(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        updated = stage.server.change(self.key(stage)).updated
        assert [change.key.number for change in stage.server.changes_since(updated)] == [7]
        assert not list(stage.server.changes_since(updated + timedelta(hours=1)))

    def test_with_a_time_closed_changes_are_listed(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        updated = stage.server.change(self.key(stage)).updated
        stage.abandon(7)
        assert [change.status for change in stage.server.changes_since(updated)] == [ChangeStatus.ABANDONED]

    def test_a_posted_message_is_found_with_its_patch_set(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        stage.server.post(Review(self.key(stage), FIRST, "Build Successful\n\nlink", {"Verified": 1}))
        message = stage.server.messages(self.key(stage))[-1]
        assert message.patch_set == 1
        assert message.text.startswith("Patch Set 1:")
        assert message.text.endswith("\n\nBuild Successful\n\nlink")

    def test_messages_are_listed_oldest_first(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        for text in ("first", "second", "third"):
            stage.server.post(Review(self.key(stage), FIRST, text))
        found = [message.text.rpartition("\n")[2] for message in stage.server.messages(self.key(stage))]
        assert found[-3:] == ["first", "second", "third"]

    def test_a_repeated_message_is_added_again(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        before = len(stage.server.messages(self.key(stage)))
        for _ in range(2):
            stage.server.post(Review(self.key(stage), FIRST, "same", {"Verified": -1}))
        assert len(stage.server.messages(self.key(stage))) == before + 2

    def test_the_result_has_the_labels_that_were_set(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        answer = stage.server.post(Review(self.key(stage), FIRST, "text", {"Verified": -1})).labels
        assert answer == {"Verified": -1}

    @pytest.mark.parametrize("labels", [{"Verified": 7}, {"No-Such-Label": 1}])
    def test_the_result_lacks_an_invalid_vote(self, stage: ReviewSite, labels: dict[str, int]) -> None:
        stage.upload(7, 1, FIRST)
        assert stage.server.post(Review(self.key(stage), FIRST, "text", labels)).labels == {}

    def test_a_comment_on_a_missing_file_costs_no_vote(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        remarks = (InlineComment("no/such/file.cc", 3, "perf: error: no"),)
        answer = stage.server.post(Review(self.key(stage), FIRST, "text", {"Verified": -1}, remarks)).labels
        assert answer == {"Verified": -1}
        assert stage.server.messages(self.key(stage))[-1].text.endswith("\n\ntext")

    def test_an_outdated_patch_set_accepts_a_vote(self, stage: ReviewSite) -> None:
        """The caller must therefore check the patch set before it votes."""
        stage.upload(7, 1, FIRST)
        stage.upload(7, 2, SECOND)
        assert stage.server.post(Review(self.key(stage), FIRST, "late", {"Verified": 1})).labels == {
            "Verified": 1
        }

    def test_an_unknown_revision_is_not_found(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        with pytest.raises(NotFound):
            stage.server.post(Review(self.key(stage), UNKNOWN, "text"))

    def test_an_abandoned_change_accepts_a_message_but_no_vote(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        stage.abandon(7)
        assert stage.server.post(Review(self.key(stage), FIRST, "text")).labels == {}
        with pytest.raises(Permanent):
            stage.server.post(Review(self.key(stage), FIRST, "refused", {"Verified": 1}))
        assert "refused" not in stage.server.messages(self.key(stage))[-1].text

    def test_a_merged_change_accepts_no_lower_vote(self, stage: ReviewSite) -> None:
        stage.upload(7, 1, FIRST)
        stage.merge(7, FIRST)
        with pytest.raises(Permanent):
            stage.server.post(Review(self.key(stage), FIRST, "late", {"Verified": -1}))
