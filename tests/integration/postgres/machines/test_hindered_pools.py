"""Report a pool in which something keeps every machine from the benchmarks that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.domain.machines.disk import Disk
from service.domain.runs.health import Patience, degradations
from tests.integration.postgres.machines.test_hosts import exclusive, host, machine, ordinary
from tests.integration.postgres.samples import claimed
from tests.support.store_samples import queue

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.domain.runs.health import PoolQueue
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

FULL = Disk(100 << 30, 1 << 30).obstacle
WORK = "other work takes 99% of its CPUs"


@pytest.fixture
def hindered(store: PostgresStore, database: Database) -> None:
    """Two machines that other work keeps from a benchmark, all for an hour."""
    queue(store, exclusive("bench"))
    for name in ("perf-01", "perf-02"):
        machine(database, name, "perf", host=name).heartbeat(WORK)
    set_back(database)


def set_back(database: Database) -> None:
    database.change("UPDATE build SET created_at = now() - interval '1 h'")
    database.change("UPDATE machine SET obstacle_since = now() - interval '1 h' WHERE obstacle <> ''")


def perf(database: Database) -> PoolQueue:
    queues = PostgresReading(database.owner).condition().queues
    return next(each for each in queues if each.pool == "perf")


@pytest.mark.usefixtures("hindered")
def test_readers_learn_what_keeps_each_machine_from_work(database: Database) -> None:
    reading = PostgresReading(database.owner)
    told = [
        each for each in degradations(reading.condition(), Patience()) if each.kind == "machines_hindered"
    ]
    assert [each.facts[-1] for each in told] == [
        f"perf-01 takes no benchmarks: {WORK}; perf-02 takes no benchmarks: {WORK}"
    ]


@pytest.mark.usefixtures("hindered")
def test_the_time_runs_until_the_obstacle_ends(database: Database) -> None:
    work = machine(database, "perf-01", "perf", host="perf-01")
    since = "SELECT obstacle_since FROM machine WHERE name = 'perf-01'"
    before = database.value(since)
    work.heartbeat("less memory")
    work.heartbeat()
    assert database.value(since) == before is not None
    work.heartbeat("")
    assert database.value(since) is None


@pytest.mark.usefixtures("hindered")
def test_one_machine_that_takes_benchmarks_is_enough(database: Database) -> None:
    machine(database, "perf-01", "perf", host="perf-01").heartbeat("")
    assert perf(database).hindered_at is None


def test_a_full_disk_keeps_a_machine_from_ordinary_builds_too(
    store: PostgresStore, database: Database
) -> None:
    queue(store, ordinary("unit", "perf"))
    machine(database, "perf-01", "perf", host="perf-01").heartbeat(WORK)
    set_back(database)
    assert perf(database).hindered_at is None

    machine(database, "perf-01", "perf", host="perf-01").heartbeat(FULL)

    assert perf(database).hindered_at is not None
    assert perf(database).hindrance == f"perf-01 takes no builds: {FULL}"
    (build,) = PostgresReading(database.owner).queued_builds(5)
    assert build.waits.endswith(f"; perf-01 takes no builds: {FULL}")


def test_a_machine_that_works_on_a_build_is_not_hindered(store: PostgresStore, database: Database) -> None:
    """Its own build may be what takes the CPUs."""
    queue(store, exclusive("bench"), ordinary("unit"))
    machines = host(database)
    machines["host"].heartbeat(WORK)
    set_back(database)
    assert perf(database).hindered_at is not None
    with claimed(machines["host/linux"]):
        assert perf(database).hindered_at is None


def test_builds_beside_others_wait_for_no_quiet_machine(store: PostgresStore, database: Database) -> None:
    queue(store, ordinary("unit", "perf"))
    machine(database, "perf-01", "perf", host="perf-01").heartbeat(WORK)
    set_back(database)
    assert (perf(database).waiting, perf(database).hindered_at) == (1, None)


@pytest.mark.parametrize("obstacle", [WORK, FULL])
@pytest.mark.usefixtures("hindered")
def test_silent_machines_are_reported_as_such(database: Database, obstacle: str) -> None:
    for name in ("perf-01", "perf-02"):
        machine(database, name, "perf", host=name).heartbeat(obstacle)
    database.change("UPDATE machine SET last_seen_at = now() - interval '1 h'")
    assert perf(database).hindered_at is None
    told = degradations(PostgresReading(database.owner).condition(), Patience())
    assert [each.kind for each in told if "machine" in each.kind] == ["machines_silent"]
