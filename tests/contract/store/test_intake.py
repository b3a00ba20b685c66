"""Store contract: events, sync cursors, changes and review comments."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.review.change import (
    Change,
    ChangeStatus,
    CommentSource,
    PatchSetKind,
    Person,
    PostedMessage,
    Review,
)
from service.domain.review.comment_commands import CancelCommand, RecheckCommand
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeKey
from service.ports.review.changes import PageRequest, SyncCursor
from tests.support.store_samples import NOON, change, check_run, start

if TYPE_CHECKING:
    from service.domain.review.form_commands import FormCommand
    from service.ports.runs.upkeep import Upkeep
    from service.ports.store import Store

CANCEL = CancelCommand()
BOB = Person("Bob", "bob@example.com", "bob", "1000003")


class TestEvents:
    def test_an_event_hints_at_its_change(self, store: Store) -> None:
        with store.transaction() as tx:
            assert tx.events.change_of(tx.events.add("review", b"a", "x", 7, b"{}")) == ChangeKey("review", 7)

    def test_an_event_about_a_change_that_is_not_stored_names_its_project(self, store: Store) -> None:
        with store.transaction() as tx:
            key = tx.events.change_of(tx.events.add("review", b"a", "x", 7, b"{}", "kv_engine"))
        assert key is not None
        assert key.project == "kv_engine"

    @pytest.mark.parametrize("number", [None, 0, -1, 2**31, 10**30])
    def test_an_event_without_a_possible_change_hints_at_none(self, store: Store, number: int | None) -> None:
        with store.transaction() as tx:
            assert tx.events.change_of(tx.events.add("review", b"a", "x", number, b"\x00\xff")) is None

    @pytest.mark.parametrize("event", [0, 2])
    def test_an_unknown_event_is_not_found(self, store: Store, event: int) -> None:
        with store.transaction() as tx:
            tx.events.add("review", b"a", "x", 7, b"{}")
        with store.transaction() as tx, pytest.raises(NotFound):
            tx.events.change_of(event)

    def test_a_duplicate_has_the_same_id_and_is_unhandled_again(self, store: Store, upkeep: Upkeep) -> None:
        with store.transaction() as tx:
            event = tx.events.add("review", b"a", "x", 7, b"{}")
            other = tx.events.add("other", b"a", "x", 7, b"{}")
            tx.events.mark_handled(event)
            tx.events.mark_handled(other)
        assert upkeep.stalled(-1.0) == []
        with store.transaction() as tx:
            assert tx.events.add("review", b"a", "x", 7, b"{}") == event != other
        assert upkeep.stalled(-1.0) == [("handle_event", event)]


class TestSyncCursors:
    def test_a_server_has_none_before_the_first_contact(self, store: Store) -> None:
        with store.transaction() as tx:
            tx.events.move_cursor("other", NOON)
            assert tx.events.cursor("review") is None

    def test_a_cursor_never_moves_back_and_keeps_its_first_contact(self, store: Store) -> None:
        with store.transaction() as tx:
            for minutes in (0, 5, 2):
                tx.events.move_cursor("review", NOON + timedelta(minutes=minutes))
            assert tx.events.cursor("review") == SyncCursor(NOON, NOON + timedelta(minutes=5))


class TestChanges:
    def test_a_newer_state_replaces_the_older(self, store: Store) -> None:
        with store.transaction() as tx:
            old, new = (
                tx.changes.upsert(change(1)),
                tx.changes.upsert(change(1, patch_set=2, minutes=1)),
            )
        assert (old.is_current, new.is_current) == (True, True)
        assert old.change_id == new.change_id
        assert old.patch_set_id != new.patch_set_id

    def test_patch_sets_with_the_same_code_are_found_up_to_a_gap(self, store: Store) -> None:
        def pushed(number: int, kind: str) -> Change:
            its = change(patch_set=number, minutes=number)
            return replace(its, current=replace(its.current, kind=PatchSetKind(kind)))

        kinds = ("REWORK", "REWORK", "NO_CODE_CHANGE", "NO_CHANGE", "TRIVIAL_REBASE", "", "NO_CODE_CHANGE")
        with store.transaction() as tx:
            for number, kind in enumerate(kinds, 1):
                if kind:
                    tx.changes.upsert(pushed(number, kind))
            key = change().key
            found = {
                number: list(tx.changes.same_code(key, f"{number:040x}")) for number in (1, 2, 4, 5, 6, 7)
            }
            assert found == {1: [1], 2: [2], 4: [4, 3, 2], 5: [5], 6: [], 7: [7]}
            assert list(tx.changes.same_code(ChangeKey("review", 8), f"{1:040x}")) == []

    def test_storing_the_same_state_again_changes_nothing(self, store: Store) -> None:
        with store.transaction() as tx:
            assert tx.changes.upsert(change()) == tx.changes.upsert(change())

    @pytest.mark.parametrize(("patch_set", "minutes"), [(1, 1), (1, 2), (3, 1)])
    def test_an_older_state_overwrites_nothing(self, store: Store, patch_set: int, minutes: int) -> None:
        """Older is the earlier update, or the lower patch set of the same moment."""
        with store.transaction() as tx:
            new = tx.changes.upsert(change(patch_set=2, minutes=2))
            merged = replace(change(patch_set=patch_set, minutes=minutes), status=ChangeStatus.MERGED)
            assert tx.changes.upsert(merged) == replace(new, is_current=False)
            assert tx.changes.open_changes("review") == [ChangeKey("review", 7)]

    def test_the_newest_patch_set_decides_also_after_an_older_one_was_updated_later(
        self, store: Store
    ) -> None:
        with store.transaction() as tx:
            second = tx.changes.upsert(change(patch_set=2))
            assert tx.changes.upsert(change(patch_set=1, minutes=1)).is_current
            assert tx.changes.upsert(change(patch_set=1, minutes=1)) == replace(second, is_current=False)

    def test_a_change_is_found_by_any_of_its_patch_sets(self, store: Store) -> None:
        with store.transaction() as tx:
            for number in (1, 2):
                tx.changes.upsert(change(patch_set=number, minutes=number))
            branch = ("kv_engine", "master")
            for number in (1, 2):
                found = tx.changes.with_patch_set("review", branch, f"{number:040x}")
                assert (found, found and found.project) == (ChangeKey("review", 7), "kv_engine")

    @pytest.mark.parametrize(
        ("instance", "branch", "number"),
        [
            ("other", ("kv_engine", "master"), 1),
            ("review", ("kv_engine", "7.6.x"), 1),
            ("review", ("another", "master"), 1),
            ("review", ("kv_engine", "master"), 2),
        ],
    )
    def test_no_change_has_the_patch_set_of_another_one(
        self, store: Store, instance: str, branch: tuple[str, str], number: int
    ) -> None:
        with store.transaction() as tx:
            tx.changes.upsert(change())
            assert tx.changes.with_patch_set(instance, branch, f"{number:040x}") is None

    def test_open_changes_come_by_number(self, store: Store) -> None:
        with store.transaction() as tx:
            assert tx.changes.open_changes("review") == []
            for number in (8, 7, 9, 10):
                tx.changes.upsert(change(number))
            tx.changes.upsert(replace(change(), key=ChangeKey("other", 5)))
            tx.changes.upsert(replace(change(9, minutes=1), status=ChangeStatus.MERGED))
            tx.changes.upsert(replace(change(10, minutes=1), status=ChangeStatus.ABANDONED))
            assert tx.changes.open_changes("review") == [ChangeKey("review", 7), ChangeKey("review", 8)]


def test_all_that_is_read_about_a_change_names_its_project(store: Store, upkeep: Upkeep) -> None:
    with store.transaction() as tx:
        record = tx.changes.upsert(change())
        run = tx.runs.lock(start(tx, check_run(record.patch_set_id)))
        (comment,) = tx.comments.record(record, [posted("recheck")])
        event = tx.events.change_of(tx.events.add("review", b"a", "x", 7, b"{}", "claimed"))
        keys = [event, run.change, tx.comments.lock(comment).change, *tx.changes.open_changes("review")]
        tx.outbox.queue_review("first", Review(change().key, "1" * 40, "text"))
        tx.outbox.queue_review(
            "second", Review(replace(change(8).key, project="kv_engine"), "1" * 40, "text")
        )
    keys += [due.review.change for due in upkeep.due_reviews()]
    projects = [key.project for key in keys if key is not None]
    assert projects == [*["kv_engine"] * 4, "", "kv_engine"]


def posted(text: str, *, message_id: str = "m1", minutes: int = 0) -> PostedMessage:
    return PostedMessage(message_id, 1, BOB, NOON + timedelta(minutes=minutes), text)


def requested(patch_set_id: int, *, command: FormCommand = CANCEL, ticket: bytes = b"1") -> PageRequest:
    return PageRequest(
        patch_set_id=patch_set_id,
        account="1000003",
        person="Bob",
        signed_in_as="s-1",
        command=command,
        ticket=ticket,
    )


class TestReviewComments:
    def test_a_message_is_stored_once_whatever_its_id_becomes(self, store: Store) -> None:
        with store.transaction() as tx:
            record = tx.changes.upsert(change())
            assert tx.comments.record(record, [posted("recheck"), posted("cancel", minutes=1)]) == [
                1,
                2,
            ]
            assert tx.comments.record(record, [posted("recheck", message_id="rewritten")]) == []
            assert len(tx.comments.record(record, [posted("recheck", minutes=2)])) == 1

    def test_a_message_belongs_to_the_current_patch_set(self, store: Store) -> None:
        current = change(patch_set=2)
        with store.transaction() as tx:
            record = tx.changes.upsert(current)
            (number,) = tx.comments.record(record, [posted("recheck")])
            comment = tx.comments.lock(number)
        assert (comment.change_id, comment.patch_set_id) == (record.change_id, record.patch_set_id)
        assert (comment.change, comment.patch_set) == (current.key, 2)
        assert (comment.revision, comment.account) == (current.current.revision, "1000003")
        assert (comment.person, comment.text, comment.is_pending) == ("Bob", "recheck", True)

    def test_a_pages_request_belongs_to_the_patch_set_shown(self, store: Store) -> None:
        with store.transaction() as tx:
            (older,) = tx.comments.record(shown := tx.changes.upsert(change()), [posted("recheck")])
            tx.changes.upsert(change(patch_set=2, minutes=1))
            number = tx.comments.add_request(requested(shown.patch_set_id))
            assert number is not None
            comment = tx.comments.lock(number)
            assert tx.comments.lock(older).source is CommentSource.COMMENT
            assert tx.comments.lock(older).signed_in_as == ""
            assert [each.id for each in tx.comments.pending_until(number)] == [older, number]
        assert (comment.source, comment.patch_set, comment.is_pending) == (CommentSource.PAGE, 1, True)
        assert (comment.account, comment.person, comment.command) == ("1000003", "Bob", CancelCommand())
        assert comment.signed_in_as == "s-1"
        assert (comment.change_id, comment.patch_set_id) == (shown.change_id, shown.patch_set_id)

    def test_a_ticket_is_valid_once_whatever_it_asks_for(self, store: Store) -> None:
        with store.transaction() as tx:
            shown = tx.changes.upsert(change())
            other = tx.changes.upsert(change(8))
            first = tx.comments.add_request(requested(shown.patch_set_id))
            again = tx.comments.add_request(requested(shown.patch_set_id))
            elsewhere = tx.comments.add_request(requested(other.patch_set_id, command=RecheckCommand()))
            second = tx.comments.add_request(requested(shown.patch_set_id, ticket=b"2"))
            assert (again, elsewhere) == (None, None)
            assert first is not None
            assert second is not None
            tx.comments.answer(first, "")
            assert tx.comments.add_request(requested(shown.patch_set_id)) is None
            assert [each.id for each in tx.comments.pending_until(second)] == [second]

    def test_the_sweep_finds_an_unanswered_request_of_a_page(self, store: Store, upkeep: Upkeep) -> None:
        with store.transaction() as tx:
            number = tx.comments.add_request(requested(tx.changes.upsert(change()).patch_set_id))
        assert upkeep.stalled(-1.0) == [("run_comment_commands", number)]

    @pytest.mark.parametrize("number", [0, 1])
    def test_an_unknown_message_is_not_found(self, store: Store, number: int) -> None:
        with store.transaction() as tx, pytest.raises(NotFound):
            tx.comments.lock(number)

    def test_earlier_messages_of_the_change_wait_in_their_order_until_they_are_answered(
        self, store: Store
    ) -> None:
        with store.transaction() as tx:
            first, second, third = tx.comments.record(
                tx.changes.upsert(change()), [posted(text) for text in ("one", "two", "three")]
            )
            (other,) = tx.comments.record(tx.changes.upsert(change(8)), [posted("recheck")])
            assert [each.id for each in tx.comments.pending_until(second)] == [first, second]
            tx.comments.answer(first, "done so")
            assert not tx.comments.lock(first).is_pending
            assert [each.id for each in tx.comments.pending_until(third)] == [second, third]
            assert [each.id for each in tx.comments.pending_until(other)] == [other]
            assert tx.comments.pending_until(99) == []

    def test_an_answered_message_is_not_stored_again(self, store: Store) -> None:
        with store.transaction() as tx:
            record = tx.changes.upsert(change())
            (number,) = tx.comments.record(record, [posted("recheck")])
            tx.comments.answer(number, "")
            tx.comments.answer(number, "again")
            assert tx.comments.record(record, [posted("recheck")]) == []
            assert not tx.comments.lock(number).is_pending
