"""The composition root: here, and only here, ports get their adapters."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from service.adapters import built_files, packing, relink
from service.adapters.artifacts import DirectoryArtifacts
from service.adapters.console.review import ConsoleReview
from service.adapters.gerrit.connection import Bearer, Password
from service.adapters.gerrit.review import GerritReview
from service.adapters.gerrit.stream import GerritStream
from service.adapters.git import GitSource
from service.adapters.machine import read_environment, read_load
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.listening import OutboxListener
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from service.adapters.postgres.upkeep import PostgresUpkeep
from service.adapters.postgres.worklist import MachineWorklist
from service.adapters.queue import CeleryQueue
from service.adapters.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.sandbox.host_faults import HostFaults
from service.adapters.sandbox.unsandboxed import DirectRunner
from service.adapters.toolchain import toolchain_fingerprint
from service.domain.errors import BadInput
from service.domain.events import ABOUT_CHANGES
from service.domain.links import Links
from service.steps.build_sides import Workshop
from service.steps.preflight import what_hinders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Engine

    from service.config import ControlSettings, MachineSettings
    from service.ports import Progress
    from service.ports.building import Artifacts, Sandbox
    from service.ports.reviewing import ReviewServer


_EMBEDDED: Final = "`benchgate up` starts a server of its own and sets it"
_WITHOUT_STREAM: Final = "without a stream of events the webhook and the look at what moved tell of changes"
_WITHOUT_ACCOUNT: Final = "Gerrit knows nobody else"


@dataclass(frozen=True, slots=True)
class Control:
    """The control plane: it holds the review server's credentials and the owner's database role."""

    store: PostgresStore
    upkeep: PostgresUpkeep
    reading: PostgresReading
    queue: CeleryQueue
    server: ReviewServer
    source: GitSource
    artifacts: Artifacts
    links: Links
    listener: OutboxListener
    engine: Engine

    @property
    def console(self) -> ConsoleReview:
        """The console review server.

        Raises:
            BadInput: a Gerrit is reviewed on.
        """
        if not isinstance(self.server, ConsoleReview):
            raise BadInput(
                "this needs the console review server, and BENCHGATE_GERRIT_URL is set", "settings"
            )
        return self.server

    def close(self) -> None:
        """Give every connection back."""
        self.listener.close()
        self.engine.dispose()


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine plane: a worklist and a workshop, and nothing that could vote."""

    worklist: MachineWorklist
    shop: Workshop
    progress: Progress
    introduce: Callable[[], None]
    obstacle: Callable[[], str]  # what keeps it from measuring now; takes a moment


class LoggedProgress:
    """Progress for a worker's log."""

    def say(self, text: str, done: float | None = None) -> None:
        """Log it."""
        structlog.get_logger().info("build.progress", text=text, done=done)


def build_control(settings: ControlSettings) -> Control:
    """The control plane of these settings.

    Raises:
        BadInput: the database or the broker is not set.
    """
    _need(settings.database_url, "BENCHGATE_DATABASE_URL")
    _need(settings.redis_url, "BENCHGATE_REDIS_URL")
    engine = make_engine(settings.database_url)
    return Control(
        store=PostgresStore(engine),
        upkeep=PostgresUpkeep(engine),
        reading=PostgresReading(engine),
        queue=CeleryQueue(settings.redis_url),
        server=_review_server(settings),
        source=GitSource(settings.home / "control" / "git", settings.remote),
        artifacts=DirectoryArtifacts(settings.artifacts_path),
        links=Links(settings.base_url),
        listener=OutboxListener(settings.database_url),
        engine=engine,
    )


