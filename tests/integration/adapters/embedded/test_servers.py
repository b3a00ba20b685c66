"""Run the embedded servers as real processes."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import redis
from sqlalchemy import make_url

from service.adapters.embedded.children import ChildState, Supervisor
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey
from service.domain.values.errors import Permanent, Unfit
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[4]
# A life of the product: both servers, one row and one key, until somebody kills it.
SUPERVISED = """
import json, sys
from pathlib import Path
import psycopg, redis
from sqlalchemy import make_url
from service.adapters.embedded.children import Supervisor
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey

place = Path(sys.argv[1])
database, queue = EmbeddedPostgres(place / "postgres"), EmbeddedValkey(place / "valkey")
with Supervisor() as supervisor:
    supervisor.start(database.prepare(place / "log"), queue.prepare(place / "log"))
    url = make_url(database.owner_url)
    with psycopg.connect(
        host=url.query["host"], dbname=url.database, user=url.username, password=url.password
    ) as connection:
        connection.execute("CREATE TABLE kept (word text)")
        connection.execute("INSERT INTO kept VALUES ('row')")
    with redis.Redis(unix_socket_path=str(queue.socket)) as client:
        client.set("kept", "key")
    print(json.dumps([status.pid for status in supervisor.statuses()]), flush=True)
    supervisor.run(lambda: False)
