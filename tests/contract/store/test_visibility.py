"""Store contract: public changes and branches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.values.identity import ChangeKey
from tests.support.store_samples import change

if TYPE_CHECKING:
    from service.ports.store import Store, Transaction

REVIEW = "review"
PLACE = (REVIEW, "kv_engine", "master")


def is_public(tx: Transaction, number: int = 7) -> bool:
    """Storing the same state again shows what is stored."""
    return tx.changes.upsert(change(number)).is_public


class TestVisibility:
    def test_nothing_is_public_until_the_server_says_so(self, store: Store) -> None:
        with store.transaction() as tx:
            for number in (7, 8):
                tx.changes.upsert(change(number))
            assert (is_public(tx, 7), is_public(tx, 8)) == (False, False)
            tx.visibility.record_visible(REVIEW, [7, 8, 9], [8, 9])
            assert (is_public(tx, 7), is_public(tx, 8)) == (False, True)
            tx.visibility.record_visible(REVIEW, [8], [])
            assert not is_public(tx, 8)

    def test_an_answer_is_about_its_server_and_what_was_asked(self, store: Store) -> None:
        with store.transaction() as tx:
            for number in (7, 8):
                tx.changes.upsert(change(number))
            tx.visibility.record_visible("other", [7], [7])
            tx.visibility.record_visible(REVIEW, [7], [7, 8])
            assert (is_public(tx, 7), is_public(tx, 8)) == (True, False)

    @pytest.mark.parametrize("other", [{"is_private": True}, {"branch": "stable"}, {"project": "closed"}])
    def test_a_change_that_moves_out_of_sight_is_not_public(
        self, store: Store, other: dict[str, Any]
    ) -> None:
        with store.transaction() as tx:
            tx.changes.upsert(change())
            tx.visibility.record_visible(REVIEW, [7], [7])
            assert not tx.changes.upsert(replace(change(minutes=1), **other)).is_public
            assert not tx.changes.upsert(change(minutes=2)).is_public, "the server is asked again"

    def test_a_new_patch_set_leaves_a_change_public(self, store: Store) -> None:
        with store.transaction() as tx:
            tx.changes.upsert(change())
            tx.visibility.record_visible(REVIEW, [7], [7])
            assert tx.changes.upsert(change(patch_set=2, minutes=1)).is_public

    def test_a_change_that_the_server_hides_is_hidden_also_from_a_late_answer(self, store: Store) -> None:
        with store.transaction() as tx:
            record = tx.changes.upsert(change())
            tx.visibility.record_visible(REVIEW, [7], [7])
            tx.visibility.hide_change(record.change_id)
            tx.visibility.record_visible(REVIEW, [7], [7])
            assert tx.visibility.hidden_changes(REVIEW, -1, 9) == []
            assert not is_public(tx)
            tx.visibility.record_visible(REVIEW, [7], [7])
            assert is_public(tx), "the server showed it again"

    def test_a_late_answer_does_not_show_a_private_change(self, store: Store) -> None:
        with store.transaction() as tx:
            tx.changes.upsert(replace(change(), is_private=True))
            tx.visibility.record_visible(REVIEW, [7], [7])
            assert not is_public(tx)

    def test_branches_are_those_of_the_servers_changes(self, store: Store) -> None:
        with store.transaction() as tx:
            tx.changes.upsert(change(7))
            tx.changes.upsert(change(8))
            tx.changes.upsert(replace(change(9), branch="stable"))
            tx.changes.upsert(replace(change(), key=ChangeKey("other", 7), project="elsewhere"))
            assert tx.visibility.branches(REVIEW) == [("kv_engine", "master"), ("kv_engine", "stable")]

    def test_a_branch_that_closes_hides_its_changes(self, store: Store) -> None:
        with store.transaction() as tx:
            tx.changes.upsert(change(7))
            tx.changes.upsert(replace(change(8), branch="stable"))
            tx.visibility.record_visible(REVIEW, [7, 8], [7, 8])
            tx.visibility.record_branch(*PLACE, is_public=False)
            assert not is_public(tx, 7)
            assert tx.changes.upsert(replace(change(8), branch="stable")).is_public

    def test_the_hidden_changes_of_public_branches_come_by_number(self, store: Store) -> None:
        with store.transaction() as tx:
            for number in (9, 7, 8, 11):
                tx.changes.upsert(change(number))
            tx.changes.upsert(replace(change(10), branch="stable"))
            tx.changes.upsert(replace(change(12), is_private=True))
            assert tx.visibility.hidden_changes(REVIEW, -1, 9) == []
            tx.visibility.record_branch(*PLACE, is_public=True)
            assert tx.visibility.hidden_changes("other", -1, 9) == []
            assert tx.visibility.hidden_changes(REVIEW, -1, 2) == [7, 8]
            assert tx.visibility.hidden_changes(REVIEW, 8, 9) == [9, 11]
            tx.visibility.record_visible(REVIEW, [9], [9])
            assert tx.visibility.hidden_changes(REVIEW, 8, 9) == [11]

    def test_the_branch_of_a_public_change_is_public(self, store: Store) -> None:
        with store.transaction() as tx:
            tx.changes.upsert(change(7))
            tx.changes.upsert(change(8))
            tx.visibility.record_visible(REVIEW, [7], [])
            assert tx.visibility.hidden_changes(REVIEW, -1, 9) == []
            tx.visibility.record_visible(REVIEW, [7], [7])
            assert tx.visibility.hidden_changes(REVIEW, -1, 9) == [8]
