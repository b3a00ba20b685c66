"""Sessions in the table ``session``, by the clock of the database."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, text
from typing_extensions import override

from service.adapters.postgres.access.audit import PostgresAudit, log_appended
from service.adapters.postgres.connection import ShortTransactions
from service.adapters.postgres.storable import CleanText
from service.domain.access.audit import AuditKind
from service.domain.access.caller import LONGEST_IDLE, LONGEST_SESSION, SEEN_PRECISION, Role, User
from service.ports.access import NewSession, Sessions, sessions_subject

if TYPE_CHECKING:
    from sqlalchemy import TextClause

_SECRET_BYTES: Final = 32  # nobody guesses 256 random bits, so a quick digest protects them
_LIMITS: Final = {"longest": LONGEST_SESSION, "idle": LONGEST_IDLE}
_IS_OVER: Final = "(opened_at <= now() - :longest OR seen_at <= now() - :idle)"


def _with_texts(statement: str, *names: str) -> TextClause:
    return text(statement).bindparams(*(bindparam(name, type_=CleanText) for name in names))


_REMOVE_EXPIRED: Final = text(f"DELETE FROM session WHERE {_IS_OVER}")  # noqa: S608 - the condition above
_OPEN: Final = _with_texts(
    "INSERT INTO session (digest, subject, name, email, role)"
    " VALUES (:digest, :subject, :name, :email, :role)",
    "subject",
    "name",
    "email",
)
_FIND: Final = text(
    "SELECT subject, name, email, role, seen_at < now() - :precision AS is_seen_earlier"  # noqa: S608 - ditto
    f" FROM session WHERE digest = :digest AND NOT {_IS_OVER}"
)
_SEE: Final = text("UPDATE session SET seen_at = now() WHERE digest = :digest")
_CLOSE: Final = text("DELETE FROM session WHERE digest = :digest")
_CLOSE_ALL: Final = _with_texts(
    "WITH closed AS (DELETE FROM session WHERE subject = :subject RETURNING opened_at, seen_at)"  # noqa: S608
    f" SELECT count(*) FROM closed WHERE NOT {_IS_OVER}",
    "subject",
)
_END_ALL: Final = _with_texts(
    "WITH closed AS (DELETE FROM session WHERE CAST(:subject AS text) IS NULL OR subject = :subject"  # noqa: S608
    f" RETURNING opened_at, seen_at) SELECT count(*) FROM closed WHERE NOT {_IS_OVER}",
    "subject",
)


class PostgresSessions(ShortTransactions, Sessions):
    """Sessions of people; opening one removes those that have expired."""

    @override
    def open(self, session: NewSession) -> str:
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        with self._begin() as connection:
            connection.execute(_REMOVE_EXPIRED, _LIMITS)
            values = {
                "subject": session.subject,
                "name": session.name,
                "email": session.email,
                "role": session.role,
            }
            connection.execute(_OPEN, {"digest": _digest(secret), **values})
        return secret

    @override
    def find(self, secret: str) -> User | None:
        digest = _digest(secret)
        with self._begin() as connection:
            values = {"digest": digest, "precision": SEEN_PRECISION, **_LIMITS}
            row = connection.execute(_FIND, values).one_or_none()
            if row is None:
                return None
            if row.is_seen_earlier:
                connection.execute(_SEE, {"digest": digest})
        return User(subject=row.subject, name=row.name, email=row.email, role=Role(row.role), session=digest)

    @override
    def close(self, session: bytes) -> None:
        self._do(_CLOSE, digest=session)

    @override
    def close_all(self, subject: str) -> int:
        return int(self._all(_CLOSE_ALL, subject=subject, **_LIMITS)[0][0])

    @override
    def end_all(self, by: str, subject: str | None = None) -> int:
        with self._begin() as connection:
            count: int = connection.execute(_END_ALL, {"subject": subject, **_LIMITS}).scalar_one()
            audit = PostgresAudit(connection)
            if count:
                audit.record_act(
                    AuditKind.SESSIONS_ENDED, by, sessions_subject(subject), {"sessions": str(count)}
                )
            entries = audit.append_recorded()
        log_appended(entries)
        return count


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
