"""Hold, end and lose the lease of a build."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.engine import connect_apart
from service.adapters.postgres.machines.held_leases import HeldLeases
from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.domain.building.spec import BinaryKey
from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import PairRecord
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Cancelled, LeaseLost, Overdue, Transient
from tests.integration.postgres.samples import claimed, worklist
from tests.support.memory.files import MemoryArtifacts
from tests.support.store_samples import change, queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.adapters.postgres.machines.worklist import ClaimedBuild
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

KEY = BinaryKey("t" * 40, "b" * 64, "gcc-12")
LAUNCHES = [{"suite": "executor", "side": "base", "facts": {"seconds": 1.5}}]
EXPIRE = "UPDATE lease SET expires_at = clock_timestamp() - interval '1 s'"


def until(claim: Callable[[], bool]) -> None:
    """Wait for something that another thread does."""
    deadline = time.monotonic() + 20
    while not claim():
        assert time.monotonic() < deadline, "it did not come"
        threading.Event().wait(0.01)


def is_stopped_by(build: ClaimedBuild, error: type[Exception]) -> bool:
    """Enter a phase, which renews the lease at once unless an earlier renewal has stopped the build."""
    try:
        build.enter("measure")
    except error:
        return True
    return False


CHUNK = {"number": 0, "start": 0, "line": 0, "size": 5, "artifact": "0" * 64}
WRITES: dict[str, Callable[[ClaimedBuild], object]] = {
    "find": lambda build: build.find(KEY),
    "keep": lambda build: build.keep(KEY, "artifact", {}),
    "fix_listings": lambda build: build.fix_listings([Listing("stale", (), ())]),
    "pairs": lambda build: build.pairs(),
    "record": lambda build: build.record(PairRecord(0, b"stale"), LAUNCHES),
    "execute": lambda build: build.complete({"outcome": "passed"}),
    "add_log_chunk": lambda build: build._call("add_log_chunk", **CHUNK),  # noqa: SLF001 - of a thread
    "show_log_end": lambda build: build._call("show_log_end", start=0, line=0, data=b"stale"),  # noqa: SLF001
    "release": lambda build: build.release(),
}
STATE = """
SELECT (SELECT count(*) FROM launch), (SELECT count(*) FROM kept_binary), (SELECT listing FROM sequence),
       state, attempt, machine, execution, log, (SELECT machine FROM lease), (SELECT count(*) FROM outbox),
       (SELECT count(*) FROM log_chunk), (SELECT data FROM log_end)
