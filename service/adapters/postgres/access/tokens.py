"""API tokens in PostgreSQL."""

from __future__ import annotations

from secrets import token_bytes
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, insert, select, text, update
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.access.audit import PostgresAudit, log_appended
from service.adapters.postgres.connection import ShortTransactions
from service.domain.access.audit import AuditKind
from service.domain.access.caller import TokenHolder
from service.domain.access.scopes import parse_scope
from service.domain.access.tokens import SECRET_BYTES, digest_of, token_text
from service.ports.access import Token, Tokens
from service.ports.audited import creator_of, token_details, token_subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from service.ports.access import NewToken

# A write for each request would make the database the limit of a busy program.
_NOTED_EVERY: Final = text("interval '1 minute'")
_IS_VALID: Final = t.token.c.revoked_at.is_(None) & (t.token.c.expires_at > func.now())
_IS_NOTED: Final = func.coalesce(t.token.c.used_at > func.now() - _NOTED_EVERY, text("false"))


class PostgresTokens(ShortTransactions, Tokens):
    """Rows of the table ``token``. Each call raises Transient if the database cannot be used now."""

    @override
    def add(self, token: NewToken) -> tuple[Token, str]:
        secret = token_text(token_bytes(SECRET_BYTES))
        new = insert(t.token).values(
            digest=digest_of(secret),
            name=token.name,
            scopes=sorted(map(str, token.scopes)),
            created_by=token.created_by,
            subject=token.subject,
            email=token.email,
            expires_at=func.now() + token.lifetime,
        )
        with self._begin() as connection:
            stored = _token_of(connection.execute(new.returning(t.token)).one())
            entries = _recorded(connection, AuditKind.TOKEN_CREATED, creator_of(stored), stored)
        log_appended(entries)
        return stored, secret

    @override
    def find(self, text: str) -> TokenHolder | None:
        digest = digest_of(text)
        if digest is None:
            return None
        # By the digest, so that the time of the look-up reveals nothing about the text of any token.
        wanted = select(t.token, _IS_NOTED.label("is_noted")).where(t.token.c.digest == digest, _IS_VALID)
        with self._begin() as connection:
            row = connection.execute(wanted).one_or_none()
            if row is None:
                return None
            if not row.is_noted:
                used = update(t.token).where(t.token.c.id == row.id, ~_IS_NOTED)
                connection.execute(used.values(used_at=func.now()))
        scopes = frozenset(map(parse_scope, row.scopes))
        return TokenHolder(token_id=row.id, name=row.name, scopes=scopes, email=row.email)

    @override
    def list(self) -> Sequence[Token]:
        return [_token_of(row) for row in self._all(select(t.token).order_by(t.token.c.id.desc()))]

    @override
    def revoke(self, token_id: int, by: str) -> bool:
        revoked = update(t.token).where(t.token.c.id == token_id, _IS_VALID).values(revoked_at=func.now())
        with self._begin() as connection:
            row = connection.execute(revoked.returning(t.token)).one_or_none()
            if row is None:
                return False
            entries = _recorded(connection, AuditKind.TOKEN_REVOKED, by, _token_of(row))
        log_appended(entries)
        return True


def _recorded(
    connection: Connection, kind: AuditKind, actor: str, token: Token
) -> Sequence[tuple[int, bytes]]:
    """Append to the audit log, as the last that the transaction does."""
    audit = PostgresAudit(connection)
    audit.record_act(kind, actor, token_subject(token), token_details(token))
    return audit.append_recorded()


def _token_of(row: Row[Any]) -> Token:
    return Token(
        id=row.id,
        name=row.name,
        scopes=frozenset(map(parse_scope, row.scopes)),
        created_by=row.created_by,
        subject=row.subject,
        created_at=row.created_at,
        expires_at=row.expires_at,
        used_at=row.used_at,
        revoked_at=row.revoked_at,
    )
