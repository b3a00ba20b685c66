"""Judge the connections of this machine: which have more rights than they need."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.machines.environment import MachineFinding, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from service.domain.access.audit import ProtectionFault

# Names of the checks.
OWNER: Final = "database, owner"
MACHINE: Final = "database, machine"
BROKER: Final = "broker"
GERRIT: Final = "Gerrit"
ARTIFACTS: Final = "artifacts"

# Effects of the attributes of PostgreSQL roles. A machine's role must have none of them.
_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "SUPERUSER": "may do everything in every database, also change the audit log",
        "REPLICATION": "may copy every database of the server",
        "BYPASSRLS": "may pass the row security of every table",
        "CREATEROLE": "may create roles, also one that changes the audit log",
        "CREATEDB": "may create databases",
    }
)
# For an owner, these two are findings; the other three are faults of the audit log's protection.
_OF_OWNER: Final[Mapping[str, State]] = MappingProxyType({"BYPASSRLS": State.BAD, "CREATEDB": State.WARN})
# Effects of broker commands that no plane needs.
BROKER_COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "FLUSHALL": "empty the server",
        "CONFIG": "read and change its settings",
        "KEYS": "list all keys",
        "EVAL": "run scripts",
        "ACL": "read and change its users",
    }
)
# Gerrit's capabilities to act for other accounts.
_OF_ADMINISTRATORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "administrateServer": "may do everything in Gerrit, also vote for everybody",
        "runAs": "may act as any other account",
        "modifyAccount": "may change the e-mail addresses and keys of other accounts",
    }
)
# Gerrit gives the first two to every account, the event stream needs the third, and the rest only read.
_NARROW: Final = frozenset(
    {
        *("queryLimit", "emailReviewers", "streamEvents", "priority", "batchChangesLimit"),
        *("viewAccess", "viewAllAccounts", "viewSecondaryEmails"),
    }
)
_NAME_THE_OWNER: Final = "let BENCHGATE_DATABASE_URL name the owner of the database"
_BROKER_USERS: Final = "use the users of service/adapters/broker_users.conf"
_LOCAL_BROKER: Final = f"{_BROKER_USERS}; under `benchgate up`, whose parts run as one user, nothing"


@dataclass(frozen=True, slots=True)
class Path:
    """The network path to a server: local, or remote with or without TLS."""

    is_local: bool
    is_encrypted: bool

    def __str__(self) -> str:
        if self.is_local:
            return "on this machine"
        return "over TLS" if self.is_encrypted else "without TLS"


@dataclass(frozen=True, slots=True)
class DatabaseRights:
    """Rights of a PostgreSQL role.

    ``attributes`` are SQL names. ``faults`` are protections that the audit log lacks. ``reachable`` is what
    a machine can use beyond the functions made for it.
    """

    role: str
    path: Path
    attributes: frozenset[str] = frozenset()
    is_owner: bool = False
    faults: tuple[ProtectionFault, ...] = ()
    functions: int = 0  # of the schema machine, that it may call
    reachable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokerRights:
    """Rights of a broker user: the commands of ``BROKER_COMMANDS`` that it may run."""

    user: str
    path: Path
    commands: frozenset[str] = frozenset()
    reads_control: bool = False  # whether it may read the hints of the control plane


@dataclass(frozen=True, slots=True)
class GerritRights:
    """Rights of a Gerrit account.

    ``shows_changes``: anonymous readers see changes, or the account itself sees none.
    """

    account: str
    path: Path
    capabilities: frozenset[str] = frozenset()
    shows_changes: bool = True


def not_configured(name: str, variable: str) -> MachineFinding:
    """Report a connection that this configuration does not set."""
    return MachineFinding(name, State.UNKNOWN, f"not configured here ({variable})")


def no_answer(name: str, problem: str) -> MachineFinding:
    """Report a connection that fails."""
    return MachineFinding(name, State.BAD, f"cannot be used: {problem}")


def owner_findings(rights: DatabaseRights) -> Iterator[MachineFinding]:
    """Judge the connection of the control plane to the database."""
    role = rights.role
    value = f"role {role}, {rights.path}: " + ("owns the database" if rights.is_owner else "not the owner")
    owns = State.OK if rights.is_owner else State.WARN
    yield MachineFinding(OWNER, owns, value, "" if rights.is_owner else _NAME_THE_OWNER)
    yield from _unencrypted(OWNER, rights.path, "add ?sslmode=verify-full to BENCHGATE_DATABASE_URL")
    for name, state in _OF_OWNER.items():
        if name in rights.attributes and "SUPERUSER" not in rights.attributes:  # which implies all others
            yield MachineFinding(OWNER, state, f"{name}: {role} {_ATTRIBUTES[name]}", _without(role, name))
    for fault in rights.faults:
        yield MachineFinding(OWNER, State.BAD, f"audit log: {fault}", fault.remedy)


def machine_findings(rights: DatabaseRights) -> Iterator[MachineFinding]:
    """Judge the machine plane's connection to the database: it may only call the functions made for it."""
    role = rights.role
    value = f"role {role}, {rights.path}: calls {rights.functions} functions of the schema machine"
    yield MachineFinding(
        MACHINE,
        State.OK if rights.functions else State.BAD,
        value,
        "" if rights.functions else "run `benchgate migrate` with the owner's role",
    )
    yield from _unencrypted(
        MACHINE, rights.path, "add ?sslmode=verify-full to BENCHGATE_MACHINE_DATABASE_URL"
    )
    for name, effect in _ATTRIBUTES.items():
        if name in rights.attributes:
            yield MachineFinding(MACHINE, State.BAD, f"{name}: {role} {effect}", _without(role, name))
    if "SUPERUSER" in rights.attributes:
        return  # which reaches everything
    if rights.is_owner:
        yield MachineFinding(
            MACHINE,
            State.BAD,
            f"{role} owns the database",
            "set BENCHGATE_MACHINE_DATABASE_URL to benchgate_machine",
        )
        return
    for reachable in rights.reachable:
        yield MachineFinding(
            MACHINE, State.BAD, f"{role} can use {reachable}", f"REVOKE what gives it to {role} or PUBLIC"
        )


