"""Close a host: it begins nothing, and readers of a build that waits for it learn who closed it and why."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from getpass import getuser
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from sqlalchemy import text

from service import cli
from service.adapters.postgres.reading import PostgresReading
from service.domain.machines.closures import Closing
from service.domain.runs.health import DegradationKind, Patience, degradations
from service.domain.values.errors import BadInput, NotFound
from service.ports.machines import Upcoming
from service.steps.machines.close_hosts import close_hosts, reopen_hosts
from tests.integration.postgres.machines.test_hosts import exclusive, host, machine, ordinary
from tests.integration.postgres.samples import claimed
from tests.support.store_samples import queue

if TYPE_CHECKING:
    from pathlib import Path

    from service.adapters.postgres.store import PostgresStore
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

DRAINED = "host was drained by ann: new kernel"


def drain(store: PostgresStore, *hosts: str, since: timedelta | None = None) -> None:
    begins_at = None if since is None else datetime.now(UTC) - since
    close_hosts(store, hosts, Closing(begins_at=begins_at, reason="new kernel", closed_by="ann"), "ann")


def test_a_closed_host_finishes_its_build_and_claims_no_other(
    store: PostgresStore, database: Database
) -> None:
    machines = host(database)
    queue(store, ordinary("unit"), ordinary("tidy", "lint"), exclusive("bench"))
    with claimed(machines["host/linux"]) as unit:
        drain(store, "host")
        assert machines["host/lint"].peek() is Upcoming.WAIT
        unit.complete({})
    for each in machines.values():
        assert each.peek() is Upcoming.NOTHING
        assert each.claim() is None
    elsewhere = machine(database, "other/lint", "lint", host="other")
    assert elsewhere.peek() is Upcoming.ORDINARY
    reopen_hosts(store, ["host"], "ben")
    assert machines["host/lint"].peek() is Upcoming.ORDINARY


def test_a_claim_that_began_before_the_host_was_closed_gets_nothing(
    store: PostgresStore, database: Database
) -> None:
    host(database)
    queue(store, ordinary("unit"))
    claim = text("SELECT count(*) FROM machine.claim('host/linux', 30.0, true)")
    with database.machine.begin() as connection:
        connection.execute(text("SELECT now()"))
        drain(store, "host")
        assert connection.execute(claim).scalar() == 0


def test_a_host_is_closed_under_the_lock_of_its_claims(store: PostgresStore, database: Database) -> None:
    """So no claim gets a build after it; hosts are closed by name, so that nobody waits in a circle."""
    for name in ("perf-01", "perf-02"):
        machine(database, name, "linux", host=name)
    lock = "SELECT pg_try_advisory_xact_lock(hashtext('host perf-01'))"
    with store.transaction() as tx:
        tx.closures.close("perf-01", Closing(reason="new kernel", closed_by="ann"))
        assert database.value(lock) is False
    assert database.value(lock) is True
    drain(store, "perf-02", "perf-01")
    assert database.rows("SELECT host FROM closure ORDER BY id") == [("perf-01",), ("perf-01",), ("perf-02",)]


def test_a_drain_begins_by_the_clock_of_the_database(store: PostgresStore, database: Database) -> None:
    machine(database, "host", "linux")
    drain(store, "host")
    assert database.value("SELECT begins_at <= now() FROM closure")
    assert database.value("SELECT machine.is_closed('host')")


def test_of_two_closures_the_longer_one_is_shown(store: PostgresStore, database: Database) -> None:
    """Also if it began later; a planned one is no closure yet."""
    machine(database, "host", "linux")
    now, hour = datetime.now(UTC), timedelta(hours=1)
    windows = {
        "planned": (hour, None),
        "brief": (-3 * hour, hour),
        "lasting": (-hour, None),
        "day": (-hour, 24 * hour),
    }
    for reason, (begin, end) in windows.items():
        ends_at = None if end is None else now + end
        closing = Closing(begins_at=now + begin, ends_at=ends_at, reason=reason, closed_by="ann")
        close_hosts(store, ["host"], closing, "ann")
    [shown] = PostgresReading(database.owner).machines()
    assert shown.closure
    assert shown.closure.reason == "lasting"
    assert database.rows("SELECT reason FROM current_closure") == [("lasting",)]


def test_a_drained_machine_does_not_hide_that_another_is_silent(
    store: PostgresStore, database: Database
) -> None:
    queue(store, exclusive("bench"))
    for name in ("perf-01", "perf-02", "perf-09"):
        machine(database, name, "perf", host=name)
    drain(store, "perf-01", since=timedelta(hours=1))
    database.change("UPDATE build SET created_at = now() - interval '30 min'")
    silent = "UPDATE machine SET last_seen_at = now() - cast(:ago AS interval) WHERE name = :name"
    for name, ago in (("perf-02", "1 h"), ("perf-09", "30 d")):
        database.change(silent, name=name, ago=ago)
    reading = PostgresReading(database.owner)

    def reported() -> list[DegradationKind]:
        kinds = {DegradationKind.MACHINES_HINDERED, DegradationKind.MACHINES_SILENT}
        return [each.kind for each in degradations(reading.condition(), Patience()) if each.kind in kinds]

    why = "perf-01 was drained by ann: new kernel; perf-02 has not reported for a minute"
    assert reading.build("bench", 1).build.waits == f"1st in the queue of pool perf; {why}"
    assert reported() == [DegradationKind.MACHINES_SILENT]
    drain(store, "perf-02", since=timedelta(hours=1))
    assert reported() == [DegradationKind.MACHINES_HINDERED]


@pytest.mark.parametrize("silent", ["1 s", "1 h"])
def test_who_waits_for_a_closed_host_learns_why(
    store: PostgresStore, database: Database, silent: str
) -> None:
    """Also while the host is switched off, and for a build that an obstacle does not keep from it."""
    machine(database, "host", "linux")
    queue(store, ordinary("unit"))
    drain(store, "host", since=timedelta(hours=1))
    database.change("UPDATE build SET created_at = now() - interval '1 h'")
    database.change("UPDATE machine SET last_seen_at = now() - cast(:silent AS interval)", silent=silent)
    reading = PostgresReading(database.owner)
    assert reading.build("unit", 1).build.waits == f"1st in the queue of pool linux; {DRAINED}"
    [problem] = [
        each
        for each in degradations(reading.condition(), Patience())
        if each.kind in {DegradationKind.MACHINES_HINDERED, DegradationKind.MACHINES_SILENT}
    ]
    assert (problem.kind, problem.facts[-1]) == (DegradationKind.MACHINES_HINDERED, DRAINED)


def test_one_open_host_is_enough(store: PostgresStore, database: Database) -> None:
    queue(store, ordinary("unit"))
    for name in ("perf-01", "perf-02"):
        machine(database, name, "linux", host=name)
    drain(store, "perf-01", since=timedelta(hours=1))
    database.change("UPDATE build SET created_at = now() - interval '30 min'")
    reading = PostgresReading(database.owner)
    assert [each.hindered_at for each in reading.condition().queues] == [None]
    closures = {each.name: each.closure for each in reading.machines()}
    assert closures["perf-02"] is None
    assert closures["perf-01"] is not None
    assert closures["perf-01"].reason == "new kernel"


def test_the_log_names_who_closed_and_who_reopened(store: PostgresStore, database: Database) -> None:
    machine(database, "host", "linux")
    drain(store, "host")
    reopen_hosts(store, ["host"], "ben")
    assert database.rows("SELECT kind, actor, subject FROM audit.entry ORDER BY id") == [
        ("host closed", "ann", "host host"),
        ("host reopened", "ben", "host host"),
    ]


def test_the_command_drains_a_pool_lists_why_and_resumes(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("perf-01", "perf-02"):
        machine(database, name, "perf", host=name)
    machine(database, "lint-01", "lint", host="lint-01")
    monkeypatch.setenv("BENCHGATE_DATABASE_URL", database.owner_url)
    monkeypatch.setenv("BENCHGATE_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("BENCHGATE_INSTANCE", "review")
    monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path))

    def command(*words: str) -> str:
        done = CliRunner().invoke(cli.benchgate, ["machine", *words])
        if isinstance(done.exception, BadInput | NotFound):
            return str(done.exception)
        assert done.exit_code == 0, done.output
        return done.output

    day = f"{datetime.now(UTC) + timedelta(days=7):%Y-%m-%d}"
    window = ("--from", f"{day}T06:00", "--until", f"{day}T08:00", "--reason", "firmware")
    assert "perf-02 begins no build from now on" in command("drain", "--pool", "perf", "--reason", "new rack")
    command("maintain", "lint-01", *window)
    listed = command("list").splitlines()
    planned = f"will be drained from {day} 06:00 UTC until {day} 08:00 UTC by {getuser()}: firmware"
    assert re.fullmatch(f"lint-01 +lint +unknown +idle; {planned}", listed[1])
    assert re.fullmatch(f"perf-01 +perf +unknown +drained by {getuser()}: new rack", listed[2])
    assert "perf-01 takes builds again" in command("resume", "perf-01")
    assert "perf-01 was not drained" in command("resume", "perf-01")
    assert "no machine of a host perf-09" in command("drain", "perf-01", "perf-09", "--reason", "new rack")
    assert "no machine of this pool" in command("resume", "--pool", "none")
    assert database.value("SELECT count(*) FROM current_closure") == 1
