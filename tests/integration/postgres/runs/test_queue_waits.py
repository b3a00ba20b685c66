"""Estimate from PostgreSQL how long queued builds wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import ChangeAddress
from tests.support.store_samples import change, check_run, named, start

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
SPEC = {"kind": "check", "config": {"kind": "benchmark", "suites": [{"name": "s", "program": "s"}]}}


def waiting(database: Database, finished: int) -> PostgresReading:
    """Up to three finished builds that took 10 minutes each, one that runs for 4, and two that wait."""
    store = PostgresStore(database.owner)
    for number in range(1, 7):
        with store.transaction() as tx:
            record = tx.changes.upsert(change(number))
            run = start(tx, check_run(record.patch_set_id, f"{number:040x}"))
            build = tx.builds.add(run, 0, named("cv-perf", sequence="", spec=SPEC))
            if number <= finished:
                tx.builds.finish(build, Outcome.PASSED, [])
                tx.runs.end(run, RunState.FINISHED)
        if number <= finished:
            database.change(
                "UPDATE build SET started_at = now() - interval '20 minutes',"
                " finished_at = now() - interval '10 minutes' WHERE number = :number",
                number=number,
            )
    database.change(
        "UPDATE build SET state = 'running', phase = 'measure, pair 3',"
        " started_at = now() - interval '4 minutes' WHERE number = 4"
    )
    database.change("INSERT INTO machine (name, class, pool, host) VALUES ('perf-01', 'perf', 'perf', 'h')")
    return PostgresReading(database.owner)


@pytest.fixture
def reading(database: Database) -> PostgresReading:
    return waiting(database, 3)


def waits(reading: PostgresReading) -> list[float | None]:
    found = [reading.patch_set(ChangeAddress(number)) for number in (4, 5, 6)]
    shown = [detail.patch_set.standing.wait for detail in found]
    assert [detail.builds[0].wait for detail in found] == pytest.approx(shown, abs=5)
    return [None if each is None else round(each, -1) for each in shown]


def test_a_build_waits_for_those_before_it(reading: PostgresReading) -> None:
    assert waits(reading) == [None, 360.0, 960.0]
    assert reading.patch_set(ChangeAddress(4)).patch_set.standing.is_measuring


def test_builds_that_came_before_their_job_had_run_often_wait_as_long_as_it_takes_now(
    reading: PostgresReading, database: Database
) -> None:
    database.change("UPDATE build SET usual = NULL")
    assert waits(reading) == [None, 360.0, 960.0]


@pytest.mark.parametrize(
    "news",
    [
        "UPDATE machine SET obstacle = 'busy'",
        "UPDATE machine SET last_seen_at = now() - interval '1 hour'",
        "UPDATE build SET started_at = now() - interval '1 hour' WHERE state = 'running'",
    ],
)
def test_nothing_is_estimated_from_too_little(
    reading: PostgresReading, database: Database, news: str
) -> None:
    database.change(news)
    assert waits(reading) == [None, None, None]


def test_two_builds_of_a_job_say_nothing_of_the_next(database: Database) -> None:
    assert waits(waiting(database, 2)) == [None, None, None]


def test_an_obstacle_keeps_a_machine_from_no_build_that_need_not_be_alone(
    reading: PostgresReading, database: Database
) -> None:
    database.change("UPDATE machine SET obstacle = 'busy'")
    database.change("UPDATE build SET is_exclusive = false WHERE number = 5")
    assert waits(reading) == [None, 360.0, None]
