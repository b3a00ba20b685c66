"""What is found when nothing woke it, and the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.decision.states import BuildState
from service.domain.decision.vote import Outcome
from service.domain.errors import NotFound
from service.domain.identity import ChangeKey
from service.domain.measuring.pair_record import PairRecord
from service.ports.queue import Task
from service.ports.records import QueuedReview, ReviewState
from tests.integration.postgres.samples import CLEANED, NASTY, claimed, worklist
from tests.support.store_samples import change, check_run, named, post_submit_run, queue, start

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

EXPIRE = "UPDATE lease SET expires_at = clock_timestamp() - interval '1 s'"
AGE = "UPDATE {table} SET {column} = now() - interval '1 min'"


def lose(database: Database, name: str = "perf-01") -> int:
    """A machine claims the next build and falls silent."""
    with claimed(worklist(database, name)):
        pass
    database.change(EXPIRE)
    return int(database.value("SELECT build_id FROM lease ORDER BY token DESC LIMIT 1"))


def test_hints_wait_until_they_are_sent(store: PostgresStore, upkeep: PostgresUpkeep) -> None:
    [build] = queue(store, named("a", pool="lint"))
    with store.transaction() as tx:
        tx.queue_task(Task.PLAN, 3)
        tx.queue_task(Task.EXECUTE, build)
    hints = upkeep.due_hints()
    assert [(hint.task, hint.entity, hint.pool) for hint in hints] == [
        ("plan", 3, "control"),
        ("execute", build, "lint"),
    ]
    upkeep.drop_hints([hints[0].outbox_id])
    assert upkeep.due_hints() == hints[1:]
    upkeep.drop_hints([])


def test_a_hint_to_execute_an_unknown_build_is_refused(store: PostgresStore) -> None:
    with store.transaction() as tx, pytest.raises(NotFound):
        tx.queue_task(Task.EXECUTE, 1)


def review(number: int = 7, message: str = "Build Failed") -> QueuedReview:
    return QueuedReview(ChangeKey("review", number), "1" * 40, message, "/runs/1#v1", {"Verified": -1})


def test_a_review_is_queued_once_for_its_key(store: PostgresStore, upkeep: PostgresUpkeep) -> None:
    with store.transaction() as tx:
        tx.queue_review("run/1/decision/1", review())
        tx.queue_review("run/1/decision/1", review(message="again"))
    [due] = upkeep.due_reviews()
    assert due.review == review()
    assert (due.attempts, due.missing_seconds) == (0, 0)


def test_reviews_of_a_change_leave_in_the_order_of_its_decisions(
    store: PostgresStore, upkeep: PostgresUpkeep
) -> None:
    with store.transaction() as tx:
        tx.queue_review("1", review(7, "first"))
        tx.queue_review("2", review(7, "second"))
        tx.queue_review("3", review(8, "other"))
    first, other = upkeep.due_reviews()
    assert (first.review.message, other.review.message) == ("first", "other")
    upkeep.postpone_review(first.outbox_id, 60.0, NASTY)
    assert [due.review.message for due in upkeep.due_reviews()] == ["other"]
    upkeep.settle_review(first.outbox_id, ReviewState.SUPERSEDED)
    assert [due.review.message for due in upkeep.due_reviews()] == ["second", "other"]


def test_a_postponed_review_comes_back(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    with store.transaction() as tx:
        tx.queue_review("1", review())
    upkeep.postpone_review(upkeep.due_reviews()[0].outbox_id, 60.0, NASTY)
    assert upkeep.due_reviews() == []
    assert database.value("SELECT last_error FROM outbox") == CLEANED
    database.change("UPDATE outbox SET next_at = now()")
    assert upkeep.due_reviews()[0].attempts == 1


def test_how_often_a_server_was_given_a_review_is_remembered(
    store: PostgresStore, upkeep: PostgresUpkeep
) -> None:
    with store.transaction() as tx:
        tx.queue_review("1", review())
    number = upkeep.due_reviews()[0].outbox_id
    for expected in (0, 1, 2):
        assert upkeep.due_reviews()[0].failed_posts == expected
        upkeep.note_failed_post(number)
    upkeep.settle_review(number, ReviewState.SENT)
    upkeep.note_failed_post(number)  # too late: nothing happens


def test_a_settled_review_is_kept_and_stays_settled(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    with store.transaction() as tx:
        tx.queue_review("1", review())
    outbox_id = upkeep.due_reviews()[0].outbox_id
    upkeep.settle_review(outbox_id, ReviewState.SENT)
    upkeep.settle_review(outbox_id, ReviewState.DEAD, "late")
    assert upkeep.due_reviews() == []
    assert database.rows("SELECT state, sent_at IS NOT NULL, last_error FROM outbox") == [
        ("sent", True, None)
    ]


def test_a_build_whose_machine_fell_silent_is_queued_again(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    queue(store)
    build = lose(database)
    assert upkeep.requeue_lost_builds(3) == []
    assert [(hint.task, hint.entity, hint.pool) for hint in upkeep.due_hints()] == [
        ("execute", build, "perf")
    ]
    with claimed(worklist(database, "perf-02")) as again:
        assert again.attempt == 2


def test_a_build_whose_machine_is_alive_is_left_alone(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        assert upkeep.requeue_lost_builds(1) == []
        build.record(PairRecord(0, b"raw"), [{"suite": "a", "side": "base", "facts": {}}])


def test_a_build_that_is_given_up_is_named_until_it_is_finished(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    queue(store)
    build = lose(database)
    assert upkeep.requeue_lost_builds(2) == []
    lose(database, "perf-02")
    for _ in range(2):  # the first caller died
        assert upkeep.requeue_lost_builds(2) == [build]
    with store.transaction() as tx:
        assert tx.lock_build(build).state is BuildState.RUNNING
        tx.finish_build(build, Outcome.INFRASTRUCTURE, ["its machine fell silent twice"])
    assert upkeep.requeue_lost_builds(2) == []
    assert database.value("SELECT count(*) FROM lease") == 0


@pytest.mark.parametrize("max_attempts", [1, 3])
def test_a_cancelled_build_whose_machine_fell_silent_is_found_as_cancelled(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database, max_attempts: int
) -> None:
    queue(store)
    build = lose(database)
    database.change("UPDATE build SET cancel_requested = true")
    assert upkeep.cancelled_builds() == [build]
    assert upkeep.requeue_lost_builds(max_attempts) == []
    assert upkeep.due_hints() == []
    assert upkeep.cancelled_builds() == [build]


def test_a_cancelled_build_that_a_machine_holds_is_left_to_it(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    queue(store)
    with claimed(worklist(database)):
        database.change("UPDATE build SET cancel_requested = true, deadline_at = now()")
        assert upkeep.cancelled_builds() == []
        assert upkeep.overdue_builds() == []


def test_builds_past_their_deadline_are_found(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    queued, executed, hopeless, _ = queue(store, *(named(job) for job in "abcd"))
    database.change("UPDATE build SET deadline_at = now() - interval '1 s' WHERE id <= :last", last=hopeless)
    database.change(
        "UPDATE build SET state = 'executed', executed_at = now() WHERE id > :first", first=queued
    )
    database.change("UPDATE build SET state = 'queued' WHERE id > :last", last=hopeless)
    for _attempt in range(8):
        upkeep.record_step_failure(Task.ANALYSE, hopeless, "no such suite", max_attempts=8)
    assert upkeep.overdue_builds() == [queued, hopeless]
    assert executed not in upkeep.overdue_builds()


def test_an_event_that_was_not_handled_is_stalled(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    with store.transaction() as tx:
        event = tx.add_event("review", b"d", "patchset-created", 7, b"")
    assert upkeep.stalled(30) == []
    database.change(AGE.format(table="event", column="received_at"))
    assert upkeep.stalled(30) == [("handle_event", event)]
    with store.transaction() as tx:
        tx.mark_handled(event)
    assert upkeep.stalled(30) == []


def test_a_run_that_was_not_planned_is_stalled(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    with store.transaction() as tx:
        run = tx.add_run(check_run(tx.upsert_change(change()).patch_set_id))
    assert upkeep.stalled(30) == []
    database.change(AGE.format(table="run", column="created_at"))
    assert upkeep.stalled(30) == [("plan", run)]


def test_a_build_that_was_not_analysed_is_stalled(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    [build] = queue(store)
    with claimed(worklist(database)) as held:
        held.complete({}, b"")
    assert upkeep.stalled(30) == []
    database.change(AGE.format(table="build", column="executed_at"))
    assert upkeep.stalled(30) == [("analyse", build)]


def test_a_run_whose_builds_are_in_is_stalled_without_its_vote(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    one, two = queue(store, named("a"), named("b"))
    database.change(AGE.format(table="run", column="created_at"))
    with store.transaction() as tx:
        [run] = tx.finish_build(one, Outcome.PASSED, [])
    assert upkeep.stalled(30) == []
    with store.transaction() as tx:
        tx.finish_build(two, Outcome.PASSED, [])
    assert upkeep.stalled(30) == []
    database.change(AGE.format(table="build", column="finished_at"))
    assert upkeep.stalled(30) == [("vote", run)]


def test_a_running_run_without_builds_is_stalled(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    with store.transaction() as tx:
        run = start(tx, post_submit_run())
    database.change(AGE.format(table="run", column="created_at"))
    assert upkeep.stalled(30) == [("vote", run)]


def test_what_failed_is_not_stalled_until_it_may_be_tried_again(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    with store.transaction() as tx:
        event = tx.add_event("review", b"d", "patchset-created", 7, b"")
    database.change(AGE.format(table="event", column="received_at"))
    upkeep.record_step_failure(Task.HANDLE_EVENT, event, "the server is away", max_attempts=8)
    assert upkeep.stalled(30) == []
    database.change("UPDATE setback SET next_at = now()")
    assert upkeep.stalled(30) == [("handle_event", event)]
    database.change("UPDATE setback SET is_dead = true")
    assert upkeep.stalled(30) == []
    upkeep.clear_step_failure(Task.HANDLE_EVENT, event)
    assert upkeep.stalled(30) == [("handle_event", event)]


def test_setbacks_wait_twice_as_long_each_time_and_end(upkeep: PostgresUpkeep, database: Database) -> None:
    waits, deaths = [], []
    for attempt in range(1, 11):
        failure = upkeep.record_step_failure(Task.PLAN, 1, NASTY, max_attempts=8)
        assert failure.attempts == attempt
        deaths.append(failure.is_dead)
        waits.append(round(database.value("SELECT extract(epoch FROM next_at - now()) FROM setback")))
    assert deaths == [False] * 7 + [True] * 3
    assert waits == pytest.approx([2, 4, 8, 16, 32, 64, 128, 256, 300, 300], abs=2)
    assert database.value("SELECT last_error FROM setback") == CLEANED


def test_each_failure_says_how_many_may_come_before_it(upkeep: PostgresUpkeep) -> None:
    assert [upkeep.record_step_failure(Task.PLAN, 1, "away", max_attempts=200).is_dead for _ in range(9)] == [
        False
    ] * 9
    assert upkeep.record_step_failure(Task.PLAN, 1, "a defect", max_attempts=8).is_dead
    assert upkeep.record_step_failure(Task.PLAN, 2, "a defect", max_attempts=1).is_dead


def test_a_pool_with_an_idle_machine_is_woken(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    first, second, third = queue(store, *(named(job, priority=9 - place) for place, job in enumerate("abc")))
    worklist(database, "perf-01")
    worklist(database, "perf-02")
    assert upkeep.idle_pools(30) == []
    database.change(AGE.format(table="build", column="created_at"))
    assert upkeep.idle_pools(30) == [("perf", third), ("perf", second)]
    with claimed(worklist(database, "perf-02")):
        assert upkeep.idle_pools(30) == [("perf", second)]
        with claimed(worklist(database, "perf-01")):
            assert upkeep.idle_pools(30) == []
    assert first not in {build for _, build in upkeep.idle_pools(30)}


def test_a_machine_that_is_hindered_is_asked_again_after_ten_seconds(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    [build] = queue(store)
    database.change(AGE.format(table="build", column="created_at"))
    machine = worklist(database)
    machine.heartbeat("steal of 20 %")
    assert upkeep.idle_pools(30) == []
    database.change("UPDATE machine SET last_seen_at = now() - interval '9 s'")
    assert upkeep.idle_pools(30) == []
    database.change("UPDATE machine SET last_seen_at = now() - interval '10 s'")
    assert upkeep.idle_pools(30) == [("perf", build)]
    machine.heartbeat("")
    assert upkeep.idle_pools(30) == [("perf", build)]


def test_a_hindered_machine_does_not_keep_work_from_a_free_one(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    first, _ = queue(store, named("a"), named("b"))
    database.change(AGE.format(table="build", column="created_at"))
    worklist(database, "perf-01").heartbeat("steal of 20 %")
    worklist(database, "perf-02")
    assert upkeep.idle_pools(30) == [("perf", first)]


def test_a_pool_that_no_machine_was_seen_in_is_named_once(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    first, _ = queue(store, named("a"), named("b"))
    database.change(AGE.format(table="build", column="created_at"))
    assert upkeep.idle_pools(30) == [("perf", first)]
    worklist(database)
    database.change("UPDATE machine SET last_seen_at = now() - interval '1 h'")
    assert upkeep.idle_pools(30) == [("perf", first)]


@pytest.mark.parametrize(
    "obstacle",
    [
        "cancel_requested = true",
        "deadline_at = now()",
        "not_before = now() + interval '1 h'",
        "state = 'running'",
    ],
)
def test_builds_that_cannot_be_claimed_wake_nobody(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database, obstacle: str
) -> None:
    queue(store)
    database.change(AGE.format(table="build", column="created_at"))
    database.change("UPDATE build SET " + obstacle)  # noqa: S608 - literals from above
    assert upkeep.idle_pools(30) == []


def test_partitions_of_the_coming_months_are_there(upkeep: PostgresUpkeep, database: Database) -> None:
    database.change("DROP TABLE result_" + database.value("SELECT to_char(now(), 'YYYY_MM')"))
    upkeep.ensure_partitions()
    upkeep.ensure_partitions()
    partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'result'::regclass"
    assert database.value(partitions) == 4  # this month, two more, and the default


def test_parts_leave_signs_of_life(upkeep: PostgresUpkeep, database: Database) -> None:
    upkeep.beat("reconcile", "2026-11-21")
    upkeep.beat("reconcile", NASTY)
    assert database.rows("SELECT part, note FROM pulse") == [("reconcile", CLEANED)]
