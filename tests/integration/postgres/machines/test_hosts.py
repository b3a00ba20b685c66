"""Several machines on one host: a build that compares two sides has the host to itself."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy import text

from service.adapters.postgres.machines.calls import call
from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.domain.values.errors import LeaseLost
from service.ports.machines import Upcoming
from tests.integration.postgres.samples import claimed
from tests.support.memory.files import MemoryArtifacts
from tests.support.store_samples import named, post_submit_run, queue, start

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from service.ports.runs.builds import NewBuild
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

POOLS: Final = {"host": "perf", "host/linux": "linux", "host/linux/2": "linux", "host/lint": "lint"}
ORDERS: Final = [60, pytest.param(200, marks=pytest.mark.nightly)]
Place = tuple[int, datetime, int]  # in the queue: priority, turn and build
DIES: Final = 0.15  # the share of builds with a killed worker


def machine(
    database: Database, name: str, pool: str, *, host: str = "host", beside: int = 2
) -> MachineWorklist:
    identity = MachineIdentity(name, pool, pool, host, beside)
    work = MachineWorklist(database.machine, identity, MemoryArtifacts(), 30.0)
    work.register("fingerprint-" + name, {})
    return work


def host(database: Database, *, beside: int = 2) -> dict[str, MachineWorklist]:
    """The machines of a host with three pools; one has two."""
    return {name: machine(database, name, pool, beside=beside) for name, pool in POOLS.items()}


def ordinary(job: str, pool: str = "linux", priority: int = 0) -> NewBuild:
    return named(job, pool=pool, priority=priority, is_exclusive=False, sequence="")


def exclusive(job: str, priority: int = 0) -> NewBuild:
    return named(job, priority=priority, sequence="")


class TestExclusion:
    def test_a_comparing_build_waits_until_the_host_is_free(
        self, store: PostgresStore, database: Database
    ) -> None:
        machines = host(database)
        queue(store, ordinary("unit"), exclusive("bench"))
        assert machines["host"].peek() is Upcoming.NOTHING
        with claimed(machines["host/linux"]) as unit:
            assert machines["host"].peek() is Upcoming.WAIT
            assert machines["host"].claim() is None
            unit.complete({})
        assert machines["host"].peek() is Upcoming.EXCLUSIVE
        with claimed(machines["host"]) as bench:
            assert bench.name == "bench/1"

    def test_no_other_build_runs_beside_a_comparing_one(
        self, store: PostgresStore, database: Database
    ) -> None:
        machines = host(database)
        queue(store, exclusive("bench"), ordinary("unit"), ordinary("tidy", "lint"))
        with claimed(machines["host"]) as bench:
            for name in POOLS:
                assert machines[name].peek() is Upcoming.WAIT
                assert machines[name].claim() is None
            bench.release()
        assert machines["host"].peek() is Upcoming.EXCLUSIVE

    def test_other_builds_run_beside_each_other_up_to_the_number_of_the_host(
        self, store: PostgresStore, database: Database
    ) -> None:
        machines = host(database, beside=2)
        queue(store, ordinary("a"), ordinary("b"), ordinary("c", "lint", priority=1))
        with claimed(machines["host/linux"]), claimed(machines["host/linux/2"]) as second:
            assert machines["host/lint"].claim() is None
            second.complete({})
            with claimed(machines["host/lint"]) as third:
                assert third.name == "c/1"

    def test_a_pool_leaves_room_for_earlier_builds_of_another_pool(
        self, store: PostgresStore, database: Database
    ) -> None:
        """The worker that ends a build has the hint of the next one already, and would always come first."""
        machines = host(database, beside=1)
        queue(store, ordinary("tidy", "lint"), ordinary("unit"), ordinary("format", "lint"))
        with claimed(machines["host/lint"]) as tidy:
            tidy.complete({})
        assert machines["host/lint"].claim() is None
        database.change("UPDATE machine SET last_seen_at = now() - interval '2 min' WHERE pool = 'linux'")
        assert machines["host/lint"].peek() is Upcoming.ORDINARY
        with claimed(machines["host/linux"]) as unit:
            unit.complete({})
        with claimed(machines["host/lint"]) as last:
            assert last.name == "format/1"

    def test_a_long_queue_of_other_pools_does_not_delay_a_claim(self, database: Database) -> None:
        host(database, beside=4)
        database.change(
            """INSERT INTO build (job, number, kind, pool, state, priority, is_voting, is_exclusive, spec,
                                  deadline_at)
               SELECT 'job', n, 'ctest', (ARRAY['perf', 'linux', 'lint'])[1 + n % 3], 'queued', 0, true,
                      false, '{}', now() + interval '1 day' FROM generate_series(1, 12000) AS n"""
        )
        with database.owner.begin() as connection:
            connection.execute(text("SET LOCAL statement_timeout = '5s'"))  # it takes 0.2 s, and took 20 s
            found = connection.execute(text("SELECT build_id FROM machine.eligible('host/linux')")).scalars()
            assert next(iter(found)) == 1

    def test_the_builds_of_another_host_are_no_hindrance(
        self, store: PostgresStore, database: Database
    ) -> None:
        machines = host(database)
        other = machine(database, "other", "perf", host="other")
        queue(store, ordinary("unit"), exclusive("bench"))
        with claimed(machines["host/linux"]), claimed(other) as bench:
            assert bench.name == "bench/1"

    def test_an_ordinary_build_gives_way_to_an_earlier_comparing_one_of_its_host(
        self, store: PostgresStore, database: Database
    ) -> None:
        machines = host(database)
        queue(store, ordinary("first"), exclusive("bench"), ordinary("later"))
        with claimed(machines["host/linux"]):
            assert machines["host/linux/2"].peek() is Upcoming.WAIT
            machines["host"].heartbeat("other work takes 90% of its CPUs")
            assert machines["host/linux/2"].peek() is Upcoming.ORDINARY
            machines["host"].heartbeat("")
            database.change("UPDATE machine SET last_seen_at = now() - interval '2 min' WHERE name = 'host'")
            assert machines["host/linux/2"].peek() is Upcoming.ORDINARY

    def test_a_comparing_build_gives_way_to_an_earlier_ordinary_one_of_its_host(
        self, store: PostgresStore, database: Database
    ) -> None:
        """The worker that ends a comparing build has the hint of the next one already."""
        machines = host(database)
        queue(store, exclusive("bench"), ordinary("unit"), exclusive("next"))
        with claimed(machines["host"]) as bench:
            bench.complete({})
        assert machines["host"].claim() is None
        with claimed(machines["host/linux"]) as unit:
            unit.complete({})
        with claimed(machines["host"]) as bench:
            assert bench.name == "next/1"

    def test_a_machine_that_may_not_measure_claims_ordinary_builds_of_its_pool(
        self, store: PostgresStore, database: Database
    ) -> None:
        work = host(database)["host"]
        queue(store, exclusive("bench"), ordinary("unit", "perf"))
        assert work.claim(may_measure=False) is None
        work.heartbeat("other work takes 90% of its CPUs")
        build = work.claim(may_measure=False)
        assert build is not None
        build.close()
        assert build.name == "unit/1"

    def test_many_comparing_builds_hide_no_other_build_from_a_disturbed_machine(
        self, store: PostgresStore, database: Database
    ) -> None:
        work = host(database)["host"]
        queue(store, *(exclusive(f"bench-{number}") for number in range(25)), ordinary("unit", "perf"))
        work.heartbeat("other work takes 90% of its CPUs")
        build = work.claim(may_measure=False)
        assert build is not None
        build.close()
        assert build.name == "unit/1"

    def test_a_worker_of_the_version_before_has_a_host_of_its_own(
        self, store: PostgresStore, database: Database
    ) -> None:
        host(database)
        queue(store, ordinary("unit"), exclusive("bench"))
        with database.machine.begin() as connection:
            run = connection.exec_driver_sql
            run("SELECT * FROM machine.introduce('old', 'perf', 'perf', 'fingerprint', '{}')")
            assert run("SELECT job FROM machine.claim('old', 30)").scalars().all() == ["bench"]
        assert database.value("SELECT host FROM machine WHERE name = 'old'") == "old"

    def test_the_host_is_free_when_the_lease_of_a_killed_worker_ran_out(
        self, store: PostgresStore, upkeep: PostgresUpkeep, database: Database
    ) -> None:
        machines = host(database)
        _, bench = queue(store, ordinary("unit"), exclusive("bench"))
        killed = machines["host/linux"].claim()
        assert killed is not None
        killed.close()
        assert machines["host"].claim() is None
        database.change("UPDATE lease SET expires_at = clock_timestamp() - interval '1 s'")
        with claimed(machines["host"]) as build:
            assert build.name == "bench/1"
            with pytest.raises(LeaseLost):
                killed.complete({})
            assert upkeep.requeue_lost_builds(3) == []
            assert machines["host/linux"].claim() is None
            assert database.value("SELECT state FROM build WHERE id <> :bench", bench=bench) == "queued"

    def test_machines_that_claim_at_the_same_moment_follow_one_another(
        self, store: PostgresStore, database: Database
    ) -> None:
        machines = list(host(database).values())
        builds = (ordinary("unit"), exclusive("bench"), ordinary("again"), ordinary("tidy", "lint"))
        queue(store, *builds)
        for number in range(40):
            database.change("DELETE FROM lease")
            # The order in which they were queued is the one in which they are claimed.
            order = "UPDATE build SET state = 'queued', priority = (id * :number) % 5"
            database.change(order, number=number % 4 + 1)
            with ThreadPoolExecutor(len(machines)) as pool:
                got = [build for build in pool.map(MachineWorklist.claim, machines) if build is not None]
            for build in got:
                build.close()
            names = {build.name for build in got}
            assert names
            assert names == {"bench/1"} or "bench/1" not in names
            assert len(names) <= 2


@dataclass
class Simulation:
    """Workers of one host that claim and end builds in a random order, and are killed now and then."""

    database: Database
    upkeep: PostgresUpkeep
    draw: random.Random
    queued: dict[int, tuple[Place, bool]] = field(default_factory=dict)  # place and class by build
    pools: dict[int, str] = field(default_factory=dict)
    running: dict[str, tuple[int, int]] = field(default_factory=dict)  # build and token by machine
    classes: dict[int, bool] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)

    def add(self, store: PostgresStore, builds: list[NewBuild]) -> None:
        with store.transaction() as tx:
            run = start(tx, post_submit_run(f"{self.draw.getrandbits(160):040x}"))
            numbers = [tx.builds.add(run, place, build) for place, build in enumerate(builds)]
        for build, number in zip(builds, numbers, strict=True):
            self.queued[number] = (self._place(number), build.is_exclusive)
            self.classes[number] = build.is_exclusive
            self.pools[number] = build.pool

    def step(self) -> None:
        name = self.draw.choice(list(POOLS))
        if name not in self.running:
            self._claim(name)
        elif self.draw.random() < DIES:
            self._kill(name)
        else:
            build, token = self.running.pop(name)
            call(self.database.machine, "execute", build=build, token=token, execution={}, log="")
            self.done.add(build)

    def _claim(self, name: str) -> None:
        rows = call(self.database.machine, "claim", name=name, seconds=30.0, may_measure=True)
        if not rows:
            return
        build = rows[0].build_id
        place, is_exclusive = self.queued.pop(build)
        earlier = {
            other
            for other, (its_place, its_class) in self.queued.items()
            if its_class is not is_exclusive and its_place < place
        }
        assert not earlier, "a build of the other class waited longer"
        ahead = 0 if is_exclusive else self._ahead(name, place)
        self.running[name] = (build, rows[0].token)
        held = [self.classes[number] for number, _ in self.running.values()]
        assert held == [True] or not any(held), "a comparing build ran beside another build"
        assert len(held) + ahead <= 2, "no room is left for earlier builds of another pool"

    def _place(self, build: int) -> Place:
        query = "SELECT priority, turn FROM build WHERE id = :build"
        [(priority, turn)] = self.database.rows(query, build=build)
        return priority, turn, build

    def _ahead(self, name: str, place: Place) -> int:
        """Count the earlier ordinary builds that idle machines of other pools could claim."""
        waiting = [self.pools[other] for other, (its_place, _) in self.queued.items() if its_place < place]
        idle = [pool for machine, pool in POOLS.items() if machine not in self.running]
        return sum(min(waiting.count(pool), idle.count(pool)) for pool in set(idle) - {POOLS[name]})

    def _kill(self, name: str) -> None:
        build, _ = self.running.pop(name)
        expire = "UPDATE lease SET expires_at = clock_timestamp() - interval '1 s' WHERE build_id = :build"
        self.database.change(expire, build=build)
        assert self.upkeep.requeue_lost_builds(100) == []
        self.queued[build] = (self._place(build), self.classes[build])


@pytest.mark.parametrize("orders", ORDERS)
def test_in_random_orders_no_build_runs_beside_a_comparing_one_and_none_starves(
    store: PostgresStore, upkeep: PostgresUpkeep, database: Database, orders: int
) -> None:
    host(database)
    steps = 0
    for seed in range(orders):
        draw = random.Random(seed)  # noqa: S311 - an order to repeat, no secret
        simulation = Simulation(database, upkeep, draw)
        share = draw.choice((0.15, 0.5, 0.85))  # one class may flood the other
        for wave in range(2):
            builds = [
                exclusive(f"bench-{seed}-{wave}-{number}", draw.choice((0, 1)))
                if draw.random() < share
                else ordinary(
                    f"unit-{seed}-{wave}-{number}", draw.choice(("linux", "lint")), draw.choice((0, 1))
                )
                for number in range(draw.randint(2, 6))
            ]
            simulation.add(store, builds)
            for _ in range(draw.randint(0, 12)):
                simulation.step()
        wanted = set(simulation.classes)
        for _ in range(600):
            if simulation.done == wanted:
                break
            simulation.step()
        assert simulation.done == wanted, f"order {seed}"
        steps += len(wanted)
    assert steps > 5 * orders
