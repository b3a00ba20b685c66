"""Append to the audit log in a transaction, read it, and check its protection."""

from __future__ import annotations

import re
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import structlog
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from typing_extensions import override

from service.adapters.postgres.connection import Connected, Snapshots
from service.adapters.postgres.storable import clean, clean_json
from service.domain.access.audit import AuditEntry, ProtectionFault, body_of
from service.domain.values.errors import Permanent
from service.ports.access import Audit, AuditLog

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Row, TextClause

    from service.domain.access.audit import AuditKind

_LOG = structlog.get_logger(__name__)
_APPEND: Final = text("SELECT id, hash FROM audit.append(:kind, :actor, :subject, :body)")
_ENTRIES: Final = text("""
SELECT id, at, kind, actor, subject, body, previous, hash FROM audit.entry
WHERE id > :after AND (CAST(:kind AS text) IS NULL OR kind = :kind) ORDER BY id LIMIT :limit
""")
_NEWEST: Final = text("""
SELECT id, at, kind, actor, subject, body, previous, hash FROM audit.entry
WHERE (CAST(:before AS bigint) IS NULL OR id < :before) AND (CAST(:kind AS text) IS NULL OR kind = :kind)
ORDER BY id DESC LIMIT :limit
""")


# A program cannot judge an object of somebody else.
_OF_OTHERS: Final = (
    "find out who made this object, and let an administrator drop it; or begin a new log: "
    "ALTER SCHEMA audit RENAME TO audit_before, then benchgate migrate --administrator-url-from VARIABLE"
)
RESTORE: Final = "benchgate migrate --administrator-url-from VARIABLE"
_FUNCTION: Final = re.compile(r"CREATE OR REPLACE FUNCTION audit\.(\w+)\(.*?AS \$\$(.*?)\$\$;", re.DOTALL)


def script(name: str) -> str:
    """Return an SQL script of this folder."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


@contextmanager
def own_names(connection: Connection) -> Iterator[None]:
    """Resolve names to PostgreSQL's own objects: the database's owner may have others of the same names."""
    before = connection.execute(text("SHOW search_path")).scalar_one()
    connection.execute(text("SET LOCAL search_path = pg_catalog, pg_temp"))
    yield
    connection.execute(text("SELECT set_config('search_path', :before, true)"), {"before": before})


def lost_protections(connection: Connection) -> Sequence[ProtectionFault]:
    """Return the protections that the log lacks; call it with :func:`own_names`."""
    bodies = dict(_FUNCTION.findall(script("audit.sql")))
    rows = connection.execute(text(script("audit_protection.sql")), bodies)
    return [ProtectionFault(row.sentence, row.remedy or RESTORE) for row in rows]


def foreign_objects(connection: Connection) -> Sequence[ProtectionFault]:
    """Return the objects of the log that audit.sql does not make; call it with :func:`own_names`."""
    rows = connection.execute(text(script("audit_foreign.sql")))
    return [ProtectionFault(row.sentence, _OF_OTHERS) for row in rows]


class PostgresAudit(Connected, Audit):
    """Append to the audit log in a unit of work, by a function that the log's role owns."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._recorded: list[dict[str, str]] = []

    @override
    def record_act(self, kind: AuditKind, actor: str, subject: str, details: Mapping[str, str]) -> None:
        # The hash covers the texts as they are stored.
        body = body_of(clean_json(details))
        self._recorded.append(
            {"kind": kind.value, "actor": clean(actor), "subject": clean(subject), "body": body}
        )

    def append_recorded(self) -> Sequence[tuple[int, bytes]]:
        """Append what was recorded; return number and hash of each entry.

        This locks the log, so it must come last in the transaction. Pass the entries to :func:`log_appended`
        when they are committed.
        """
        rows = [self._execute(_APPEND, values).one() for values in self._recorded]
        self._recorded.clear()
        return [(row.id, bytes(row.hash)) for row in rows]


def log_appended(entries: Sequence[tuple[int, bytes]]) -> None:
    """Log number and hash of entries that are committed: an operator can keep the head elsewhere."""
    for number, head in entries:
        _LOG.info("audit.appended", number=number, hash=head.hex())


class PostgresAuditLog(Snapshots, AuditLog):
    """The stored log, read with the rights of the database's owner."""

    @override
    def entries(self, after: int, limit: int, kind: AuditKind | None = None) -> Sequence[AuditEntry]:
        return [_entry(row) for row in self._read(_ENTRIES, after=after, limit=limit, kind=kind)]

    @override
    def newest(
        self, limit: int, kind: AuditKind | None = None, before: int | None = None
    ) -> Sequence[AuditEntry]:
        return [_entry(row) for row in self._read(_NEWEST, before=before, limit=limit, kind=kind)]

    @override
    def protection_faults(self) -> Sequence[ProtectionFault]:
        with self._begin() as connection, own_names(connection):
            return [*lost_protections(connection), *foreign_objects(connection)]

    def _read(self, statement: TextClause, **values: object) -> Sequence[Row[Any]]:
        try:
            return self._all(statement, **values)
        except ProgrammingError as error:
            problem = str(error.orig).splitlines()[0]
            raise Permanent(
                f"the audit log cannot be read ({problem}); run `benchgate migrate`, if it is missing with "
                "--administrator-url-from"
            ) from error


def _entry(row: Row[Any]) -> AuditEntry:
    return AuditEntry(
        id=row.id,
        at=row.at,
        kind=row.kind,
        actor=row.actor,
        subject=row.subject,
        body=row.body,
        previous=bytes(row.previous),
        hash=bytes(row.hash),
    )
