"""A full disk loses nothing and leaves nothing half-written; work goes on when there is room again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.building.http_artifacts import HttpArtifacts, MachineToken
from service.adapters.building.scratch import DirectoryScratch
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.faults import translated
from service.adapters.postgres.migrate import migrate
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.room import DatabaseRoom
from service.adapters.postgres.store import PostgresStore
from service.adapters.review.console.state import ConsoleState
from service.adapters.runs.queue import CeleryQueue
from service.adapters.sources.git.mirror import GitSource
from service.domain.values.errors import DiskFull, Transient
from service.ports.building import ArtifactKind
from service.ports.runs.queue import Task
from service.steps.runs.check_health import HealthCheck, Status
from service.web.request_deadline import DeadlineProtocol
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.integration.postgres.machines.test_hosts import ordinary
from tests.support.building.served_artifacts import TOKEN, served
from tests.support.small_disk import fill, required_disk
from tests.support.store_samples import post_submit_run, start
from tests.support.waiting import eventually
from tests.support.web import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = "CREATE TABLE filler AS SELECT repeat('x', 900) AS line FROM generate_series(1, 20000)"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with required_disk(tmp_path / "disk", 4) as directory:
        yield directory


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory with a short path, for sockets."""
    directory = Path(mkdtemp(prefix="bg-"))
    yield directory
    shutil.rmtree(directory)


def files_below(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if path.is_file() and path.suffix != ".lock"}


def test_an_artifact_is_stored_whole_or_not_at_all(disk: Path) -> None:
    artifacts, data = DirectoryArtifacts(disk / "artifacts"), os.urandom(1 << 20)
    key = artifacts.put(b"before")
    rest = fill(disk)
    before = files_below(disk)
    with pytest.raises(DiskFull, match="No space left"):
        artifacts.put(data)
    assert files_below(disk) == before
    assert artifacts.get(key) == b"before"
    rest.unlink()

    assert artifacts.get(artifacts.put(data)) == data


def test_a_machine_keeps_an_artifact_that_the_control_plane_cannot_store(disk: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    token, data = MachineToken("perf-01", tmp_path / "token"), os.urandom(1 << 20)
    with serving(served(disk / "served"), DeadlineProtocol) as address:
        artifacts = HttpArtifacts(address, token, ArtifactKind.BUILDS, tmp_path / "unfinished", patience=0.0)
        rest = fill(disk)
        before = files_below(disk)
        with pytest.raises(Transient, match="507") as refused:
            artifacts.put(data)
        assert refused.value.retry_after == 60.0
        assert files_below(disk) == before
        rest.unlink()

        assert artifacts.get(artifacts.put(data)) == data
        artifacts.close()


def test_a_fetch_leaves_a_mirror_that_can_be_used(disk: Path, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    first, large = repository.commit({"a": b"1"}), repository.commit({"a": os.urandom(2 << 20)})
    source = GitSource(disk / "git", lambda _: str(repository.path))
    source.fetch("engine", first)
    rest = fill(disk)
    with pytest.raises(Transient):
        source.fetch("engine", large)
    with pytest.raises(Transient):
        source.fetch("another", first)
    assert source.tree("engine", first)
    assert not list(disk.glob("git/mirrors/*/objects/pack/tmp_*"))
    rest.unlink()
    source.fetch("engine", large)
    source.fetch("another", first)

    assert source.tree("engine", large)
    assert source.tree("another", first)


def test_a_checkout_that_does_not_fit_is_transient_and_leaves_nothing(disk: Path, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    commit = repository.commit({"a": b"x" * (6 << 20)})
    source = GitSource(disk / "git", lambda _: str(repository.path))
    source.fetch("engine", commit)
    with pytest.raises(Transient), source.checkout("engine", commit):
        pass

    assert not [path for path in (disk / "git/worktrees").iterdir() if path.is_dir()]


def test_scratch_space_that_does_not_fit_is_transient(disk: Path) -> None:
    scratch = DirectoryScratch(disk / "scratch")
    rest = fill(disk)
    with scratch.directory() as directory, pytest.raises(OSError, match="No space"):
        (directory / "log").write_bytes(bytes(1 << 16))
    rest.unlink()
    with scratch.directory() as directory:
        assert (directory / "log").write_bytes(bytes(1 << 16))


def test_the_console_review_server_goes_on(disk: Path) -> None:
    state = ConsoleState(disk / "review.sqlite")
    with state.transaction() as connection:
        connection.execute("CREATE TABLE filler AS SELECT zeroblob(1000) AS data")
    rest, insert = fill(disk), "INSERT INTO filler VALUES (zeroblob(500000))"
    with pytest.raises(Transient), state.transaction() as connection:
        connection.execute(insert)
    rest.unlink()
    with state.transaction() as connection:
        connection.execute(insert)
        assert connection.execute("SELECT length(data) FROM filler").fetchall() == [(1000,), (500000,)]


def test_the_broker_takes_no_task_and_says_why(place: Path) -> None:
    with required_disk(place / "disk", 4) as directory:
        server = EmbeddedValkey(directory)
        server.start(durable=True)
        try:
            tasks = CeleryQueue(server.broker_url)
            tasks.send(Task.PLAN, 1, "")
            rest = fill(directory)
            with pytest.raises(Transient, match="did not accept a task"):
                _send_many(tasks)
            assert "MISCONF Errors writing to the AOF file: No space left on device" in tasks.check()
            rest.unlink()
            assert eventually(lambda: tasks.check() == "")
            waiting = tasks.waiting()
            tasks.send(Task.PLAN, 3000, "")
            assert tasks.waiting() == waiting + 1
        finally:
            server.stop()


def _send_many(tasks: CeleryQueue) -> None:
    for number in range(2, 2000):
        tasks.send(Task.PLAN, number, "")


def test_readyz_reports_a_full_database_and_work_resumes_with_all_that_was_stored(place: Path) -> None:
    with required_disk(place / "disk", 200) as directory:
        server = EmbeddedPostgres(directory)
        server.start(durable=True)
        migrate(server.owner_url, server.administrator_url)
        engine = make_engine(server.owner_url)
        try:
            store, now = PostgresStore(engine), [0.0]
            health = HealthCheck(
                PostgresReading(engine), checks={"database": DatabaseRoom(engine, lambda: now[0]).check}
            )
            assert not any("cannot write" in each for each in health.report().problems)
            with store.transaction() as tx:
                run = start(tx, post_submit_run())
                tx.builds.add(run, 0, ordinary("before"))
            rest = fill(directory)
            with pytest.raises(Transient, match="No space left"), translated(), engine.begin() as connection:
                connection.execute(text(ROWS))
            now[0] += 60
            report = health.report()
            assert report.status is Status.DEGRADED
            assert "database: it cannot write" in report.problems[0]
            rest.unlink()
            now[0] += 60
            assert not any("cannot write" in each for each in health.report().problems)
            with store.transaction() as tx:
                tx.builds.add(run, 1, ordinary("after"))
            frozen = engine.execution_options(postgresql_readonly=True)
            assert DatabaseRoom(frozen).check().endswith(": it is read-only")
            queued = PostgresReading(engine).queued_builds(5)
            assert [each.job for each in queued] == ["before", "after"]
        finally:
            engine.dispose()
            server.stop()
