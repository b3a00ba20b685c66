"""A machine and its builds, with the rights of the machines' role."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.adapters.postgres.reading import PostgresReading
from service.domain.building.spec import BinaryKey
from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import PairRecord
from service.domain.runs.states import BuildState
from service.ports.verdict import StoredPair
from service.steps.building.build_log import BuildLog
from tests.integration.postgres.samples import CLEANED, NASTY, claimed, worklist
from tests.support.memory.files import MemoryArtifacts
from tests.support.store_samples import BUILD, named, queue

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import IsolationLevel

    from service.adapters.postgres.store import PostgresStore
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

KEY = BinaryKey("t" * 40, "b" * 64, "gcc-12")
LISTING = Listing("executor", ("BM_a",), ("BM_a",))
LAUNCHES = [
    {"suite": "executor", "side": "base", "facts": {"seconds": 1.5}},
    {"suite": "executor", "side": "patch", "facts": {"seconds": 1.4, "note": NASTY}},
]


def test_a_machine_gets_the_builds_of_its_pool_by_priority(store: PostgresStore, database: Database) -> None:
    queue(
        store, named("late", priority=2), named("other", pool="lint", priority=0), named("soon", priority=1)
    )
    with claimed(worklist(database)) as build:
        assert (build.name, build.spec, build.seed, build.attempt) == (
            "soon/1",
            BUILD.spec,
            database.value("SELECT seed FROM sequence WHERE digest = :digest", digest=BUILD.sequence),
            1,
        )
        build.watch()
    assert database.rows("SELECT state, machine FROM build WHERE job = 'soon'") == [("running", "perf-01")]


def test_a_machine_learns_the_newest_run_that_waits_for_its_build(
    store: PostgresStore, database: Database
) -> None:
    queue(store, named("perf"))
    with claimed(worklist(database)) as build:
        first = build.asked_by()
        assert first == {"run": 1, "change": "review~7", "patch_set": 1}
        database.change(
            """WITH merged AS (INSERT INTO run (kind, state, instance, project, branch, revision)
                   VALUES ('post-submit', 'running', 'gerrit', 'kv', 'master', 'c1') RETURNING id)
               INSERT INTO run_build (run_id, job, build_id, position) SELECT id, 'perf', 1, 0 FROM merged"""
        )
        assert build.asked_by() == {"run": 2, "change": None, "patch_set": None}
        database.change("UPDATE run SET state = 'cancelled' WHERE id = 2")
        assert build.asked_by() == first


def test_a_build_is_claimed_by_one_of_many_machines(store: PostgresStore, database: Database) -> None:
    queue(store, *(named(f"job{number}") for number in range(5)))
    machines = [worklist(database, f"perf-{number:02}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        builds = [build for build in pool.map(MachineWorklist.claim, machines) if build is not None]
    for build in builds:
        build.close()
    assert sorted(build.name for build in builds) == [f"job{number}/1" for number in range(5)]


def test_one_machine_claims_one_build_at_a_time(store: PostgresStore, database: Database) -> None:
    queue(store, named("a"), named("b"))
    work = worklist(database)
    with ThreadPoolExecutor(4) as pool:
        builds = [build for build in pool.map(lambda _: work.claim(), range(4)) if build is not None]
    for build in builds:
        build.close()
    assert len(builds) == 1


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
def test_a_machines_second_worker_waits_for_the_first_claim_and_gets_nothing(
    store: PostgresStore, database: Database, isolation: IsolationLevel
) -> None:
    """Two sessions at once, the first one not committed: the promise is the database's, not a worker's."""
    queue(store, named("a"), named("b"))
    worklist(database)
    isolated = database.machine.execution_options(isolation_level=isolation)
    claim = text("SELECT job FROM machine.claim('perf-01', 30)")

    def claim_too() -> list[str]:
        with isolated.begin() as second:
            second.execute(text("SELECT 1"))  # its snapshot, where it keeps one, is older than the claim
            began.set()
            return list(second.execute(claim).scalars())

    began = threading.Event()
    with ThreadPoolExecutor(1) as pool, isolated.begin() as first:
        assert first.execute(claim).scalars().all() == ["a"]
        other = pool.submit(claim_too)
        assert began.wait(10)
        with pytest.raises(TimeoutError):
            other.result(timeout=0.3)
        first.commit()
        # A session that keeps an older snapshot is refused: the claim before it changed the machine's row.
        with suppress(OperationalError) if isolation == "REPEATABLE READ" else nullcontext():
            assert other.result(timeout=10) == []
    assert database.value("SELECT count(*) FROM lease WHERE machine = 'perf-01'") == 1


def test_a_machine_may_claim_again_after_its_lease_ran_out(store: PostgresStore, database: Database) -> None:
    queue(store, named("a"), named("b"))
    work = worklist(database)
    with claimed(work):
        database.change("UPDATE lease SET expires_at = clock_timestamp() - interval '1 s'")
        with claimed(work) as second:
            assert second.name == "b/1"


def test_an_unknown_machine_gets_nothing(store: PostgresStore, database: Database) -> None:
    queue(store)
    identity = MachineIdentity("unknown", "c6i", "perf")
    assert MachineWorklist(database.machine, identity, MemoryArtifacts()).claim() is None


@pytest.mark.parametrize(
    "obstacle",
    [
        "cancel_requested = true",
        "deadline_at = now() - interval '1 s'",
        "not_before = now() + interval '1 min'",
        "state = 'executed'",
    ],
)
def test_unclaimable_builds_are_left_alone(store: PostgresStore, database: Database, obstacle: str) -> None:
    queue(store)
    database.change("UPDATE build SET " + obstacle)  # noqa: S608 - literals from above
    assert worklist(database).claim() is None


def test_signs_of_life_are_kept(database: Database) -> None:
    work = worklist(database)
    database.change("UPDATE machine SET last_seen_at = now() - interval '1 h'")
    work.heartbeat()
    assert database.value("SELECT now() - last_seen_at < interval '1 min' FROM machine")
    database.change("UPDATE machine SET last_seen_at = now() - interval '1 h'")
    assert work.claim() is None
    assert database.value("SELECT now() - last_seen_at < interval '1 min' FROM machine")


def test_a_machine_tells_what_keeps_it_from_work_until_it_tells_otherwise(database: Database) -> None:
    work = worklist(database)
    told = []
    for obstacle in ("other work takes 97% of its CPUs " + NASTY, None, ""):
        work.heartbeat(obstacle)
        told += [machine.obstacle for machine in PostgresReading(database.owner).machines()]
    assert told == ["other work takes 97% of its CPUs " + CLEANED] * 2 + [""]


def test_a_worker_of_the_version_before_still_leaves_signs_of_life(database: Database) -> None:
    worklist(database).heartbeat("steal")
    database.change("UPDATE machine SET last_seen_at = now() - interval '1 h'")
    with database.machine.begin() as connection:
        connection.execute(text("SELECT * FROM machine.see('perf-01')"))
    assert database.rows("SELECT now() - last_seen_at < interval '1 min', obstacle FROM machine") == [
        (True, "steal")
    ]


def test_a_machine_is_registered_again_after_its_environment_changed(database: Database) -> None:
    work = worklist(database)
    work.register("after the update", {"kernel": NASTY})
    known = "SELECT name, fingerprint, facts FROM machine JOIN environment ON environment.id = environment_id"
    assert database.rows(known) == [("perf-01", "after the update", {"kernel": CLEANED})]


def test_pairs_outlive_the_worker_that_measured_them(store: PostgresStore, database: Database) -> None:
    queue(store)
    work = worklist(database)
    with claimed(work) as build:
        build.record(PairRecord(1, b"second"), LAUNCHES)
        build.record(PairRecord(0, b"first"), LAUNCHES)
        build.release()
    with claimed(work) as build:
        assert build.pairs() == [PairRecord(0, b"first"), PairRecord(1, b"second")]


def test_a_stored_pair_stays_as_it_was(store: PostgresStore, database: Database) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        build.record(PairRecord(0, b"first"), LAUNCHES[:1])
        build.record(PairRecord(0, b"again"), [*LAUNCHES, {"suite": "other", "side": "base", "facts": {}}])
        assert build.pairs() == [PairRecord(0, b"first")]
    assert database.value("SELECT count(*) FROM launch") == 1


def test_two_builds_that_measure_one_sequence_at_once_keep_whole_pairs(
    store: PostgresStore, database: Database
) -> None:
    queue(store, named("a"), named("b"))
    artifacts = MemoryArtifacts()
    one, two = (worklist(database, name, artifacts=artifacts) for name in ("perf-01", "perf-02"))
    with claimed(one) as first, claimed(two) as second, ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(build.record, PairRecord(pair, raw), launches)
            for pair in range(12)
            for build, raw, launches in ((first, b"one", LAUNCHES), (second, b"two", LAUNCHES[::-1]))
        ]
        for job in jobs:
            job.result()
        assert [each.pair for each in first.pairs()] == list(range(12))
        assert first.pairs() == second.pairs()


def test_control_reads_which_pairs_were_disturbed(store: PostgresStore, database: Database) -> None:
    [build_id] = queue(store)
    quiet, disturbed = {"disturbed": False}, {"disturbed": True}
    unknown: dict[str, bool] = {}
    with claimed(worklist(database)) as build:
        for pair, facts in ((0, (quiet, quiet)), (1, (quiet, disturbed)), (2, (unknown, unknown))):
            sides = zip(("base", "patch"), facts, strict=True)
            build.record(
                PairRecord(pair, b"raw"), [{"suite": "executor", "side": s, "facts": f} for s, f in sides]
            )
        build.record(PairRecord(0, b"raw", 1), LAUNCHES)
    with store.transaction() as tx:
        sequence = tx.builds.lock(build_id).sequence_id
        assert sequence is not None
        assert tx.measurements.disturbed_pairs(sequence) == {0: False, 1: True, 2: False}


def test_control_reads_what_the_machine_stored(store: PostgresStore, database: Database) -> None:
    [build_id] = queue(store)
    artifacts = MemoryArtifacts()
    with claimed(worklist(database, artifacts=artifacts)) as build:
        build.fix_listings([LISTING])
        build.record(PairRecord(0, b"raw"), LAUNCHES)
    with store.transaction() as tx:
        sequence = tx.builds.lock(build_id).sequence_id
        assert sequence is not None
        assert tx.measurements.listings(sequence) == (LISTING,)
        assert tx.measurements.stored_pairs(sequence) == [StoredPair(0, artifacts.put(b"raw"))]
    assert database.value("SELECT facts ->> 'note' FROM launch WHERE side = 'patch'") == CLEANED


def test_an_executed_build_waits_for_its_analysis(store: PostgresStore, database: Database) -> None:
    [build_id] = queue(store)
    artifacts = MemoryArtifacts()
    database.change("DELETE FROM outbox")
    with claimed(worklist(database, artifacts=artifacts)) as build:
        log = BuildLog()
        log.write(b"the log")
        with build.publish(log, build.watch):
            build.complete({"outcome": None, "note": NASTY})
    with store.transaction() as tx:
        record = tx.builds.lock(build_id)
    assert (record.state, record.machine) == (BuildState.EXECUTED, "perf-01")
    assert record.execution == {"outcome": None, "note": CLEANED}
    assert artifacts.get(database.value("SELECT artifact FROM log_chunk")) == b"the log"
    assert database.value("SELECT count(*) FROM lease") == 0
    assert database.value("SELECT payload FROM outbox") == {
        "task": "analyse",
        "entity": build_id,
        "pool": "control",
    }


@pytest.mark.parametrize(("delay", "attempt"), [(0.0, 0), (20.0, 1)])
def test_a_released_build_waits_where_a_fault_was_met(
    store: PostgresStore, database: Database, delay: float, attempt: int
) -> None:
    queue(store)
    work = worklist(database)
    with claimed(work) as build:
        build.release(delay)
    assert database.rows("SELECT state, attempt FROM build") == [("queued", attempt)]
    assert database.value("SELECT not_before > now() FROM build") == bool(delay)


def test_the_first_binary_kept_under_a_key_stays(store: PostgresStore, database: Database) -> None:
    queue(store)
    with claimed(worklist(database)) as build:
        assert build.find(KEY) is None
        build.keep(KEY, "artifact one", {"files": ["build/a"]})
        build.keep(KEY, "artifact two", {})
        assert build.find(KEY) == "artifact one"
