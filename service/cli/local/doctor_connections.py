"""``benchgate doctor --connections``: report the rights of each connection, and which are too wide."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_bytes
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey
from service.adapters.postgres.access.rights import read_rights
from service.adapters.review.gerrit.rights import read_gerrit_rights
from service.adapters.runs.broker_rights import read_broker_rights
from service.adapters.system.json_client import Bearer, Password
from service.config.control import ControlSettings
from service.config.machine import MachineSettings
from service.domain.machines.connections import (
    ARTIFACTS,
    BROKER,
    GERRIT,
    MACHINE,
    OWNER,
    artifact_findings,
    broker_findings,
    bucket_findings,
    gerrit_findings,
    machine_findings,
    no_answer,
    not_configured,
    owner_findings,
)
from service.domain.values.errors import BenchgateError, Permanent
from service.ports.building import ArtifactKind
from service.wiring.artifact_stores import artifact_stores
from service.wiring.machine import artifacts_over_http

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from service.domain.machines.environment import MachineFinding


@dataclass(frozen=True, slots=True)
class _Addresses:
    """Addresses of the servers, from the environment or from the ``benchgate up`` of a home directory."""

    database: str
    machine_database: str
    broker: str


def connection_findings(home: Path) -> tuple[MachineFinding, ...]:
    """Try each connection that is configured here, and judge its rights.

    ``home`` is the directory of a ``benchgate up``; its servers count if no address is set.

    Raises:
        BadInput: a setting cannot be used.
    """
    settings = ControlSettings()
    machine = machine_settings(settings)
    servers = _addresses(home, settings, machine)
    only_machine = bool(servers.machine_database) and not servers.database
    return (
        *_tried(
            OWNER,
            (servers.database, "BENCHGATE_DATABASE_URL"),
            lambda url: owner_findings(read_rights(url, is_machine=False)),
        ),
        *_tried(
            MACHINE,
            (servers.machine_database, "BENCHGATE_MACHINE_DATABASE_URL"),
            lambda url: machine_findings(read_rights(url, is_machine=True)),
        ),
        *_tried(
            BROKER,
            (servers.broker, "BENCHGATE_REDIS_URL"),
            lambda url: broker_findings(read_broker_rights(url), is_machine=only_machine),
        ),
        *_artifact_findings(machine),
        *_bucket_findings(settings),
        *_gerrit_findings(settings),
    )


def machine_settings(control: ControlSettings) -> MachineSettings:
    """Read the settings of a machine; on the control plane without its bucket, which machines do not use."""
    return MachineSettings(artifacts="") if control.bucket_url else MachineSettings()


def _artifact_findings(settings: MachineSettings) -> tuple[MachineFinding, ...]:
    """Return the findings about artifacts over HTTP; none on a machine with the artifact directory."""
    if not settings.artifacts_url:
        return ()

    def read(_: str) -> Iterable[MachineFinding]:
        with TemporaryDirectory() as unfinished:
            artifacts = artifacts_over_http(settings, Path(unfinished), ArtifactKind.BUILDS)
            with closing(artifacts):
                artifacts.check()
        return artifact_findings(settings.machine_name)

    return _tried(ARTIFACTS, (settings.artifacts_url, "BENCHGATE_ARTIFACTS"), read)


def _bucket_findings(settings: ControlSettings) -> tuple[MachineFinding, ...]:
    """Try each right on the bucket of the control plane with an artifact that nothing names."""
    if not settings.bucket_url:
        return ()

    def read(url: str) -> Iterable[MachineFinding]:
        with TemporaryDirectory() as home:
            stores = artifact_stores(settings.model_copy(update={"home": Path(home)}))
            bucket = stores[ArtifactKind.BUILDS]
            key = bucket.put(token_bytes(32))
            bucket.get(key)
            if all(each.key != key for each in bucket.listed(key[:4])):
                raise Permanent(f"{url} does not list artifact {key}, which was stored there")
            bucket.delete(key, -math.inf)  # whatever the clock of the bucket says
        return bucket_findings(url)

    return _tried(ARTIFACTS, (settings.bucket_url, "BENCHGATE_ARTIFACTS"), read)


def _gerrit_findings(settings: ControlSettings) -> Iterator[MachineFinding]:
    """Yield the findings of each Gerrit; with several, each finding has its instance."""
    if not settings.has_gerrit:
        yield not_configured(GERRIT, "BENCHGATE_GERRIT_URL")
    for instance, gerrit in sorted(settings.gerrit_servers.items()):
        bearer, secret = gerrit.bearer.get_secret_value(), gerrit.password.get_secret_value()
        credentials = Bearer(bearer) if bearer else Password(gerrit.user, secret)
        variable = f"BENCHGATE_GERRITS[{instance}]" if settings.gerrits else "BENCHGATE_GERRIT_URL"

        def read(url: str, credentials: Bearer | Password = credentials) -> Iterable[MachineFinding]:
            rights = read_gerrit_rights(url, credentials)
            return gerrit_findings(rights, is_public=settings.read == "public")

        for finding in _tried(GERRIT, (gerrit.url, variable), read):
            yield replace(finding, name=f"{GERRIT} {instance}") if settings.gerrits else finding


def _addresses(home: Path, settings: ControlSettings, machine: MachineSettings) -> _Addresses:
    found = _Addresses(settings.database_url, machine.machine_database_url, settings.redis_url)
    if found != _Addresses("", "", ""):
        return found
    postgres, valkey = home.absolute() / "postgres", home.absolute() / "valkey"
    if not (postgres.is_dir() and valkey.is_dir()):
        return found
    server = EmbeddedPostgres(postgres)
    return _Addresses(server.owner_url, server.machine_url, EmbeddedValkey(valkey).broker_url)


def _tried(
    name: str, address: tuple[str, str], read: Callable[[str], Iterable[MachineFinding]]
) -> tuple[MachineFinding, ...]:
    url, variable = address
    if not url:
        return (not_configured(name, variable),)
    try:
        return tuple(read(url))
    except BenchgateError as error:
        return (no_answer(name, str(error)),)
    except (ValueError, KeyError):  # the message may repeat a part of the address, which has a password in it
        return (no_answer(name, f"the address or the account in {variable} cannot be read"),)