def build_stream(settings: ControlSettings) -> GerritStream:
    """Where Gerrit's events come from.

    Raises:
        BadInput: it is not said where, or with what.
    """
    _need(settings.gerrit_ssh_host, "BENCHGATE_GERRIT_SSH_HOST", _WITHOUT_STREAM)
    user = settings.gerrit_ssh_user or settings.gerrit_user
    _need(user, "BENCHGATE_GERRIT_SSH_USER", _WITHOUT_STREAM)
    key, known_hosts = settings.gerrit_ssh_key, settings.gerrit_known_hosts
    if key is None or known_hosts is None:
        raise BadInput("BENCHGATE_GERRIT_SSH_KEY and BENCHGATE_GERRIT_KNOWN_HOSTS are needed", "settings")
    host, port = settings.gerrit_ssh_host, settings.gerrit_ssh_port
    return GerritStream(host, port, user, key, known_hosts, tuple(sorted(ABOUT_CHANGES)))


def _review_server(settings: ControlSettings) -> ReviewServer:
    if not settings.gerrit_url:
        return ConsoleReview(settings.review_path, settings.instance)
    bearer = settings.gerrit_bearer.get_secret_value()
    if not bearer:
        _need(settings.gerrit_user, "BENCHGATE_GERRIT_USER", _WITHOUT_ACCOUNT)
    password = Password(settings.gerrit_user, settings.gerrit_password.get_secret_value())
    try:
        return GerritReview(
            settings.instance,
            settings.gerrit_url,
            Bearer(bearer) if bearer else password,
            projects=settings.gerrit_projects,
        )
    except ValueError as error:
        raise BadInput(str(error), "settings") from None


def build_machine(settings: MachineSettings) -> Machine:
    """The machine plane of these settings.

    Raises:
        BadInput: the database is not set.
        Unfit: this host cannot isolate programs.
    """
    _need(settings.machine_database_url, "BENCHGATE_MACHINE_DATABASE_URL")
    engine = make_engine(settings.machine_database_url)
    artifacts = DirectoryArtifacts(settings.artifacts_path)
    worklist = MachineWorklist(
        engine, settings.machine_name, settings.pool, settings.pool, artifacts, settings.lease_seconds
    )
    home = settings.home / "machines" / settings.machine_name
    shop = build_workshop(
        home,
        settings.remote,
        tuple(settings.cpus),
        is_sandboxed=settings.sandbox != "none",
        artifacts=artifacts,
    )

    def introduce() -> None:
        environment = read_environment()
        in_force = shop.sandbox.in_force()
        facts = {**environment.to_mapping(), "in_force": dict(in_force)}
        worklist.introduce(environment.fingerprint(in_force), facts)

    def obstacle() -> str:
        return what_hinders(read_load, shop.cpus, time.sleep) if settings.waits_for_quiet else ""

    return Machine(worklist, shop, LoggedProgress(), introduce, obstacle)


def build_workshop(
    home: Path,
    remote: Callable[[str], str],
    cpus: tuple[int, ...],
    *,
    is_sandboxed: bool,
    artifacts: Artifacts | None = None,
) -> Workshop:
    """What one machine, or one desk, builds and measures with; its files are kept below ``home``.

    Raises:
        Unfit: this host cannot isolate programs; there is no silent fallback.
    """
    sandbox: Sandbox = BubblewrapSandbox() if is_sandboxed else DirectRunner()
    sandbox.in_force()
    scratch = home.absolute() / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    fingerprint, _ = toolchain_fingerprint(sandbox)
    # A worker keeps off the measured CPUs; they belong to the machine all the same.
    there = tuple(sorted(os.sched_getaffinity(0) | set(cpus)))
    return Workshop(
        source=GitSource(home.absolute() / "git", remote),
        sandbox=HostFaults(sandbox, scratch),
        artifacts=artifacts or DirectoryArtifacts(home.absolute() / "artifacts"),
        packer=packing,
        inspector=built_files,
        linkers=relink.install(home.absolute() / "linkers"),
        toolchain=fingerprint,
        cpus=cpus or there,
        host_cpus=there,
        scratch=scratch,
        read_load=read_load,
    )


def _need(value: str, name: str, otherwise: str = _EMBEDDED) -> None:
    if not value:
        raise BadInput(f"{name} is not set; {otherwise}", "settings")
