"""Run the upkeep on rows that only SQL shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.pair_record import PairRecord
from service.domain.review.change import Review
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import ChangeKey
from service.ports.runs.decisions import ReviewState
from service.ports.runs.queue import Task
from tests.integration.postgres.samples import CLEANED, NASTY, claimed, worklist
from tests.support.store_samples import named, queue

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
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


def review(number: int = 7, message: str = "Build Failed") -> Review:
    return Review(ChangeKey("review", number), "1" * 40, message, {"Verified": -1})


def test_a_settled_review_is_kept(store: PostgresStore, upkeep: PostgresUpkeep, database: Database) -> None:
    with store.transaction() as tx:
        tx.outbox.queue_review("1", review())
    outbox_id = upkeep.due_reviews()[0].outbox_id
    upkeep.postpone_review(outbox_id, 0.0, NASTY)
    assert database.value("SELECT last_error FROM outbox") == CLEANED
    upkeep.settle_review(outbox_id, ReviewState.SENT)
    upkeep.settle_review(outbox_id, ReviewState.DEAD, "late")
    assert upkeep.due_reviews() == []
    assert database.rows("SELECT state, sent_at IS NOT NULL, last_error FROM outbox") == [
        ("sent", True, None)
    ]


def test_the_version_before_can_post_a_queued_review(store: PostgresStore, database: Database) -> None:
    with store.transaction() as tx:
        tx.outbox.queue_review("1", review(message="Build Failed\n\nhttps://bench.example.com/runs/1#v1"))
    marker = database.value("SELECT payload ->> 'marker' FROM outbox")
    assert marker == "https://bench.example.com/runs/1#v1"


def test_a_build_under_a_live_lease_is_left_alone(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        assert upkeep.requeue_lost_builds(1) == []
        build.record(PairRecord(0, b"raw"), [{"suite": "a", "side": "base", "facts": {}}])


def test_an_abandoned_build_loses_its_lease_when_it_is_finished(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    queue(store)
    build = lose(database)
    assert upkeep.requeue_lost_builds(2) == []
    lose(database, "perf-02")
    for _ in range(2):  # the first caller died
        assert upkeep.requeue_lost_builds(2) == [build]
    with store.transaction() as tx:
        assert tx.builds.lock(build).state is BuildState.RUNNING
        tx.builds.finish(build, Outcome.INFRASTRUCTURE, ["the machine stopped responding 2 times"])
    assert upkeep.requeue_lost_builds(2) == []
    assert database.value("SELECT count(*) FROM lease") == 0


def test_the_wait_after_a_failure_doubles(upkeep: PostgresUpkeep, database: Database) -> None:
    waits, deaths = [], []
    for attempt in range(1, 11):
        failure = upkeep.record_step_failure(Task.PLAN, 1, NASTY, max_attempts=8)
        assert failure.attempts == attempt
        deaths.append(failure.is_dead)
        waits.append(round(database.value("SELECT extract(epoch FROM next_at - now()) FROM setback")))
    assert deaths == [False] * 7 + [True] * 3
    assert waits == pytest.approx([2, 4, 8, 16, 32, 64, 128, 256, 300, 300], abs=2)
    assert database.value("SELECT last_error FROM setback") == CLEANED


def test_a_hindered_machine_does_not_delay_a_free_one(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    first, _ = queue(store, named("a"), named("b"))
    database.change(AGE.format(table="build", column="created_at"))
    worklist(database, "perf-01").heartbeat("steal of 20 %")
    worklist(database, "perf-02")
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
def test_a_pool_is_not_woken_for_a_build_that_cannot_be_claimed(
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


def test_the_note_of_a_sign_of_life_is_cleaned(upkeep: PostgresUpkeep, database: Database) -> None:
    upkeep.beat("reconcile", "2026-11-21")
    upkeep.beat("reconcile", NASTY)
    assert database.rows("SELECT part, note FROM pulse") == [("reconcile", CLEANED)]
