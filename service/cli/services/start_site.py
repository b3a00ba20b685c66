"""Start and stop a whole Benchgate on this machine."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from service.adapters.embedded.children import ChildStatus, Supervisor
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey
from service.adapters.postgres.migrate import migrate
from service.cli.services.child_processes import Site, parts_of
from service.cli.services.find_site import instance_of, keep_instance
from service.cli.services.preconditions import check_host, make_home
from service.config.control import ControlSettings
from service.config.machine import MachineSettings
from service.domain.machines.slots import slots_of
from service.domain.values.errors import BadInput
from service.wiring.control import failure_patterns
from service.wiring.instances import require_instances
from service.wiring.machine import name_of
from service.wiring.permitted import Permitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

# These differ between the parts, which get them one by one.
_OF_PARTS: Final = frozenset(
    {"BENCHGATE_DATABASE_URL", "BENCHGATE_MACHINE_DATABASE_URL", "BENCHGATE_REDIS_URL", "BENCHGATE_HOME"}
)


@contextmanager
def running_site(
    home: Path,
    port: int,
    pools: tuple[str, ...],
    report: Callable[[ChildStatus], None],
    settings: Mapping[str, str] | None = None,
    before_parts: Callable[[Site], None] = lambda _: None,
) -> Iterator[tuple[Site, Supervisor]]:
    """Start every part, wait until all are ready, and stop all of them at the end.

    This host takes builds from ``pools``; the pool with the benchmarks comes first. The parts use the servers
    in BENCHGATE_DATABASE_URL and BENCHGATE_REDIS_URL if these are set; otherwise this function starts servers
    below ``home``. Port 0 means any free port. ``settings`` are further BENCHGATE_ variables for all parts
    and, until the end, for this process. The first start of a ``home`` decides its instance. ``before_parts``
    is called when the database is ready and no part runs yet. Only this user can read the files that are
    created meanwhile, also those that this process creates.

    Raises:
        BadInput: a setting cannot be used, or ``home`` has another instance.
        Unfit: this host has no sandbox, or the port or home cannot be used; nothing was started.
        Permanent: a part did not start; the others have been stopped.
    """
    home = home.absolute()
    check_host(port, settings or {})
    with ExitStack() as stack:
        stack.enter_context(_environment_with(settings or {}))
        machine = MachineSettings()
        slots = slots_of(name_of(machine, home), pools, machine.builds_beside)
        control = ControlSettings()
        Permitted.read(machine, home, control.private_keys)  # so that a bad entry is refused at once
        stack.callback(os.umask, os.umask(0o077))
        make_home(home)
        failure_patterns(control)  # so that a bad file is refused at once
        control.instance = instance_of(home, control)
        postgres, valkey = EmbeddedPostgres(home / "postgres"), EmbeddedValkey(home / "valkey")
        # Registered before the supervisor, so that the servers have stopped when these are called.
        stack.callback(postgres.release)
        stack.callback(valkey.release)
        supervisor = stack.enter_context(Supervisor(report))
        database, machine_database, administrator = _given_database()
        if not database:
            supervisor.start(postgres.prepare(home / "log"))
            database, machine_database = postgres.owner_url, postgres.machine_url
            administrator = postgres.administrator_url
        if not control.redis_url:
            supervisor.start(valkey.prepare(home / "log"))
        _prepare((database, administrator), home, control)
        site = Site(
            home=home,
            port=port or _free_port(),
            slots=slots,
            redis_url=control.redis_url or valkey.broker_url,
            database_url=database,
            machine_database_url=machine_database,
            settings=_settings_of_parts(control),
            event_streams=control.event_streams if control.gerrits else (),
        )
        before_parts(site)
        supervisor.start(*parts_of(site))
        yield site, supervisor


def _prepare(urls: tuple[str, str], home: Path, settings: ControlSettings) -> None:
    """Migrate the database, and record the instance in it and in the home, unless it has another one.

    ``urls`` are those of the owner and of the administrator.
    """
    database, administrator = urls
    migrate(database, administrator)
    require_instances(database, settings)
    if not settings.gerrits:
        keep_instance(home, settings.instance)


@contextmanager
def _environment_with(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _settings_of_parts(control: ControlSettings) -> Mapping[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("BENCHGATE_") and name not in _OF_PARTS
    }
    # Several review servers have their names already.
    named = {} if control.gerrits else {"BENCHGATE_INSTANCE": control.instance}
    return {**inherited, **named}


def _given_database() -> tuple[str, str, str]:
    """Return the addresses of an external database for both planes and the administrator, empty without one.

    Only `benchgate migrate` gets the administrator's address of an external database.
    """
    database, machine_database = ControlSettings().database_url, MachineSettings().machine_database_url
    if database and not machine_database:
        raise BadInput(
            "BENCHGATE_DATABASE_URL also needs BENCHGATE_MACHINE_DATABASE_URL: the same database with "
            "the role benchgate_machine (ALTER ROLE benchgate_machine LOGIN PASSWORD '...')",
            "settings",
        )
    return database, machine_database, ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