def broker_findings(rights: BrokerRights, *, is_machine: bool) -> Iterator[MachineFinding]:
    """Judge the connection to the broker: each plane needs few commands and its own user."""
    effects = [effect for name, effect in BROKER_COMMANDS.items() if name in rights.commands]
    if is_machine and rights.reads_control:
        effects.append("read the queue of the control plane")
    value = f"user {rights.user}, {rights.path}: " + (
        f"may {', '.join(effects)}" if effects else "sends or takes hints"
    )
    if not effects and rights.user != "default":
        yield MachineFinding(BROKER, State.OK, value)
    elif rights.path.is_local:
        yield MachineFinding(BROKER, State.WARN, value, _LOCAL_BROKER)
    else:
        yield MachineFinding(
            BROKER, State.BAD, value, f"{_BROKER_USERS}, and name one in BENCHGATE_REDIS_URL"
        )
    yield from _unencrypted(
        BROKER, rights.path, "let the broker speak TLS, and begin BENCHGATE_REDIS_URL with rediss://"
    )


def gerrit_findings(rights: GerritRights, *, is_public: bool) -> Iterator[MachineFinding]:
    """Judge the connection to Gerrit: the account needs rights on labels, and hardly any global capability.

    ``is_public``: people may read the pages without signing in.
    """
    yield MachineFinding(
        GERRIT, State.OK, f"account {rights.account}, {rights.path}: reads changes and votes"
    )
    yield from _unencrypted(GERRIT, rights.path, "begin Gerrit's address with https://")
    fix = f"remove {rights.account} from the groups that have the capability in All-Projects"
    for name, effect in _OF_ADMINISTRATORS.items():
        if name in rights.capabilities:
            yield MachineFinding(GERRIT, State.BAD, f"{name}: {rights.account} {effect}", fix)
    if "administrateServer" not in rights.capabilities:  # which implies all others
        others = sorted(rights.capabilities - _NARROW - _OF_ADMINISTRATORS.keys())
        if others:
            yield MachineFinding(GERRIT, State.WARN, f"not needed: {', '.join(others)}", fix)
    if is_public and not rights.shows_changes:
        yield MachineFinding(
            GERRIT,
            State.WARN,
            "shows no change to readers who do not sign in, so the pages show them none",
            "set BENCHGATE_READ=signed-in, or grant Read to Anonymous Users",
        )


def artifact_findings(machine: str) -> Iterator[MachineFinding]:
    """Report that the control plane takes the token of this machine."""
    yield MachineFinding(
        ARTIFACTS, State.OK, f"machine {machine}: sends and gets them while it has a build, deletes none"
    )


def bucket_findings(url: str) -> Iterator[MachineFinding]:
    """Report that the control plane has all its rights on the bucket."""
    yield MachineFinding(ARTIFACTS, State.OK, f"{url}: writes, lists, reads and deletes them")


def _unencrypted(name: str, path: Path, remedy: str) -> Iterator[MachineFinding]:
    if not path.is_local and not path.is_encrypted:
        yield MachineFinding(name, State.WARN, "passwords and data cross the network without TLS", remedy)


def _without(role: str, attribute: str) -> str:
    if attribute == "SUPERUSER":
        return f"ALTER ROLE {role} NOSUPERUSER; the first role of a server stays one: use another role"
    return f"ALTER ROLE {role} NO{attribute}"
