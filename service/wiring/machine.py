"""Composition root of the machine plane, which builds and measures but cannot vote."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import structlog

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.building.http_artifacts import HttpArtifacts, MachineToken
from service.adapters.machines.installation import goes_on, installation_id, kept_name
from service.adapters.machines.linux import read_environment, read_load
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.machines.calls import call
from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.adapters.sources.git.mirror import mirrors_by_instance
from service.adapters.system.eviction import DirectoryCaches
from service.config.machine import MachineSettings
from service.config.shared import require
from service.domain.values.errors import BadInput, Refused, Transient
from service.ports.building import ArtifactKind
from service.steps.machines.make_room import make_room
from service.steps.machines.preflight import obstacle_to_measuring
from service.wiring.build_host import directory_of, make_build_host
from service.wiring.permitted import Permitted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from service.adapters.sources.git.mirror import GitSource
    from service.ports.building import Artifacts, Progress
    from service.steps.building.session import BuildHost

# An upgrade of any other package leaves the results of a machine comparable.
_DECIDING_TOOLS: Final = ("c++", "cc", "ld")


@dataclass(frozen=True, slots=True)
class MachinePlane:
    """The machine plane: a worklist and a build host, without access to votes."""

    worklist: MachineWorklist
    host: BuildHost
    progress: Progress
    sources: Mapping[str, GitSource]  # by the instances that have their own
    register: Callable[[], None]
    room: Callable[[], str]  # makes room, and returns why the disk has none for a build; empty if it has
    obstacle: Callable[[], str]  # the current obstacle to measuring, empty if none; takes a moment
    in_use: Callable[[], AbstractContextManager[None]]  # keeps the caches of a build until its end

    def host_for(self, instance: str) -> BuildHost:
        """Return the build host with the mirrors of the projects of an instance."""
        return replace(self.host, source=self.sources.get(instance, self.host.source))


class LoggedProgress:
    """Progress in a worker's log."""

    def say(self, text: str, done: float | None = None) -> None:
        """Log the current activity."""
        structlog.get_logger().info("build.progress", text=text, done=done)

    def note(self, text: str) -> None:
        """Log a line."""
        structlog.get_logger().info("build.note", text=text)


def build_machine(settings: MachineSettings) -> MachinePlane:
    """Build the machine plane from its settings.

    Raises:
        BadInput: the database is not set, or a setting cannot be used or permits what it must not.
        Unfit: this host cannot isolate programs.
    """
    require(settings.machine_database_url, "BENCHGATE_MACHINE_DATABASE_URL")
    engine = make_engine(settings.machine_database_url)
    # All machines of a host share the mirrors of repositories.
    home = settings.home / "machines" / settings.host_name
    stores = {kind: _artifacts(settings, home, kind) for kind in ArtifactKind}
    identity = MachineIdentity(
        name=settings.machine_name,
        machine_class=settings.pool,
        pool=settings.pool,
        host=settings.host_name,
        builds_beside=settings.builds_beside,
        install=installation_id(home),
        version=version("benchgate"),
    )
    worklist = MachineWorklist(engine, identity, stores[ArtifactKind.BUILDS], settings.lease_seconds)
    permitted = Permitted.read(settings, settings.home)
    host = make_build_host(
        home,
        _no_remote if settings.git_urls else settings.remote,
        tuple(settings.cpus),
        is_sandboxed=settings.sandbox != "none",
        artifacts=stores,
        permitted=permitted,
    )
    cache = host.compiler_cache
    if cache is not None:
        cache = replace(cache, limit=settings.compiler_cache) if settings.compiler_cache else None
    host = replace(
        host,
        builds_beside=settings.builds_beside,
        log_bytes=settings.log_bytes,
        compiler_cache=cache,
        machine=identity.name,
    )

    def register() -> None:
        _check(stores[ArtifactKind.BUILDS])
        environment = read_environment()
        in_force = host.sandbox.in_force()
        setup = {"measured_cpus": list(host.cpus), **{each: host.tools[each] for each in _DECIDING_TOOLS}}
        facts = {**environment.to_mapping(), **setup, "in_force": dict(in_force)}
        worklist.register(environment.fingerprint(in_force, setup), facts)

    def obstacle() -> str:
        return obstacle_to_measuring(read_load, host.cpus, time.sleep) if settings.waits_for_quiet else ""

    caches = DirectoryCaches(home)
    sources = mirrors_by_instance(home.absolute() / "git", settings.remotes, permitted.sources)
    room = partial(_room, caches)
    return MachinePlane(worklist, host, LoggedProgress(), sources, register, room, obstacle, caches.in_use)


def _room(caches: DirectoryCaches) -> str:
    with caches.unused() as is_unused:
        return make_room(caches, time.time(), is_unused=is_unused)


@cache
def machine_of_worker() -> MachinePlane:
    """Build the machine plane of this process from its environment, at the first call.

    Raises:
        BadInput, Unfit: as :func:`build_machine`.
    """
    return build_machine(MachineSettings())


def artifacts_over_http(settings: MachineSettings, home: Path, kind: ArtifactKind) -> HttpArtifacts:
    """Return the artifacts of a machine without the artifact directory; ``home`` is that of its host.

    Raises:
        BadInput: the settings have no address, one that cannot be used, or no file of a token.
    """
    require(settings.artifacts_url, "BENCHGATE_ARTIFACTS", "it is the address of the control plane")
    if settings.machine_token_file is None:
        raise BadInput("is not set", "BENCHGATE_MACHINE_TOKEN_FILE")
    token = MachineToken(settings.machine_name, settings.machine_token_file)
    try:
        return HttpArtifacts(settings.artifacts_url, token, kind, home.absolute() / "transfers")
    except ValueError as error:
        raise BadInput(str(error), "BENCHGATE_ARTIFACTS") from None


def _artifacts(settings: MachineSettings, home: Path, kind: ArtifactKind) -> Artifacts:
    if settings.artifacts_url:
        return artifacts_over_http(settings, home, kind)
    return DirectoryArtifacts(directory_of(settings.artifacts_path, kind))


def _check(artifacts: Artifacts) -> None:
    """Raise Refused if the control plane does not take this machine's token; it may be away for now."""
    if isinstance(artifacts, HttpArtifacts):
        try:
            artifacts.check()
        except Refused:
            raise
        except Transient as error:
            structlog.get_logger().warning("artifacts.not_reached", error=str(error))


def name_of(settings: MachineSettings, home: Path) -> str:
    """Return the name of this host's first machine: the set one, or else the one that it is known by.

    After a change of the system's name this may take a minute, to see whether another machine has the former
    one. A database that ``benchgate up`` starts for its home has none.
    """
    if settings.host or "machine_name" in settings.model_fields_set:
        return settings.machine_name

    def is_alive(host: str) -> bool:
        if not settings.machine_database_url:
            return False
        structlog.get_logger().info("machine.renamed", former=host)
        engine = make_engine(settings.machine_database_url)
        try:
            return goes_on(lambda: call(engine, "seconds_silent", host=host)[0][0], time.sleep)
        finally:
            engine.dispose()

    return kept_name(home / "machines", settings.machine_name, is_alive)


def _no_remote(project: str) -> str:
    """Refuse to fetch for a review server without an address; another machine may have one."""
    raise Transient(
        f"there is no address to fetch {project} from: BENCHGATE_GIT_URLS on this machine has none for its "
        "review server"
    )
