"""Starts and stops a whole Benchgate on this machine."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from service.adapters.embedded.children import Status, Supervisor
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey
from service.adapters.postgres.migrate import migrate
from service.cli.services.parts import Site, parts_of
from service.cli.services.preconditions import check_host, make_home
from service.config import ControlSettings, MachineSettings
from service.domain.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


@contextmanager
def running_site(
    home: Path,
    port: int,
    pool: str,
    report: Callable[[Status], None],
    settings: Mapping[str, str] | None = None,
) -> Iterator[tuple[Site, Supervisor]]:
    """Everything started and ready; everything stopped at the end.

    Servers named by BENCHGATE_DATABASE_URL and BENCHGATE_REDIS_URL are used, others are started below
    ``home``. ``port`` 0 takes a free one. ``settings`` are further BENCHGATE_ variables of all parts.
    What is made meanwhile, by this process too, is readable by this user alone.

    Raises:
        BadInput: a setting cannot be used.
        Unfit: no sandbox, no such port or no such home here; nothing was started.
        Permanent: a part did not start; the others are stopped again.
    """
    home = home.absolute()
    check_host(port, settings or {})
    with ExitStack() as stack:
        stack.callback(os.umask, os.umask(0o077))
        make_home(home)
        logs = home / "log"
        supervisor = stack.enter_context(Supervisor(report))
        database, machine_database = _database(home, logs, supervisor, stack)
        broker = _broker(home, logs, supervisor, stack)
        migrate(database)
        inherited = {name: value for name, value in os.environ.items() if name.startswith("BENCHGATE_")}
        site = Site(
            home=home,
            port=port or _free_port(),
            pool=pool,
            redis_url=broker,
            database_url=database,
            machine_database_url=machine_database,
            settings={**_without_servers(inherited), **(settings or {})},
        )
        supervisor.start(*parts_of(site))
        yield site, supervisor


def _database(home: Path, logs: Path, supervisor: Supervisor, stack: ExitStack) -> tuple[str, str]:
    given = ControlSettings().database_url
    if given:
        machine = MachineSettings().machine_database_url
        if not machine:
            raise BadInput(
                "BENCHGATE_MACHINE_DATABASE_URL is needed beside BENCHGATE_DATABASE_URL: the same database "
                "as role benchgate_machine (ALTER ROLE benchgate_machine LOGIN PASSWORD '...')",
                "settings",
            )
        return given, machine
    server = EmbeddedPostgres(home / "postgres")
    child = server.prepare(logs)
    _release_last(stack, supervisor, server.release)
    supervisor.start(child)
    address = server.address
    return address.owner_url, address.machine_url or address.owner_url


def _broker(home: Path, logs: Path, supervisor: Supervisor, stack: ExitStack) -> str:
    given = ControlSettings().redis_url
    if given:
        return given
    server = EmbeddedValkey(home / "valkey")
    child = server.prepare(logs)
    _release_last(stack, supervisor, server.release)
    supervisor.start(child)
    return server.address.broker_url


def _release_last(stack: ExitStack, supervisor: Supervisor, release: Callable[[], None]) -> None:
    """Give the directory free only when the server in it has been stopped."""
    stack.callback(release)
    # Stopping twice is harmless; it must come before the release.
    stack.callback(supervisor.stop)


def _without_servers(inherited: Mapping[str, str]) -> dict[str, str]:
    planes = {
        "BENCHGATE_DATABASE_URL",
        "BENCHGATE_MACHINE_DATABASE_URL",
        "BENCHGATE_REDIS_URL",
        "BENCHGATE_HOME",
    }
    return {name: value for name, value in inherited.items() if name not in planes}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
