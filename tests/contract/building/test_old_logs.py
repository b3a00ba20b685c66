"""Store contract: old logs and failures to drop, and artifacts that may go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import pytest

from service.adapters.postgres.building.old_logs import PostgresOldLogs
from service.adapters.postgres.store import PostgresStore
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import Scope, TriageState
from service.domain.failures.signature import signature_of
from service.ports.access import Author
from service.ports.failures.storing import BuildFailures, KnownChange, NewKnown
from tests.support.memory.old_logs import DAY, HOUR, MemoryOldLogs
from tests.support.store_samples import named, post_submit_run, start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.ports.runs.upkeep import OldLogs
    from service.ports.store import Transaction
    from tests.support.postgres import Database, Server

A, B, C = "a" * 64, "b" * 64, "c" * 64
NAMES: Final = {
    "launch": "INSERT INTO launch (sequence_id, variant, pair, suite, side, build_id, artifact, facts)"
    " SELECT sequence_id, 0, 0, 's', 'base', id, :artifact, '{}' FROM build WHERE job = 'other'",
    "kept_binary": "INSERT INTO kept_binary (digest, artifact, manifest, build_id)"
    " SELECT 'd', :artifact, '{}', id FROM build WHERE job = 'other'",
    "build": "UPDATE build SET log = :artifact WHERE job = 'other'",
    "tests": "UPDATE build SET execution = jsonb_build_object('tests', cast(:artifact AS text))"
    " WHERE job = 'other'",
}


def failure_of_job(job: str) -> Failure:
    return Failure(FailureKind.TEST, job, "it failed")


def make_known(tx: Transaction, failure: Failure, state: str = "confirmed") -> int:
    scope = Scope(instance="review", project="kv_engine")
    author = Author(account="1000003", name="Bob")
    new = NewKnown(signature=signature_of(failure), scope=scope, bug="MB-1", reason="flaky", days=1)
    known = tx.known.make(new, author)
    tx.known.change(known.id, KnownChange(state=TriageState(state), bug="MB-1", assignee=""), author)
    return known.id


class Site(Protocol):
    @property
    def logs(self) -> OldLogs: ...

    def add_log(self, job: str, *artifacts: str, ended: float | None, is_failed: bool = False) -> None:
        """Add a build with a log that ended some days ago; None: it runs."""

    def add_failures(self, job: str, *, ended: float, is_matched: bool = False) -> None:
        """Add a build with failures that ended some days ago; known failures may match them."""

    def name(self, what: str, artifact: str) -> None:
        """Let a row of that kind name an artifact."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""


@dataclass
class MemorySite:
    logs: MemoryOldLogs = field(default_factory=MemoryOldLogs)

    def add_log(self, job: str, *artifacts: str, ended: float | None, is_failed: bool = False) -> None:
        self.logs.logs[job] = artifacts, None if ended is None else self.logs.now - ended * DAY
        if is_failed:
            self.logs.failed.add(job)

    def add_failures(self, job: str, *, ended: float, is_matched: bool = False) -> None:
        self.logs.failures[job] = self.logs.now - ended * DAY
        if is_matched:
            self.logs.matched.add(job)

    def name(self, what: str, artifact: str) -> None:
        self.logs.named.add(artifact)

    def wait(self, seconds: float) -> None:
        self.logs.now += seconds


class PostgresSite:
    def __init__(self, database: Database) -> None:
        self.logs = PostgresOldLogs(database.owner)
        self._store = PostgresStore(database.owner)
        self._database = database

    def _add_build(self, job: str) -> int:
        with self._store.transaction() as tx:
            run = start(tx, post_submit_run(job.ljust(40, "0")))
            return tx.builds.add(run, 0, named(job))

    def add_log(self, job: str, *artifacts: str, ended: float | None, is_failed: bool = False) -> None:
        build = self._add_build(job)
        for number, artifact in enumerate(artifacts):
            self._database.change(
                "INSERT INTO log_chunk VALUES (:build, 1, :number, :number * 10, 0, 10, :artifact)",
                build=build,
                number=number,
                artifact=artifact,
            )
        self._database.change("INSERT INTO log_end VALUES (:build, 1, 0, 0, '')", build=build)
        if ended is not None:
            self._end(build, "FAILURE" if is_failed else "SUCCESS", ended)

    def _end(self, build: int, result: str, ended: float) -> None:
        self._database.change(
            "UPDATE build SET state = 'finished', result = :result,"
            " finished_at = now() - make_interval(secs => :seconds) WHERE id = :build",
            build=build,
            result=result,
            seconds=ended * DAY,
        )

    def add_failures(self, job: str, *, ended: float, is_matched: bool = False) -> None:
        build = self._add_build(job)
        with self._store.transaction() as tx:
            tx.failures.store_failures(build, BuildFailures((failure_of_job(job),)))
            if is_matched:
                tx.failures.keep_matches(build, {(build, 0): make_known(tx, failure_of_job(job))})
        self._end(build, "FAILURE", ended)
        self._database.change(
            "UPDATE signature SET last_seen_at = now() - make_interval(secs => :seconds)"
            " WHERE subject = :job",
            job=job,
            seconds=ended * DAY,
        )

    def name(self, what: str, artifact: str) -> None:
        self._add_build("other")
        self._database.change(NAMES[what], artifact=artifact)

    def wait(self, seconds: float) -> None:
        for table, column in (("build", "finished_at"), ("unneeded_artifact", "since")):
            earlier = f"UPDATE {table} SET {column} = {column} - make_interval(secs => :seconds)"  # noqa: S608
            self._database.change(earlier, seconds=seconds)


