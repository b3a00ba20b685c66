"""The composition root of the control plane: the only module that chooses adapters for its ports."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from service.adapters.artifacts import DirectoryArtifacts
from service.adapters.console.review import ConsoleReview
from service.adapters.gerrit.connection import Bearer, Password
from service.adapters.gerrit.review import GerritReview
from service.adapters.gerrit.stream import GerritStream
from service.adapters.git.mirror import GitSource
from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.sessions import PostgresSessions
from service.adapters.postgres.access.tokens import PostgresTokens
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.listening import OutboxListener
from service.adapters.postgres.reading.postgres_reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from service.adapters.postgres.stored_instance import stored_instance
from service.adapters.postgres.upkeep.postgres_upkeep import PostgresUpkeep
from service.adapters.queue import CeleryQueue
from service.config import require
from service.domain.errors import BadInput, Transient
from service.domain.gerrit.events import ABOUT_CHANGES
from service.domain.links import Links

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from service.config import ControlSettings
    from service.ports.building import Artifacts
    from service.ports.reviewing import ReviewServer


_WITHOUT_STREAM: Final = "without an event stream, Benchgate learns of changes by webhooks and by polling"
_WITHOUT_ACCOUNT: Final = "set it to the name of Benchgate's account on Gerrit"


@dataclass(frozen=True, slots=True)
class Control:
    """The control plane, with the review server's credentials and the owner's database role."""

    store: PostgresStore
    upkeep: PostgresUpkeep
    reading: PostgresReading
    tokens: PostgresTokens
    queue: CeleryQueue
    server: ReviewServer
    source: GitSource
    artifacts: Artifacts
    links: Links
    listener: OutboxListener
    sessions: PostgresSessions
    audit_log: PostgresAuditLog
    engine: Engine
    lookback: timedelta  # at first contact, changes that were updated within this time are run

    @property
    def console(self) -> ConsoleReview:
        """The console review server.

        Raises:
            BadInput: the review server is a Gerrit.
        """
        if not isinstance(self.server, ConsoleReview):
            raise BadInput(
                "this command needs the console review server, but BENCHGATE_GERRIT_URL is set", "settings"
            )
        return self.server

    def close(self) -> None:
        """Close all connections."""
        self.listener.close()
        self.engine.dispose()


def build_control(settings: ControlSettings, *, needs_database: bool = False) -> Control:
    """Build the control plane from its settings; with ``needs_database``, only if the database answers.

    Raises:
        BadInput: the database or the broker is not set, or the database belongs to another instance.
        Transient: the database is needed and cannot be used now.
    """
    require(settings.database_url, "BENCHGATE_DATABASE_URL")
    require(settings.redis_url, "BENCHGATE_REDIS_URL")
    (check_instance if needs_database else require_instance)(settings.database_url, settings.instance)
    engine = make_engine(settings.database_url)
    return Control(
        store=PostgresStore(engine),
        upkeep=PostgresUpkeep(engine),
        reading=PostgresReading(engine),
        tokens=PostgresTokens(engine),
        queue=CeleryQueue(settings.redis_url),
        server=_review_server(settings),
        source=GitSource(settings.home / "control" / "git", settings.remote),
        artifacts=DirectoryArtifacts(settings.artifacts_path),
        links=Links(settings.base_url),
        listener=OutboxListener(settings.database_url),
        sessions=PostgresSessions(engine),
        audit_log=PostgresAuditLog(engine),
        engine=engine,
        lookback=timedelta(days=settings.first_contact_days),
    )


def require_instance(database_url: str, instance: str) -> None:
    """Check that a database does not store the changes of another instance, or cannot be reached.

    Raises:
        BadInput: it does.
    """
    with suppress(Transient):  # each process of a worker checks again before it stores anything
        check_instance(database_url, instance)


def check_instance(database_url: str, instance: str) -> None:
    """Check that a database does not store the changes of another instance.

    Two instances would run, and vote on, every open change twice.

    Raises:
        BadInput: it does.
        Transient: the database cannot be used now.
    """
    engine = make_engine(database_url)
    try:
        stored = stored_instance(engine)
    finally:
        engine.dispose()
    if stored and stored != instance:
        raise BadInput(
            f"is {instance}, but the database stores the changes of {stored}: set it to {stored}, or use "
            "another database",
            "BENCHGATE_INSTANCE",
        )


def build_stream(settings: ControlSettings) -> GerritStream:
    """Build the source of Gerrit's events from the settings.

    Raises:
        BadInput: the stream's host, user or key is not set.
    """
    require(settings.gerrit_ssh_host, "BENCHGATE_GERRIT_SSH_HOST", _WITHOUT_STREAM)
    user = settings.gerrit_ssh_user or settings.gerrit_user
    require(user, "BENCHGATE_GERRIT_SSH_USER", _WITHOUT_STREAM)
    key, known_hosts = settings.gerrit_ssh_key, settings.gerrit_known_hosts
    if key is None or known_hosts is None:
        raise BadInput("BENCHGATE_GERRIT_SSH_KEY or BENCHGATE_GERRIT_KNOWN_HOSTS is not set", "settings")
    host, port = settings.gerrit_ssh_host, settings.gerrit_ssh_port
    return GerritStream(host, port, user, key, known_hosts, tuple(sorted(ABOUT_CHANGES)))


def _review_server(settings: ControlSettings) -> ReviewServer:
    if not settings.gerrit_url:
        return ConsoleReview(settings.review_path, settings.instance)
    bearer = settings.gerrit_bearer.get_secret_value()
    if not bearer:
        require(settings.gerrit_user, "BENCHGATE_GERRIT_USER", _WITHOUT_ACCOUNT)
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
