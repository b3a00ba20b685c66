"""Store contract: overrides, decisions and the outbox, with due hints and reviews."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.measuring.metric import Better
from service.domain.review.change import InlineComment, Review
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.slowdown import Slowdown
from service.domain.runs.states import RunState
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeKey
from service.domain.wording.delivery import WITHOUT_COMMENTS
from service.ports.runs.decisions import NewDecision, NewOverride, ReviewState, review_key
from service.ports.runs.queue import Task
from tests.support.store_samples import change, check_run, named, post_submit_run, queue, start

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.ports.runs.runs import RunRecord
    from service.ports.runs.upkeep import Upkeep
    from service.ports.store import Store, Transaction
    from tests.contract.store.sites import StoreSite

FIRST, SECOND = "1" * 40, "2" * 40
REMARK: Final = InlineComment("lib/a.cc", 3, "perf: error: ‘x’")
OTHER: Final = InlineComment("lib/b.cc", 7, "perf: fatal error: y")
SLOWDOWN: Final = Slowdown("BM_a", "cpu_time", Better.LOWER, 0.1 + 0.2, 0.25, 0.35, "perf", "executor")
ENDS: Final = [ReviewState.SENT, ReviewState.SUPERSEDED, ReviewState.REFUSED, ReviewState.DEAD]


def review(number: int = 7, message: str = "Build Failed", *comments: InlineComment) -> Review:
    key = ChangeKey("review", number)
    return Review(key, FIRST, message, {"Verified": -1}, comments)


def send(store: Store, key: str, queued: Review) -> None:
    with store.transaction() as tx:
        tx.outbox.queue_review(key, queued)


def decided(tx: Transaction, run: RunRecord) -> NewDecision:
    return NewDecision(run.id, run.patch_set_id, tx.decisions.next_number(run), -1, "Build Failed", "m")


class TestOverrides:
    def test_entries_come_back_as_they_were_added_oldest_first(self, store: Store) -> None:
        entry = NewOverride(
            OverrideKind.OVERRIDE, "1000003", "Bob", builds=[3, 4], pattern="BM_*", bug="MB-1", reason="known"
        )
        with store.transaction() as tx:
            old = tx.changes.upsert(change())
            new = tx.changes.upsert(change(patch_set=2, minutes=1))
            numbers = [tx.overrides.add(old.patch_set_id, entry)]
            tx.overrides.add(new.patch_set_id, entry)
            numbers.append(
                tx.overrides.add(old.patch_set_id, NewOverride(OverrideKind.UNDO, "1000004", "Eve"))
            )
            first, second = tx.overrides.of(old.patch_set_id)
        assert [first.id, second.id] == numbers
        assert (first.kind, first.builds, first.filter) == (
            OverrideKind.OVERRIDE,
            frozenset({3, 4}),
            "BM_*",
        )
        assert (first.bug, first.reason, first.who, first.account) == ("MB-1", "known", "Bob", "1000003")
        assert first.revision == second.revision == change().current.revision
        assert (second.kind, second.builds, second.who) == (OverrideKind.UNDO, frozenset(), "Eve")

    def test_the_entries_of_patch_sets_are_found_by_their_numbers(self, store: Store) -> None:
        entry = NewOverride(OverrideKind.OVERRIDE, "1000003", "Bob", builds=[3], carried_from=2)
        with store.transaction() as tx:
            for number in (1, 2, 3):
                patch_set = tx.changes.upsert(change(patch_set=number, minutes=number)).patch_set_id
                if number != 2:
                    tx.overrides.add(patch_set, entry)
            tx.overrides.add(tx.changes.upsert(change(8)).patch_set_id, entry)
            found = tx.overrides.of_change(change().key, [1, 2])
        assert {number: [each.carried_from for each in made] for number, made in found.items()} == {1: [2]}

    @pytest.mark.parametrize("levels", [None, (), (SLOWDOWN, replace(SLOWDOWN, most=math.inf))])
    def test_an_accept_keeps_the_levels_that_it_covers(
        self, store: Store, levels: tuple[Slowdown, ...] | None
    ) -> None:
        entry = NewOverride(OverrideKind.ACCEPT, "1000003", "Bob", pattern="BM_*", levels=levels)
        with store.transaction() as tx:
            patch_set = tx.changes.upsert(change()).patch_set_id
            tx.overrides.add(patch_set, entry)
        with store.transaction() as tx:
            assert [each.levels for each in tx.overrides.of(patch_set)] == [levels]

    def test_a_patch_set_without_entries_has_none(self, store: Store) -> None:
        with store.transaction() as tx:
            assert tx.overrides.of(tx.changes.upsert(change()).patch_set_id) == []


class TestDecisions:
    def test_the_message_of_the_newest_decision_of_a_run_is_found(self, store: Store) -> None:
        with store.transaction() as tx:
            patch_set = tx.changes.upsert(change()).patch_set_id
            runs = [tx.runs.lock(start(tx, run)) for run in (check_run(patch_set), post_submit_run())]
            assert tx.decisions.last_message(runs[0].id) == ""
            for run, message in ((runs[0], "old"), (runs[0], "new"), (runs[1], "other")):
                tx.decisions.add(replace(decided(tx, run), message=message))
            assert [tx.decisions.last_message(run.id) for run in runs] == ["new", "other"]

    def test_decisions_are_counted_per_patch_set_or_per_run_without_one(self, store: Store) -> None:
        with store.transaction() as tx:
            patch_set = tx.changes.upsert(change()).patch_set_id
            first = tx.runs.lock(start(tx, check_run(patch_set)))
            merged = tx.runs.lock(start(tx, post_submit_run()))
            other = tx.runs.lock(start(tx, post_submit_run("3" * 40)))
            assert tx.decisions.next_number(first) == tx.decisions.next_number(first) == 1
            assert [tx.decisions.add(decided(tx, first)) for _ in range(2)] == [1, 2]
            tx.runs.end(first.id, RunState.FINISHED)
            assert tx.decisions.next_number(tx.runs.lock(start(tx, check_run(patch_set)))) == 3
            assert tx.decisions.add(decided(tx, merged)) == 1
            assert (tx.decisions.next_number(merged), tx.decisions.next_number(other)) == (2, 1)


class TestOutbox:
    def test_a_hint_goes_to_the_control_plane_or_to_the_pool_of_its_build(
        self, store: Store, upkeep: Upkeep
    ) -> None:
        [build] = queue(store, named("a", pool="lint"))
        with store.transaction() as tx:
            tx.outbox.queue_task(Task.PLAN, 3, 4)
            tx.outbox.queue_task(Task.EXECUTE, build)
            tx.outbox.queue_task(Task.VOTE)
        assert [(hint.task, hint.entity, hint.pool) for hint in upkeep.due_hints()] == [
            ("plan", 3, "control"),
            ("plan", 4, "control"),
            ("execute", build, "lint"),
        ]

    def test_a_hint_to_execute_an_unknown_build_is_refused(self, store: Store) -> None:
        with store.transaction() as tx, pytest.raises(NotFound):
            tx.outbox.queue_task(Task.EXECUTE, 1)

    def test_a_review_is_queued_once_for_its_key(self, store: Store, upkeep: Upkeep) -> None:
        send(store, "1", review(7, "Build Failed", REMARK))
        send(store, "1", review(7, "again"))
        [due] = upkeep.due_reviews()
        assert due.review == review(7, "Build Failed", REMARK)
        assert (due.attempts, due.missing_seconds, due.failed_posts) == (0, 0, 0)

    def test_a_silent_review_stays_silent(self, store: Store, upkeep: Upkeep) -> None:
        silent = replace(review(), is_silent=True)
        send(store, "1", silent)
        assert [due.review for due in upkeep.due_reviews()] == [silent]

    def test_a_review_is_dropped_unless_it_was_posted(self, store: Store, upkeep: Upkeep) -> None:
        for key, number in (("posted", 7), ("dropped", 8), ("kept", 9)):
            send(store, key, review(number, key))
        upkeep.settle_review(upkeep.due_reviews()[0].outbox_id, ReviewState.DEAD)
        with store.transaction() as tx:
            for key in ("posted", "dropped", "unknown"):
                tx.outbox.drop_review(key)
        assert [due.key for due in upkeep.due_reviews()] == ["kept"]

    @pytest.mark.parametrize("state", ENDS)
    def test_the_last_review_of_a_patch_set_is_revived_if_it_never_arrived(
        self, store: Store, upkeep: Upkeep, state: ReviewState
    ) -> None:
        with store.transaction() as tx:
            patch_set = tx.changes.upsert(change()).patch_set_id
            tx.outbox.revive_review(patch_set)  # there is none yet
            run = tx.runs.lock(start(tx, check_run(patch_set)))
            for message in ("first", "last"):
                number = tx.decisions.add(decided(tx, run))
                tx.outbox.queue_review(review_key(run.id, number), review(7, message))
        for _ in range(2):
            upkeep.settle_review(upkeep.due_reviews()[0].outbox_id, state)
        with store.transaction() as tx:
            tx.outbox.revive_review(patch_set)
        revived = [due.review.message for due in upkeep.due_reviews()]
        assert revived == (["last"] if state in {ReviewState.SUPERSEDED, ReviewState.DEAD} else [])

    @pytest.mark.parametrize("state", ENDS)
    def test_only_a_review_sent_with_its_votes_counts_as_sent(
        self, store: Store, upkeep: Upkeep, state: ReviewState
    ) -> None:
        with store.transaction() as tx:
            patch_set = tx.changes.upsert(change()).patch_set_id
            assert tx.outbox.sent_review(patch_set) is None
            run = tx.runs.lock(start(tx, check_run(patch_set)))
            tx.outbox.queue_review(review_key(run.id, tx.decisions.add(decided(tx, run))), review())
        upkeep.settle_review(upkeep.due_reviews()[0].outbox_id, state)
        with store.transaction() as tx:
            assert tx.outbox.sent_review(patch_set) == (review() if state is ReviewState.SENT else None)
            tx.outbox.revive_review(patch_set, is_lost=True)
            assert tx.outbox.sent_review(patch_set) is None
        is_revived = state is not ReviewState.REFUSED
        assert [due.review for due in upkeep.due_reviews()] == ([review()] if is_revived else [])
        upkeep.settle_review(1, ReviewState.SENT, "label not granted: Verified")
        with store.transaction() as tx:
            assert tx.outbox.sent_review(patch_set) is None

    def test_a_review_sent_without_inline_comments_counts_as_sent(self, store: Store, upkeep: Upkeep) -> None:
        with store.transaction() as tx:
            patch_set = tx.changes.upsert(change()).patch_set_id
            run = tx.runs.lock(start(tx, check_run(patch_set)))
            tx.outbox.queue_review(review_key(run.id, tx.decisions.add(decided(tx, run))), review())
        upkeep.settle_review(upkeep.due_reviews()[0].outbox_id, ReviewState.SENT, WITHOUT_COMMENTS)
        with store.transaction() as tx:
            assert tx.outbox.sent_review(patch_set) == review()

    def remarks(self, store: Store, revision: str, change: ChangeKey) -> Collection[tuple[str, str]]:
        with store.transaction() as tx:
            return set(tx.outbox.remarks_on(change, revision))

    def test_remarks_that_wait_are_on_their_revision_only(self, store: Store) -> None:
        send(store, "1", review(7, "m", REMARK, OTHER))
        key = ChangeKey("review", 7)
        assert self.remarks(store, FIRST, key) == {(each.path, each.text) for each in (REMARK, OTHER)}
        assert self.remarks(store, SECOND, key) == set()
        for elsewhere in (ChangeKey("review", 8), ChangeKey("other", 7)):
            assert self.remarks(store, FIRST, elsewhere) == set()

    @pytest.mark.parametrize("state", ENDS)
    def test_sent_remarks_count_for_the_whole_change(
        self, store: Store, upkeep: Upkeep, state: ReviewState
    ) -> None:
        send(store, "1", review(7, "m", REMARK))
        send(store, "2", review(7, "without"))
        upkeep.settle_review(upkeep.due_reviews()[0].outbox_id, state)
        sent = {(REMARK.path, REMARK.text)} if state is ReviewState.SENT else set()
        assert self.remarks(store, FIRST, ChangeKey("review", 7)) == sent
        assert self.remarks(store, SECOND, ChangeKey("review", 7)) == sent


class TestHints:
    def test_hints_wait_in_their_order_until_they_are_dropped(self, store: Store, upkeep: Upkeep) -> None:
        with store.transaction() as tx:
            tx.outbox.queue_task(Task.PLAN, 1, 2, 3)
        first, second, third = upkeep.due_hints()
        assert upkeep.due_hints() == [first, second, third]
        for _ in range(2):
            upkeep.drop_hints([first.outbox_id, third.outbox_id])
            assert upkeep.due_hints() == [second]
        upkeep.drop_hints([])
        with store.transaction() as tx:
            tx.outbox.queue_task(Task.PLAN, 4)
        assert [hint.entity for hint in upkeep.due_hints()] == [2, 4]


class TestDueReviews:
    def test_a_later_review_of_a_change_waits_for_the_earlier_one(self, site: StoreSite) -> None:
        upkeep = site.upkeep
        for key, number in (("1", 7), ("2", 7), ("3", 8)):
            send(site.store, key, review(number, key))
        first, other = upkeep.due_reviews()
        assert (first.review.message, other.review.message) == ("1", "3")
        upkeep.postpone_review(first.outbox_id, 60.0, "down")
        assert upkeep.due_reviews() == [other]
        upkeep.settle_review(first.outbox_id, ReviewState.SUPERSEDED)
        assert [due.review.message for due in upkeep.due_reviews()] == ["2", "3"]

    def test_a_silent_review_waits_for_a_vote_but_no_vote_for_it(self, site: StoreSite) -> None:
        silent = replace(review(7, "why"), is_silent=True)
        for key, each in (("1", silent), ("2", review(7, "vote")), ("3", silent)):
            send(site.store, key, each)
        before, vote = site.upkeep.due_reviews()
        assert (before.key, vote.key) == ("1", "2")
        site.upkeep.postpone_review(before.outbox_id, 60.0, "rejected")
        assert site.upkeep.due_reviews() == [vote]
        site.upkeep.settle_review(vote.outbox_id, ReviewState.SENT)
        assert [due.key for due in site.upkeep.due_reviews()] == ["3"]

    def test_a_postponed_review_comes_back(self, site: StoreSite) -> None:
        send(site.store, "1", review())
        for attempts in range(3):
            [due] = site.upkeep.due_reviews()
            assert (due.attempts, due.missing_seconds) == (attempts, 0)
            site.upkeep.postpone_review(due.outbox_id, 60.0, "down")
            site.wait(50.0)
            assert site.upkeep.due_reviews() == []
            site.wait(11.0)

    def test_reviews_that_wait_for_the_server_are_due_soon_after_it_answers(self, site: StoreSite) -> None:
        for key, number in (("unreachable", 7), ("not confirmed", 8), ("not shown", 9)):
            send(site.store, key, review(number, key))
        unreachable, not_confirmed, not_shown = site.upkeep.due_reviews()
        site.upkeep.note_failed_post(not_confirmed.outbox_id)
        for due in (unreachable, not_confirmed, not_shown):
            site.upkeep.postpone_review(due.outbox_id, 60.0, "down", is_missing=due is not_shown)
        site.upkeep.hasten_reviews(15.0, "review")
        assert site.upkeep.due_reviews() == []
        site.wait(16.0)
        assert [due.review.message for due in site.upkeep.due_reviews()] == ["unreachable"]

    def test_each_review_server_has_its_own_due_reviews(self, site: StoreSite) -> None:
        elsewhere = replace(review(message="elsewhere"), change=ChangeKey("other", 7))
        send(site.store, "1", review())
        send(site.store, "2", elsewhere)
        assert [due.review for due in site.upkeep.due_reviews("other")] == [elsewhere]
        assert [due.review for due in site.upkeep.due_reviews("review")] == [review()]
        assert [due.review for due in site.upkeep.due_reviews()] == [review(), elsewhere]
        assert site.upkeep.due_reviews("none") == []

    def test_an_answer_of_one_review_server_hastens_no_reviews_on_another(self, site: StoreSite) -> None:
        send(site.store, "1", review())
        [due] = site.upkeep.due_reviews()
        site.upkeep.postpone_review(due.outbox_id, 60.0, "down")
        site.upkeep.hasten_reviews(15.0, "other")
        site.wait(16.0)
        assert site.upkeep.due_reviews() == []

    def test_an_answer_neither_ends_nor_lengthens_a_wait(self, site: StoreSite) -> None:
        send(site.store, "1", review())
        [due] = site.upkeep.due_reviews()
        site.upkeep.postpone_review(due.outbox_id, 60.0, "down")
        for _ in range(3):
            site.upkeep.hasten_reviews(15.0, "review")
            assert site.upkeep.due_reviews() == []
            site.wait(6.0)
        assert site.upkeep.due_reviews() != []

    def test_a_missing_change_is_counted_from_its_first_absence(self, site: StoreSite) -> None:
        send(site.store, "1", review())
        seconds = []
        for is_missing in (True, True, False, True):
            [due] = site.upkeep.due_reviews()
            seconds.append(due.missing_seconds)
            site.upkeep.postpone_review(due.outbox_id, 5.0, "404", is_missing=is_missing)
            site.wait(20.0)
        assert seconds == pytest.approx([0, 20, 40, 0], abs=5)

    def test_failed_posts_are_counted_until_the_review_ends(self, store: Store, upkeep: Upkeep) -> None:
        send(store, "1", review())
        for expected in range(3):
            [due] = upkeep.due_reviews()
            assert (due.failed_posts, due.attempts) == (expected, 0)
            upkeep.note_failed_post(due.outbox_id)

    @pytest.mark.parametrize("state", ENDS)
    def test_a_settled_review_stays_as_it_is(self, store: Store, upkeep: Upkeep, state: ReviewState) -> None:
        send(store, "1", review(7, "m", REMARK))
        [due] = upkeep.due_reviews()
        upkeep.settle_review(due.outbox_id, state, "the note")
        upkeep.settle_review(due.outbox_id, ReviewState.SENT, comments=[OTHER])
        upkeep.postpone_review(due.outbox_id, -60.0, "late")
        upkeep.note_failed_post(due.outbox_id)
        assert upkeep.due_reviews() == []
        with store.transaction() as tx:
            remarks = tx.outbox.remarks_on(due.review.change, FIRST)
        assert set(remarks) == ({(REMARK.path, REMARK.text)} if state is ReviewState.SENT else set())

    def test_only_comments_that_the_server_took_are_kept(self, store: Store, upkeep: Upkeep) -> None:
        send(store, "1", review(7, "m", REMARK, OTHER))
        send(store, "2", replace(review(8), comments=()))
        for due in upkeep.due_reviews():
            upkeep.settle_review(due.outbox_id, ReviewState.SENT, comments=[OTHER])
        with store.transaction() as tx:
            assert set(tx.outbox.remarks_on(ChangeKey("review", 7), FIRST)) == {(OTHER.path, OTHER.text)}
            assert set(tx.outbox.remarks_on(ChangeKey("review", 8), FIRST)) == set()
