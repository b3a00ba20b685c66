"""Run the control plane for the fleet: its servers and its real processes, without machine workers."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import psycopg
from sqlalchemy import make_url

from bench.webhooks import free_port
from service.adapters.embedded.children import Supervisor
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey
from service.adapters.postgres.migrate import migrate
from service.cli.services.child_processes import Site, parts_of
from service.config.control import ControlSettings
from service.domain.machines.slots import Slot
from service.wiring.instances import require_instances

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


INSTANCE: Final = "fleet"
SECRET: Final = "a-secret-of-the-benchmark"
# A machine has one connection, and two more while it holds a build: for the lease and for the log.
CONNECTIONS_OF_MACHINE: Final = 3
_CONTROL_CONNECTIONS: Final = 60
_PARTS: Final = frozenset({"web", "control", "schedule"})


@dataclass(frozen=True, slots=True)
class Plane:
    """A running control plane."""

    site: Site
    supervisor: Supervisor
    administrator_url: str
    broker_socket: Path

    @property
    def settings(self) -> ControlSettings:
        """The settings of a process of the control plane."""
        site = self.site
        return ControlSettings(
            home=site.home,
            database_url=site.database_url,
            redis_url=site.redis_url,
            base_url=site.base_url,
            instance=INSTANCE,
        )

    def pids(self) -> Mapping[str, int]:
        """Return the main process of each part."""
        return {each.name: each.pid for each in self.supervisor.statuses() if each.pid is not None}


@contextmanager
def control_plane(directory: Path, git_url: str, machines: int, workers: int) -> Iterator[Plane]:
    """Start PostgreSQL with fsync, Valkey, and the parts of the control plane."""
    with ExitStack() as stack:
        postgres = EmbeddedPostgres(directory / "postgres")
        _configure(postgres, CONNECTIONS_OF_MACHINE * machines + _CONTROL_CONNECTIONS)
        valkey = EmbeddedValkey(directory / "valkey")
        stack.callback(postgres.release)
        stack.callback(valkey.release)
        supervisor = stack.enter_context(Supervisor())
        supervisor.start(postgres.prepare(directory / "log"), valkey.prepare(directory / "log"))
        migrate(postgres.owner_url, postgres.administrator_url)
        _execute(postgres.administrator_url, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        site = Site(
            home=directory / "home",
            port=free_port(),
            slots=(Slot("none", "none"),),
            redis_url=valkey.broker_url,
            database_url=postgres.owner_url,
            machine_database_url=postgres.machine_url,
            settings={
                "BENCHGATE_INSTANCE": INSTANCE,
                "BENCHGATE_GIT_URL": git_url,
                "BENCHGATE_WEBHOOK_SECRETS": json.dumps([SECRET]),
            },
        )
        site.home.mkdir()
        plane = Plane(site, supervisor, postgres.administrator_url, valkey.socket)
        require_instances(site.database_url, plane.settings)
        more = {"control": ("--concurrency", str(workers))}
        parts = [part for part in parts_of(site) if part.name in _PARTS]
        supervisor.start(*(replace(part, argv=(*part.argv, *more.get(part.name, ()))) for part in parts))
        yield plane


def _configure(postgres: EmbeddedPostgres, connections: int) -> None:
    """Let PostgreSQL count statements and take a connection of each machine, from its next start on."""
    postgres.start()
    try:
        for setting in (f"max_connections = {connections}", "shared_preload_libraries = pg_stat_statements"):
            _execute(postgres.administrator_url, f"ALTER SYSTEM SET {setting}")
    finally:
        postgres.stop()


def _execute(url: str, statement: str) -> None:
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement.encode())