"""


def connect(address: str, password: str | None = None) -> psycopg.Connection[Any]:
    url = make_url(address)
    host = url.query["host"]
    assert isinstance(host, str)
    secret = password or url.password
    return psycopg.connect(
        host=host, user=url.username, password=secret, dbname=url.database, autocommit=True
    )


def ask(address: str, statement: str) -> Any:  # noqa: ANN401 - whatever the column holds
    with closing(connect(address)) as connection:
        row = connection.execute(statement.encode()).fetchone()
        return None if row is None else row[0]


def get(server: EmbeddedValkey, key: str) -> object:
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        return client.get(key)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory with a path as short as an installation's."""
    path = Path(tempfile.mkdtemp(prefix="bg"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def database() -> Iterator[EmbeddedPostgres]:
    path = Path(tempfile.mkdtemp(prefix="bg"))
    server = EmbeddedPostgres(path / "postgres")
    yield server.start(durable=False)
    server.stop()
    shutil.rmtree(path)


class TestPostgres:
    def test_owner_and_machine_are_two_roles_of_one_database(self, database: EmbeddedPostgres) -> None:
        who = "SELECT current_user || '@' || current_database()"
        assert ask(database.owner_url, who) == "benchgate@benchgate"
        assert ask(database.machine_url, who) == "benchgate_machine@benchgate"

    def test_the_machine_role_cannot_create_anything(self, database: EmbeddedPostgres) -> None:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            ask(database.machine_url, "CREATE TABLE mine (word text)")

    def test_the_owner_has_no_right_beyond_its_database(self, database: EmbeddedPostgres) -> None:
        wide = "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication FROM pg_roles"
        assert ask(database.owner_url, f"{wide} WHERE rolname = current_user") is False

    def test_a_wrong_password_is_refused(self, database: EmbeddedPostgres) -> None:
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            connect(database.owner_url, password="guess")

    def test_it_has_no_network_address(self, database: EmbeddedPostgres) -> None:
        assert ask(database.owner_url, "SHOW listen_addresses") == ""

    def test_an_interrupted_first_start_is_completed(self, place: Path) -> None:
        half = place / "postgres" / "unfinished"
        half.mkdir(parents=True)
        (half / "PG_VERSION").write_text("18\n")
        server = EmbeddedPostgres(place / "postgres")
        assert ask(server.start(durable=False).owner_url, "SELECT 1") == 1
        server.stop()
        assert not half.exists()

    def test_a_reused_process_id_does_not_block_a_start(self, place: Path) -> None:
        server = EmbeddedPostgres(place / "postgres")
        server.start(durable=False)
        server.stop()
        stale = place / "postgres" / "cluster" / "postmaster.pid"
        stale.write_text(f"{os.getpid()}\n{stale.parent}\n0\n5432\n\n\n0 0\nready\n")
        assert ask(server.start(durable=False).owner_url, "SELECT 1") == 1
        server.stop()

    def test_an_orphaned_server_is_ended_first(self, place: Path) -> None:
        left = EmbeddedPostgres(place / "postgres")
        child = left.prepare(place, durable=False)
        assert child.ready is not None
        with subprocess.Popen(
            (*child.launcher, *child.argv), env=child.env, stderr=subprocess.DEVNULL
        ) as old:
            assert eventually(child.ready)
            left.release()
            server = EmbeddedPostgres(place / "postgres")
            assert ask(server.start(durable=False).owner_url, "SELECT 1") == 1
            assert old.wait(10) == 0
            server.stop()

    def test_a_lost_role_password_is_replaced_and_a_lost_cluster_password_is_reported(
        self, place: Path
    ) -> None:
        server = EmbeddedPostgres(place / "postgres")
        before = server.start(durable=False).owner_url
        server.stop()
        (place / "postgres" / "passwords" / "benchgate").unlink()
        after = server.start(durable=False).owner_url
        assert before != after
        assert ask(after, "SELECT 1") == 1
        server.stop()
        (place / "postgres" / "passwords" / "postgres").unlink()
        with pytest.raises(Permanent, match="restore the file"):
            server.start()


class TestValkey:
    def test_data_survives_a_restart_and_a_full_server_drops_nothing(self, place: Path) -> None:
        server = EmbeddedValkey(place / "valkey")
        with redis.Redis(unix_socket_path=str(server.start().socket)) as client:
            settings = client.config_get("maxmemory-policy", "appendonly", "appendfsync", "port")
        server.stop()
        assert settings == {
            "maxmemory-policy": "noeviction",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "port": "0",
        }

    def test_the_address_for_celery_reaches_it(self, place: Path) -> None:
        from kombu import Connection  # noqa: PLC0415 - slow to import, and needed here only

        server = EmbeddedValkey(place / "valkey")
        with (
            Connection(server.start().broker_url) as connection,
            closing(connection.SimpleQueue("q")) as queue,
        ):
            queue.put("word")
            assert queue.get(timeout=10).payload == "word"
        server.stop()


class TestDirectory:
    def test_both_work_on_a_path_too_long_for_a_socket(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runtime = place / "run"
        runtime.mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        deep = place / ("deep " * 25)
        database, queue = EmbeddedPostgres(deep / "postgres"), EmbeddedValkey(deep / "valkey")
        assert ask(database.start(durable=False).owner_url, "SELECT 1") == 1
        assert get(queue.start(durable=False), "absent") is None
        sockets = list(runtime.iterdir())
        assert [oct(socket.stat().st_mode & 0o777) for socket in sockets] == ["0o700"] * 2
        queue.stop()
        database.stop()
        assert list(runtime.iterdir()) == []

    def test_a_socket_directory_of_another_user_is_refused(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
        server = EmbeddedValkey(place / ("deep" * 30))
        server.start(durable=False)
        (made,) = place.glob("benchgate-*")
        server.stop()
        made.symlink_to("/tmp")  # noqa: S108 - the trap
        with pytest.raises(Unfit, match="is not a directory of user"):
            server.start()

    def test_nothing_outside_the_directory_changes(self, place: Path) -> None:
        """A closed home stays closed, no account is created, and other directories do not change."""
        home = place / "home"
        home.mkdir(mode=0o700)
        (home / "neighbour").write_text("mine")
        seen = [home, home / "neighbour", place, Path("/etc/passwd")]
        before = [(path.stat().st_mode, path.stat().st_uid, path.stat().st_size) for path in seen]
        database, queue = EmbeddedPostgres(home / "var" / "postgres"), EmbeddedValkey(home / "var" / "valkey")
        database.start(durable=False)
        queue.start(durable=False)
        after = [(path.stat().st_mode, path.stat().st_uid, path.stat().st_size) for path in seen]
        made = {path.lstat().st_uid for path in home.rglob("*")}
        queue.stop()
        database.stop()
        assert [row[:2] for row in after] == [row[:2] for row in before]
        assert after[1] == before[1]
        assert after[3] == before[3]
        assert sorted(path.name for path in home.iterdir()) == ["neighbour", "var"]
        assert made == {os.geteuid()}

    def test_passwords_and_sockets_are_private(self, place: Path) -> None:
        server = EmbeddedPostgres(place / "postgres")
        server.start(durable=False)
        inside = place / "postgres"
        modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (inside / "passwords").iterdir()}
        assert modes == dict.fromkeys(("postgres", "benchgate", "benchgate_machine"), "0o600")
        closed = [inside, inside / "socket", inside / "passwords", inside / "cluster"]
        assert [oct(path.stat().st_mode & 0o777) for path in closed] == ["0o700"] * 4
        server.stop()

    def test_a_directory_in_use_is_refused_and_names_the_process(self, place: Path) -> None:
        first = EmbeddedValkey(place / "valkey")
        first.start()
        with pytest.raises(Unfit, match=f"process {os.getpid()}"):
            EmbeddedValkey(place / "valkey").start()
        assert get(first, "absent") is None
        first.stop()


class TestKilledSupervisor:
    def test_the_children_end_and_the_next_start_has_all_data(self, place: Path) -> None:
        argv = (sys.executable, "-c", SUPERVISED, str(place))
        with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE) as supervisor:
            assert supervisor.stdout is not None
            handles = [os.pidfd_open(child) for child in json.loads(supervisor.stdout.readline())]
            supervisor.kill()
        # A process handle can be read when its process has ended.
        ended = [bool(select.select([handle], [], [], 20.0)[0]) for handle in handles]
        assert ended == [True, True]
        database, queue = EmbeddedPostgres(place / "postgres"), EmbeddedValkey(place / "valkey")
        assert ask(database.start().owner_url, "SELECT word FROM kept") == "row"
        assert get(queue.start(), "kept") == b"key"
        queue.stop()
        database.stop()


class TestKilledDatabase:
    def test_it_is_restarted_with_its_roles(self, place: Path) -> None:
        database = EmbeddedPostgres(place / "postgres")
        with Supervisor(first_delay=0.05) as supervisor:
            supervisor.start(database.prepare(place, durable=False))
            first = supervisor.statuses()[0].pid
            assert first is not None
            os.kill(first, signal.SIGKILL)
            deadline = time.monotonic() + 30

            def is_back() -> bool:
                status = supervisor.statuses()[0]
                return status.state is ChildState.READY and status.pid != first

            supervisor.run(lambda: is_back() or time.monotonic() > deadline)
            assert ask(database.owner_url, "SELECT 1") == 1
        database.release()