class TestOldLogs:
    @pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.integration)])
    def site(self, request: pytest.FixtureRequest) -> Iterator[Site]:
        if request.param == "memory":
            yield MemorySite()
            return
        server: Server = request.getfixturevalue("server")
        with server.database() as database:
            yield PostgresSite(database)

    def test_a_log_is_forgotten_after_90_days_and_its_artifacts_may_go_an_hour_later(
        self, site: Site
    ) -> None:
        site.add_log("old", A, B, ended=91)
        site.add_log("young", C, ended=89)
        site.add_log("running", C, ended=None)
        assert (site.logs.drop_old_logs(9), site.logs.unneeded_artifacts(9)) == (1, [])
        site.wait(HOUR + 1)
        assert sorted(site.logs.unneeded_artifacts(9)) == [A, B]
        assert site.logs.drop_old_logs(9) == 0
        site.logs.drop_artifacts([A, B])
        assert site.logs.unneeded_artifacts(9) == []

    def test_the_log_of_a_failed_build_is_kept_for_400_days(self, site: Site) -> None:
        site.add_log("failed", A, ended=399, is_failed=True)
        site.add_log("older", B, ended=401, is_failed=True)
        assert site.logs.drop_old_logs(9) == 1
        site.wait(HOUR + 1)
        assert site.logs.unneeded_artifacts(9) == [B]

    def test_logs_are_forgotten_a_few_at_a_time(self, site: Site) -> None:
        for job in ("one", "two", "three"):
            site.add_log(job, A, ended=100)
        assert [site.logs.drop_old_logs(2) for _ in range(3)] == [2, 1, 0]

    def test_an_artifact_of_another_log_stays(self, site: Site) -> None:
        site.add_log("old", A, ended=91)
        site.add_log("young", A, ended=1)
        site.logs.drop_old_logs(9)
        site.wait(HOUR + 1)
        assert site.logs.unneeded_artifacts(9) == []
        site.wait(90 * DAY)
        assert site.logs.drop_old_logs(9) == 1
        site.wait(HOUR + 1)
        assert site.logs.unneeded_artifacts(9) == [A]

    @pytest.mark.parametrize("what", NAMES)
    def test_an_artifact_with_another_reference_stays(self, site: Site, what: str) -> None:
        site.add_log("old", A, B, ended=91)
        site.name(what, A)
        site.logs.drop_old_logs(9)
        site.wait(HOUR + 1)
        assert site.logs.unneeded_artifacts(9) == [B]

    def test_failures_are_forgotten_after_400_days_a_few_builds_at_a_time(self, site: Site) -> None:
        for job, ended in (("one", 401), ("two", 402), ("three", 403), ("young", 399)):
            site.add_failures(job, ended=ended)
        assert [site.logs.drop_old_failures(2) for _ in range(3)] == [2, 1, 0]

    def test_failures_that_a_known_failure_matched_stay(self, site: Site) -> None:
        site.add_failures("old", ended=500, is_matched=True)
        assert site.logs.drop_old_failures(9) == 0


@pytest.mark.integration
@pytest.mark.parametrize("state", ["confirmed", "fixed", "invalid", "infrastructure"])
def test_a_signature_that_a_person_judged_stays_and_a_proposal_goes(server: Server, state: str) -> None:
    with server.database() as database:
        site = PostgresSite(database)
        for job in ("judged", "proposed", "nobody", "young"):
            site.add_failures(job, ended=399 if job == "young" else 401)
        with PostgresStore(database.owner).transaction() as tx:
            judged = make_known(tx, failure_of_job("judged"), state)
            make_known(tx, failure_of_job("proposed"))
        database.change("UPDATE known_failure SET state = 'untriaged' WHERE id <> :id", id=judged)
        assert site.logs.drop_old_failures(9) == 3
        subjects = database.rows("SELECT subject FROM signature ORDER BY subject")
        assert subjects == [("judged",), ("young",)]
        assert database.rows("SELECT id FROM known_failure") == [(judged,)]
        assert database.value("SELECT count(*) FROM failure") == 1


@pytest.mark.integration
def test_every_column_with_an_artifact_is_asked(server: Server) -> None:
    """A new column that names artifacts must keep them: add it to the query, and here."""
    with server.database() as database:
        columns = database.rows(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND (column_name LIKE '%artifact%' OR column_name IN ('log', 'tests'))"
        )
    assert set(columns) == {
        ("build", "log"),
        ("kept_binary", "artifact"),
        ("launch", "artifact"),
        ("log_chunk", "artifact"),
        ("unneeded_artifact", "artifact"),
    }
