"""Transactions, passing faults and exclusive sections."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError

from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.store import PostgresStore
from service.adapters.review.gerrit.events import parse_event
from service.domain.values.errors import Transient
from service.domain.values.identity import RunKind, SeriesKey
from service.steps.review.receive_event import receive_events
from tests.support.store_samples import change, named, post_submit_run, queue, start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.adapters.postgres.machines.worklist import ClaimedBuild, MachineWorklist
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from service.ports.machines import Claimed, Worklist
    from service.ports.runs.upkeep import Upkeep
    from service.ports.store import Store
    from tests.support.postgres import Database

    def is_a_store(found: PostgresStore) -> Store:
        return found

    def is_upkeep(found: PostgresUpkeep) -> Upkeep:
        return found

    def is_a_worklist(found: MachineWorklist) -> Worklist:
        return found

    def is_claimed(found: ClaimedBuild) -> Claimed:
        return found


pytestmark = pytest.mark.integration


def test_a_lost_connection_is_a_passing_fault(store: PostgresStore, database: Database) -> None:
    def lose() -> None:
        with store.transaction() as tx:
            tx.changes.upsert(change())
            database.change(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            tx.changes.upsert(change(8))

    with pytest.raises(Transient, match="database: "):
        lose()
    with store.transaction() as tx:
        assert tx.changes.upsert(change()).is_current


def test_an_unreachable_server_is_a_passing_fault() -> None:
    with pytest.raises(Transient), PostgresStore(make_engine("postgresql://127.0.0.1:1/x")).transaction():
        pass


def test_a_deadlock_is_a_passing_fault(store: PostgresStore) -> None:
    one, two = queue(store, named("a"), named("b"))
    both_hold = threading.Barrier(2, timeout=20)

    def lock(first: int, second: int) -> str:
        try:
            with store.transaction() as tx:
                tx.builds.lock(first)
                both_hold.wait()
                tx.builds.lock(second)
        except Transient as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(2) as pool:
        ends = sorted(pool.map(lock, (one, two), (two, one)))
    assert ends == ["", "database: deadlock detected"]


def test_a_violated_constraint_is_no_passing_fault(store: PostgresStore) -> None:
    with store.transaction() as tx:
        run = start(tx, post_submit_run())
        tx.builds.add(run, 0, named("a"))
    with pytest.raises(IntegrityError), store.transaction() as tx:
        tx.builds.add(run, 1, named("a"))


def test_an_exclusive_section_is_for_one_process_and_never_waits(
    database: Database, store: PostgresStore
) -> None:
    other = PostgresStore(database.owner)
    with (
        store.exclusive("sweep") as ours,
        other.exclusive("sweep") as theirs,
        other.exclusive("reconcile") as another,
    ):
        assert (ours, theirs, another) == (True, False, True)
    with other.exclusive("sweep") as theirs:
        assert theirs


def test_an_exclusive_section_is_free_before_its_session_ends(
    database: Database, store: PostgresStore
) -> None:
    found: list[bool] = []

    def enter(_: object) -> None:
        with store.exclusive("sweep") as is_ours:
            found.append(is_ours)

    event.listen(database.owner, "close_detached", enter, once=True)
    with store.exclusive("sweep"):
        pass
    assert found == [True]


def test_the_same_events_received_twice_at_once_do_not_block_each_other(
    store: PostgresStore, database: Database
) -> None:
    bodies = [b'{"type": "patchset-created", "change": {"number": %d}}' % n for n in range(1, 41)]

    def record_comments(bodies: Sequence[bytes]) -> list[int | None]:
        return receive_events(store, parse_event, "review", bodies)

    with ThreadPoolExecutor(2) as pool:
        there, back = pool.map(record_comments, (bodies, bodies[::-1]))

    assert there == back[::-1]
    assert database.value("SELECT count(*) FROM event WHERE deliveries = 2") == len(bodies)
    assert database.value("SELECT count(*) FROM outbox") == 2 * len(bodies)


def test_a_child_process_uses_no_connection_of_its_parent(store: PostgresStore, database: Database) -> None:
    with store.transaction() as tx:
        tx.changes.upsert(change())
    ours = database.value("SELECT pg_backend_pid()")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(database.value("SELECT pg_backend_pid()")).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        theirs = int(answer.read())
    os.waitpid(child, 0)
    assert theirs != ours
    assert database.value("SELECT pg_backend_pid()") == ours


def test_a_series_has_the_unit_of_the_newest_results(store: PostgresStore, database: Database) -> None:
    [build_id] = queue(store)
    series = SeriesKey("instance", "project", "master", "perf", "cv-perf", "executor", "BM_a", "PeakBytes")
    for unit in ("", "B"):
        with store.transaction() as tx:
            build = tx.builds.lock(build_id)
            tx.measurements.store_results(build, RunKind.CHECK, {series: (unit, "lower")}, [], [])

    assert database.value("SELECT unit FROM series") == "B"
