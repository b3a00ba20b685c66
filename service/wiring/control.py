"""Composition root of the control plane: the only module that chooses adapters for its ports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from service.adapters.failures.jira import JiraConnection, JiraTracker
from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.sessions import PostgresSessions
from service.adapters.postgres.access.tokens import PostgresTokens
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.failures.bug_notes import PostgresBugNotes
from service.adapters.postgres.failures.shown_failures import PostgresFailureReading
from service.adapters.postgres.listening import OutboxListener
from service.adapters.postgres.machines.held_leases import HeldLeases
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.runs.retention import PostgresRetention
from service.adapters.postgres.store import PostgresStore
from service.adapters.postgres.stored_servers import record_url
from service.adapters.postgres.trunk.notices import PostgresNotices
from service.adapters.postgres.trunk.shown_commits import PostgresCommitReading
from service.adapters.postgres.trunk.shown_regressions import PostgresRegressionReading
from service.adapters.postgres.upkeep import PostgresUpkeep
from service.adapters.review.console.review import ConsoleReview
from service.adapters.review.gerrit.events import ABOUT_CHANGES
from service.adapters.review.gerrit.review import GerritReview
from service.adapters.review.gerrit.stream import GerritStream
from service.adapters.runs.queue import CeleryQueue
from service.adapters.sources.git.mirror import GitSource, mirrors_by_instance
from service.adapters.system.eviction import DirectoryCaches
from service.adapters.system.json_client import Bearer, Password
from service.adapters.trunk.chat import Chats
from service.adapters.trunk.comments import Comments
from service.adapters.trunk.mail import MailServer
from service.config.shared import require
from service.domain.failures.configured import NO_PATTERNS, read_patterns
from service.domain.review.links import Links
from service.domain.runs.health import part_of
from service.domain.runs.retention import policy_with
from service.domain.sources.allowed import AllowedSources
from service.domain.trunk.notice import Channel
from service.domain.values.errors import BadInput, Permanent
from service.ports.building import ArtifactKind
from service.wiring.artifact_stores import artifact_stores
from service.wiring.instances import check_instances, require_instances

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Engine

    from service.config.control import ControlSettings, GerritSettings
    from service.domain.failures.configured import ConfiguredPatterns
    from service.domain.runs.retention import Policy
    from service.ports.building import ArtifactStore
    from service.ports.failures.bugs import BugTracker
    from service.ports.review.server import ReviewServer
    from service.ports.trunk import Notifier


_SEVERAL: Final = "BENCHGATE_GERRITS"
_USER: Final = "BENCHGATE_GERRIT_USER"
_WITHOUT_STREAM: Final = "without an event stream, Benchgate learns of changes by webhooks and by polling"
_WITHOUT_ACCOUNT: Final = "set it to the name of Benchgate's account on Gerrit"


@dataclass(frozen=True, slots=True)
class Control:
    """The control plane, with the review server's credentials and the owner's database role."""

    store: PostgresStore
    upkeep: PostgresUpkeep
    retention: PostgresRetention
    reading: PostgresReading
    failures: PostgresFailureReading
    regressions: PostgresRegressionReading
    commits: PostgresCommitReading
    notices: PostgresNotices
    notifiers: Mapping[Channel, Notifier]  # of the configured channels
    tokens: PostgresTokens
    queue: CeleryQueue
    servers: Mapping[str, ReviewServer]  # by instance, in the order of their names
    addresses: Mapping[str, str]  # of the Gerrits, by instance
    source: GitSource
    caches: DirectoryCaches  # of the mirrors
    sources: Mapping[str, GitSource]  # by the instances that have their own
    artifacts: ArtifactStore
    downloads: ArtifactStore  # dependencies that a machine fetched, for the others
    links: Links
    listener: OutboxListener
    leases: HeldLeases
    sessions: PostgresSessions
    audit_log: PostgresAuditLog
    engine: Engine
    failure_patterns: ConfiguredPatterns
    bugs: BugTracker | None
    bug_notes: PostgresBugNotes
    may_post_counts: bool  # on bugs
    policy: Policy  # how long records are kept
    lookback: timedelta  # at first contact, changes that were updated within this time are run

    @property
    def server(self) -> ReviewServer:
        """The only review server.

        Raises:
            BadInput: there are several.
        """
        if len(self.servers) > 1:
            raise BadInput("this command needs a single review server, but it names several", _SEVERAL)
        return next(iter(self.servers.values()))

    def server_of(self, instance: str) -> ReviewServer:
        """Return the review server of an instance.

        Raises:
            Permanent: it is not configured any more.
        """
        if instance not in self.servers:
            raise Permanent(f"the review server {instance} is not configured")
        return self.servers[instance]

    def source_of(self, instance: str) -> GitSource:
        """Return the mirrors of the projects of an instance.

        Raises:
            Permanent: it is not configured any more; a project of this name may be another one elsewhere.
        """
        self.server_of(instance)
        return self.sources.get(instance, self.source)

    def record_address(self, instance: str) -> None:
        """Store the address of a review server that answered; empty for the console."""
        record_url(self.engine, instance, self.addresses.get(instance, ""))

    def part(self, name: str, instance: str) -> str:
        """Name the part of the service that does something for one review server."""
        return part_of(name, instance, has_several=len(self.servers) > 1)

    @property
    def console(self) -> ConsoleReview:
        """The console review server.

        Raises:
            BadInput: the review server is a Gerrit.
        """
        if not isinstance(self.server, ConsoleReview):
            raise BadInput(
                "this command needs the console review server, but a Gerrit is configured", "settings"
            )
        return self.server

    def close(self) -> None:
        """Close all connections."""
        self.listener.close()
        self.engine.dispose()


def build_control(settings: ControlSettings, *, needs_database: bool = False) -> Control:
    """Build the control plane from its settings; with ``needs_database``, only if the database answers.

    Raises:
        BadInput: the database or the broker is not set, the database belongs to other review servers, or
            patterns of failures, bug tracker or bucket cannot be used.
        Transient: the database is needed and cannot be used now.
    """
    require(settings.database_url, "BENCHGATE_DATABASE_URL")
    require(settings.redis_url, "BENCHGATE_REDIS_URL")
    instances = (check_instances if needs_database else require_instances)(settings.database_url, settings)
    _require_git_urls(settings)
    patterns = failure_patterns(settings)
    engine = make_engine(settings.database_url)
    store = PostgresStore(engine)
    stores = artifact_stores(settings)
    git, allowed = settings.home / "control" / "git", AllowedSources.parse(settings.fetch_from)
    return Control(
        store=store,
        upkeep=PostgresUpkeep(engine),
        retention=PostgresRetention(engine),
        reading=PostgresReading(engine),
        failures=PostgresFailureReading(engine),
        regressions=PostgresRegressionReading(engine),
        commits=PostgresCommitReading(engine),
        notices=PostgresNotices(engine),
        notifiers=_notifiers(settings, store),
        tokens=PostgresTokens(engine),
        queue=CeleryQueue(settings.redis_url),
        servers=_review_servers(settings),
        addresses={name: gerrit.url.rstrip("/") for name, gerrit in settings.gerrit_servers.items()},
        source=GitSource(git, settings.remote, allowed=allowed),
        sources=mirrors_by_instance(git, settings.remotes, allowed),
        caches=DirectoryCaches(git.parent),
        artifacts=stores[ArtifactKind.BUILDS],
        downloads=stores[ArtifactKind.DOWNLOADS],
        links=Links(settings.base_url, has_several=len(instances) > 1),
        listener=OutboxListener(settings.database_url),
        leases=HeldLeases(engine),
        sessions=PostgresSessions(engine),
        audit_log=PostgresAuditLog(engine),
        engine=engine,
        failure_patterns=patterns,
        bugs=bug_tracker(settings),
        bug_notes=PostgresBugNotes(engine),
        may_post_counts=settings.bugs_post,
        policy=policy_with(settings.retention),
        lookback=timedelta(days=settings.first_contact_days),
    )


def _notifiers(settings: ControlSettings, store: PostgresStore) -> Mapping[Channel, Notifier]:
    found: dict[Channel, Notifier] = {Channel.CHANGE: Comments(store)}
    if url := settings.smtp_url.get_secret_value():
        found[Channel.MAIL] = MailServer(url, settings.mail_from)
    if settings.chat_urls:
        urls = {project: url.get_secret_value() for project, url in settings.chat_urls.items()}
        found[Channel.CHAT] = Chats(urls)
    return found


def build_stream(settings: ControlSettings, instance: str) -> GerritStream:
    """Build the source of a Gerrit's events from the settings.

    Raises:
        BadInput: the stream's host, user or key is not set.
    """
    gerrit = settings.gerrit_servers.get(instance)
    of = f"{_SEVERAL}[{instance}]" if settings.gerrits else "BENCHGATE_GERRIT"

    def named(field: str) -> str:
        return f"{of}[{field}]" if settings.gerrits else f"{of}_{field.upper()}"

    if gerrit is None:
        require(settings.gerrit_ssh_host, named("ssh_host"), _WITHOUT_STREAM)
        raise BadInput("BENCHGATE_GERRIT_URL is not set; set it to Gerrit's address", "settings")
    require(gerrit.ssh_host, named("ssh_host"), _WITHOUT_STREAM)
    user = gerrit.ssh_user or gerrit.user
    require(user, named("ssh_user"), _WITHOUT_STREAM)
    key, known_hosts = gerrit.ssh_key, gerrit.known_hosts
    if key is None or known_hosts is None:
        raise BadInput(f"{named('ssh_key')} or {named('known_hosts')} is not set", "settings")
    return GerritStream(
        gerrit.ssh_host, gerrit.ssh_port, user, key, known_hosts, tuple(sorted(ABOUT_CHANGES))
    )


def failure_patterns(settings: ControlSettings) -> ConfiguredPatterns:
    """Read the configured patterns of failures; none without a file.

    Raises:
        BadInput: the file cannot be read or used; the message names file, line and pattern.
    """
    if settings.failure_patterns is None:
        return NO_PATTERNS
    try:
        text = settings.failure_patterns.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "") or "it is not UTF-8"
        raise BadInput(f"{settings.failure_patterns}: {reason}", "BENCHGATE_FAILURE_PATTERNS") from None
    return read_patterns(text, str(settings.failure_patterns))


def bug_tracker(settings: ControlSettings) -> BugTracker | None:
    """Build the bug tracker; return None without an address.

    Raises:
        BadInput: its address or account cannot be used.
    """
    if not settings.bugs_url:
        return None
    user, token = settings.bugs_user, settings.bugs_token.get_secret_value()
    account = Password(user, token) if user else Bearer(token)
    try:
        connection = JiraConnection(settings.bugs_url, account if token else None)
    except ValueError as error:
        raise BadInput(str(error), "settings") from None
    return JiraTracker(settings.bugs_url, connection, may_post=settings.bugs_post)


def _require_git_urls(settings: ControlSettings) -> None:
    without = [name for name in settings.instances if name not in settings.git_urls]
    if len(settings.instances) > 1 and without:
        raise BadInput(
            f"has no URL for {without[0]}: with several Gerrits, each needs the URL to clone a project from",
            "BENCHGATE_GIT_URLS",
        )


def _review_servers(settings: ControlSettings) -> Mapping[str, ReviewServer]:
    if not settings.gerrit_servers:
        return {settings.instance: ConsoleReview(settings.review_path, settings.instance)}
    return {
        name: _gerrit(name, gerrit, f"{_SEVERAL}[{name}][user]" if settings.gerrits else _USER)
        for name, gerrit in sorted(settings.gerrit_servers.items())
    }


def _gerrit(instance: str, settings: GerritSettings, user_variable: str) -> GerritReview:
    bearer = settings.bearer.get_secret_value()
    if not bearer:
        require(settings.user, user_variable, _WITHOUT_ACCOUNT)
    password = Password(settings.user, settings.password.get_secret_value())
    try:
        return GerritReview(
            instance, settings.url, Bearer(bearer) if bearer else password, projects=settings.projects
        )
    except ValueError as error:
        raise BadInput(str(error), "settings") from None
