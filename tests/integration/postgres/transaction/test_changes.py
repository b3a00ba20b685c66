"""Events, changes and runs as they are stored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.decision.states import RunState
from service.domain.decision.vote import Outcome
from service.domain.errors import NotFound
from service.domain.gerrit.change import ChangeStatus
from service.domain.identity import ChangeKey, RunKind
from service.ports.records import NewDecision
from tests.integration.postgres.samples import CLEANED, NASTY
from tests.support.store_samples import change, check_run, named, post_submit_run, queue, start

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

DIGEST = b"d" * 32


def test_an_event_that_comes_again_is_counted_and_looked_at_again(
    store: PostgresStore, database: Database
) -> None:
    with store.transaction() as tx:
        first = tx.add_event("review", DIGEST, "patchset-created", 7, b"{}")
        tx.mark_handled(first)
    with store.transaction() as tx:
        assert tx.add_event("review", DIGEST, "patchset-created", 7, b"{}") == first
        assert tx.event_change(first) == ChangeKey("review", 7)
    assert database.rows("SELECT deliveries, handled_at FROM event") == [(2, None)]


@pytest.mark.parametrize("number", [None, 0, -1, 2**31, 10**30])
def test_an_event_without_a_possible_change_hints_at_none(store: PostgresStore, number: int | None) -> None:
    with store.transaction() as tx:
        assert tx.event_change(tx.add_event("review", DIGEST, "x", number, b"\x00\xff")) is None


def test_an_unknown_event_is_not_found(store: PostgresStore) -> None:
    with store.transaction() as tx, pytest.raises(NotFound):
        tx.event_change(1)


def test_a_newer_state_of_a_change_replaces_the_older(store: PostgresStore, database: Database) -> None:
    with store.transaction() as tx:
        old = tx.upsert_change(change(patch_set=1, minutes=1))
        new = tx.upsert_change(change(patch_set=2, minutes=2, subject="Make it quicker"))
    assert old.is_current
    assert new.is_current
    assert new.patch_set_id != old.patch_set_id
    assert database.value("SELECT subject FROM change") == "Make it quicker"
    assert database.rows("SELECT number, subject FROM patch_set ORDER BY 1") == [
        (1, "Make it quick"),
        (2, "Make it quicker"),
    ]


@pytest.mark.parametrize(("patch_set", "minutes"), [(1, 1), (1, 2), (3, 1)])
def test_an_older_state_of_a_change_overwrites_nothing(
    store: PostgresStore, database: Database, patch_set: int, minutes: int
) -> None:
    """Older is the earlier update, or the lower patch set of the same moment."""
    with store.transaction() as tx:
        new = tx.upsert_change(change(patch_set=2, minutes=2))
        old = tx.upsert_change(change(patch_set=patch_set, minutes=minutes, subject="Old"))
    assert not old.is_current
    assert old.patch_set_id == new.patch_set_id
    assert database.value("SELECT subject FROM change") == "Make it quick"
    assert database.value("SELECT count(*) FROM patch_set") == 1


def test_open_changes_of_a_server_are_those_last_seen_open(store: PostgresStore) -> None:
    elsewhere = replace(change(), key=ChangeKey("other", 5))
    with store.transaction() as tx:
        assert tx.open_changes("review") == []
        for each in (change(8), change(7), change(9), change(10), elsewhere):
            tx.upsert_change(each)
        tx.upsert_change(replace(change(9, minutes=1), status=ChangeStatus.MERGED))
        tx.upsert_change(replace(change(10, minutes=1), status=ChangeStatus.ABANDONED))
    with store.transaction() as tx:
        assert tx.open_changes("review") == [ChangeKey("review", 7), ChangeKey("review", 8)]


def test_states_that_arrive_at_once_make_one_change(store: PostgresStore, database: Database) -> None:
    def upsert(patch_set: int) -> bool:
        with store.transaction() as tx:
            return tx.upsert_change(change(patch_set=patch_set, minutes=patch_set)).is_current

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(upsert, range(1, 17)))
    assert database.value("SELECT count(*) FROM change") == 1
    assert database.value("SELECT updated_at = timestamptz '2026-11-21 12:16Z' FROM change")


def test_texts_that_the_database_refuses_are_stored_cleaned(store: PostgresStore, database: Database) -> None:
    with store.transaction() as tx:
        record = tx.upsert_change(replace(change(subject=NASTY), message=NASTY))
        run = tx.add_run(replace(check_run(record.patch_set_id), subject=NASTY, author=NASTY))
        assert run is not None
        build = named("cv-perf", spec={NASTY: [NASTY, float("nan"), {"deep": NASTY}]}, causes=(NASTY,))
        tx.add_build(run, 0, build)
        tx.add_decision(NewDecision(run, record.patch_set_id, 1, None, NASTY, NASTY))
        tx.end_run(run, RunState.REFUSED, NASTY)
    assert database.rows("SELECT subject, message FROM patch_set") == [(CLEANED, CLEANED)]
    assert database.rows("SELECT subject, author, reason FROM run") == [(CLEANED, CLEANED, CLEANED)]
    assert database.value("SELECT spec FROM build") == {CLEANED: [CLEANED, None, {"deep": CLEANED}]}
    assert database.value("SELECT causes FROM build") == [CLEANED]
    assert database.value("SELECT message FROM decision") == CLEANED


def test_a_patch_set_has_one_unfinished_run_at_a_time(store: PostgresStore) -> None:
    with store.transaction() as tx:
        patch_set = tx.upsert_change(change()).patch_set_id
        first = tx.add_run(check_run(patch_set))
        assert first is not None
        assert tx.add_run(check_run(patch_set)) is None
        tx.end_run(first, RunState.FINISHED)
        assert tx.add_run(check_run(patch_set)) is not None
        assert [run.state for run in tx.runs_of(patch_set)] == [RunState.FINISHED, RunState.PLANNING]


def test_runs_that_are_added_at_once_become_one(store: PostgresStore) -> None:
    with store.transaction() as tx:
        patch_set = tx.upsert_change(change()).patch_set_id

    def add(_: int) -> int | None:
        with store.transaction() as tx:
            return tx.add_run(check_run(patch_set))

    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(add, range(8)))
    assert len([run for run in added if run is not None]) == 1


def test_a_merged_commit_is_measured_once(store: PostgresStore) -> None:
    with store.transaction() as tx:
        run = start(tx, post_submit_run())
        tx.end_run(run, RunState.FINISHED)
        assert tx.add_run(post_submit_run()) is None


def test_a_run_knows_its_change_or_that_it_has_none(store: PostgresStore) -> None:
    with store.transaction() as tx:
        patch_set = tx.upsert_change(change()).patch_set_id
        check, merged = start(tx, check_run(patch_set)), start(tx, post_submit_run())
        run = tx.lock_run(check)
        assert (run.kind, run.change, run.ref) == (
            RunKind.CHECK,
            ChangeKey("review", 7),
            "refs/changes/07/7/1",
        )
        assert (run.state, run.parent, run.label) == (RunState.RUNNING, "p" * 40, "Verified")
        run = tx.lock_run(merged)
        assert (run.kind, run.change, run.ref) == (RunKind.POST_SUBMIT, None, None)


def test_an_unknown_run_is_not_found(store: PostgresStore) -> None:
    with store.transaction() as tx, pytest.raises(NotFound):
        tx.lock_run(1)


def test_a_run_that_ended_stays_as_it_is(store: PostgresStore) -> None:
    with store.transaction() as tx:
        run = tx.add_run(check_run(tx.upsert_change(change()).patch_set_id))
        assert run is not None
        tx.end_run(run, RunState.CANCELLED)
        tx.start_run(run, tree="t", parent=None, parent_tree=None, label="Verified")
        tx.end_run(run, RunState.FINISHED)
        assert tx.lock_run(run).state is RunState.CANCELLED


def test_a_new_patch_set_cancels_the_runs_of_the_others(store: PostgresStore, upkeep: PostgresUpkeep) -> None:
    [build] = queue(store)
    with store.transaction() as tx:
        new = tx.upsert_change(change(patch_set=2, minutes=1))
        kept = start(tx, check_run(new.patch_set_id))
        kept_build = tx.add_build(kept, 0, named("cv-perf"))
        tx.cancel_runs(new.change_id, keep_patch_set=new.patch_set_id)
        assert tx.lock_run(kept).state is RunState.RUNNING
    upkeep.drop_unwanted_builds()
    with store.transaction() as tx:
        assert tx.lock_build(build).cancel_requested
        assert not tx.lock_build(kept_build).cancel_requested
    assert upkeep.cancelled_builds() == [build]


def test_builds_of_an_old_patch_set_wait_for_the_plan_of_the_new_one(
    store: PostgresStore, upkeep: PostgresUpkeep
) -> None:
    [build] = queue(store)
    with store.transaction() as tx:
        new = tx.upsert_change(change(patch_set=2, minutes=1))
        run = tx.add_run(check_run(new.patch_set_id))
        assert run is not None
        tx.cancel_runs(new.change_id, keep_patch_set=new.patch_set_id)
    upkeep.drop_unwanted_builds()
    with store.transaction() as tx:
        assert not tx.lock_build(build).cancel_requested
        tx.end_run(run, RunState.REFUSED)
    upkeep.drop_unwanted_builds()
    assert upkeep.cancelled_builds() == [build]


class TestAdoption:
    def test_a_build_on_its_way_is_taken_over_and_goes_on(
        self, store: PostgresStore, upkeep: PostgresUpkeep
    ) -> None:
        [build] = queue(store, named("cv-perf", sequence="trees"))
        with store.transaction() as tx:
            new = tx.upsert_change(change(patch_set=2, minutes=1))
            tx.cancel_runs(new.change_id, keep_patch_set=new.patch_set_id)
            run = start(tx, check_run(new.patch_set_id))
            adopted = tx.adopt_build(tx.lock_run(run), 0, "trees", 60.0)
        upkeep.drop_unwanted_builds()
        with store.transaction() as tx:
            assert adopted == tx.lock_build(build)
            assert tx.builds_of(run) == [adopted]

    @pytest.mark.parametrize(
        ("outcome", "is_adopted"),
        [(Outcome.SLOWER, True), (Outcome.INFRASTRUCTURE, False), (Outcome.CANCELLED, False)],
    )
    def test_only_what_would_come_out_again_is_reused(
        self, store: PostgresStore, outcome: Outcome, *, is_adopted: bool
    ) -> None:
        [build] = queue(store, named("cv-perf", sequence="trees"))
        with store.transaction() as tx:
            tx.finish_build(build, outcome, [])
            run = start(tx, check_run(tx.upsert_change(change(patch_set=2, minutes=1)).patch_set_id))
            assert (tx.adopt_build(tx.lock_run(run), 0, "trees", 60.0) is not None) == is_adopted
            assert tx.adopt_build(tx.lock_run(run), 0, "other trees", 60.0) is None

    def test_a_build_that_was_called_off_is_not_revived(
        self, store: PostgresStore, upkeep: PostgresUpkeep
    ) -> None:
        queue(store, named("cv-perf", sequence="trees"))
        with store.transaction() as tx:
            tx.cancel_runs(tx.upsert_change(change()).change_id, keep_patch_set=None)
        upkeep.drop_unwanted_builds()
        with store.transaction() as tx:
            run = start(tx, check_run(tx.upsert_change(change(patch_set=2, minutes=1)).patch_set_id))
            assert tx.adopt_build(tx.lock_run(run), 0, "trees", 60.0) is None


def test_a_build_that_another_run_waits_for_is_not_cancelled(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    shared, own = queue(store, named("shared"), named("own"))
    with store.transaction() as tx:
        other = start(tx, post_submit_run())
    database.change(
        "INSERT INTO run_build (run_id, job, build_id, position) VALUES (:run, 'shared', :build, 0)",
        run=other,
        build=shared,
    )
    with store.transaction() as tx:
        tx.cancel_runs(tx.upsert_change(change()).change_id, keep_patch_set=None)
    upkeep.drop_unwanted_builds()
    with store.transaction() as tx:
        assert not tx.lock_build(shared).cancel_requested
        assert tx.lock_build(own).cancel_requested
        assert tx.lock_run(other).state is RunState.RUNNING


def test_decisions_are_counted_per_patch_set_and_else_per_run(store: PostgresStore) -> None:
    with store.transaction() as tx:
        patch_set = tx.upsert_change(change()).patch_set_id
        first = tx.lock_run(start(tx, check_run(patch_set)))
        assert tx.next_decision(first) == 1
        assert tx.add_decision(NewDecision(first.id, patch_set, 1, -1, "Build Failed", "m")) == 1
        tx.end_run(first.id, RunState.FINISHED)
        assert tx.next_decision(tx.lock_run(start(tx, check_run(patch_set)))) == 2
        assert tx.next_decision(tx.lock_run(start(tx, post_submit_run()))) == 1