FROM build
"""


@pytest.mark.parametrize("write", WRITES)
def test_a_replaced_worker_can_do_nothing(store: PostgresStore, database: Database, write: str) -> None:
    queue(store)
    with claimed(worklist(database)) as stale:
        database.change(EXPIRE)
        database.change("UPDATE build SET state = 'queued'")
        with claimed(worklist(database, "perf-02")):
            before = database.rows(STATE)
            with pytest.raises(LeaseLost):
                WRITES[write](stale)
            assert database.rows(STATE) == before


@pytest.mark.parametrize("write", WRITES)
def test_an_expired_lease_blocks_its_worker_even_without_a_successor(
    store: PostgresStore, database: Database, write: str
) -> None:
    queue(store)
    with claimed(worklist(database)) as stale:
        database.change(EXPIRE)
        before = database.rows(STATE)
        with pytest.raises(LeaseLost):
            WRITES[write](stale)
        assert database.rows(STATE) == before


def test_a_lease_that_ran_out_cannot_be_renewed(store: PostgresStore, database: Database) -> None:
    queue(store)
    with claimed(worklist(database, lease_seconds=0.6)) as build:
        database.change("UPDATE lease SET token = token + 1")
        until(lambda: is_stopped_by(build, LeaseLost))
        with pytest.raises(LeaseLost):
            build.enter("measure")


def test_a_machine_holds_a_build_while_its_lease_lasts(store: PostgresStore, database: Database) -> None:
    queue(store)
    leases = HeldLeases(database.owner)
    assert not leases.is_held_by("perf-01")
    with claimed(worklist(database, "perf-01")):
        held = [name for name in ("perf-01", "perf-02", "perf", "", "perf-01\0") if leases.is_held_by(name)]
        assert held == ["perf-01"]
        database.change(EXPIRE)
        assert not leases.is_held_by("perf-01")


def test_a_lease_is_renewed_while_the_work_goes_on(store: PostgresStore, database: Database) -> None:
    queue(store)
    with claimed(worklist(database, lease_seconds=0.9)) as build:
        first = database.value("SELECT expires_at FROM lease")
        until(lambda: database.value("SELECT clock_timestamp() > :first", first=first))
        build.watch()
        build.record(PairRecord(0, b"raw"), LAUNCHES)


def test_the_phase_is_shown_at_once(store: PostgresStore, database: Database) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        build.enter("measure")
        until(lambda: database.value("SELECT phase FROM build") == "measure")


def test_the_progress_of_a_phase_is_shown_with_the_next_renewal(
    store: PostgresStore, database: Database
) -> None:
    queue(store)
    with claimed(worklist(database, lease_seconds=3.0)) as build:
        build.tell("fetch dependencies")
        until(lambda: database.value("SELECT phase FROM build") == "fetch dependencies")
        build.enter("confirm")
        build.tell("relink 6 of up to 12, pair 10")
        until(lambda: database.value("SELECT phase FROM build") == "confirm, relink 6 of up to 12, pair 10")
        build.enter("second opinion")
        build.tell("second opinion, pair 3 of 24")
        until(lambda: database.value("SELECT phase FROM build") == "second opinion, pair 3 of 24")


def test_an_unwanted_build_is_cancelled_and_may_still_report(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database
) -> None:
    [build_id] = queue(store)
    with claimed(worklist(database)) as build:
        with store.transaction() as tx:
            tx.runs.cancel(tx.changes.upsert(change()).change_id, keep_patch_set=None)
        upkeep.drop_unwanted_builds()
        until(lambda: is_stopped_by(build, Cancelled))
        build.complete({"outcome": Outcome.CANCELLED})
    with store.transaction() as tx:
        assert tx.builds.lock(build_id).state is BuildState.EXECUTED


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_build_past_its_deadline_is_overdue_and_may_still_report(
    store: PostgresStore, database: Database, *, is_cancelled: bool
) -> None:
    [build_id] = queue(store)
    with claimed(worklist(database)) as build:
        database.change(
            "UPDATE build SET deadline_at = now(), cancel_requested = :is", **{"is": is_cancelled}
        )
        until(lambda: is_stopped_by(build, Overdue))
        build.complete({"outcome": Outcome.INFRASTRUCTURE})
    with store.transaction() as tx:
        assert tx.builds.lock(build_id).state is BuildState.EXECUTED


def test_a_paused_worker_notices_it_by_its_own_clock(store: PostgresStore, database: Database) -> None:
    """Like SIGSTOP from inside: no renewal, and then a later time."""
    queue(store)
    now = [100.0]
    identity = MachineIdentity("perf-01", "c6i", "perf")
    work = MachineWorklist(database.machine, identity, MemoryArtifacts(), 30.0, clock=lambda: now[0])
    work.register("f", {})
    with claimed(work) as build:
        build.watch()
        now[0] += 29.9
        build.watch()
        now[0] += 0.1
        with pytest.raises(LeaseLost):
            build.watch()


def test_a_worker_that_cannot_reach_the_database_stops_when_the_lease_is_over(
    store: PostgresStore, database: Database
) -> None:
    queue(store)
    name = database.value("SELECT current_database()")
    with claimed(worklist(database, lease_seconds=1.0)) as build:
        end_sessions(database, f"REVOKE CONNECT ON DATABASE {name} FROM PUBLIC, benchgate_machine")
        until(lambda: is_stopped_by(build, LeaseLost))
        with pytest.raises(Transient):
            build.record(PairRecord(0, b"raw"), LAUNCHES)


def test_a_restart_of_the_database_costs_no_build(store: PostgresStore, database: Database) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        end_sessions(database)
        build.record(PairRecord(0, b"raw"), LAUNCHES)
        end_sessions(database)
        build.enter("analyse")
        until(lambda: database.value("SELECT phase FROM build") == "analyse")
        build.complete({})


def end_sessions(database: Database, first: str = "SELECT") -> None:
    """End every session of the machines, as a restart does; by their own role, which may."""
    with connect_apart(database.machine) as connection:
        database.change(first)
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user"
            " AND datname = current_database() AND pid <> pg_backend_pid()"
        )
