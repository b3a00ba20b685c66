"""API tokens in PostgreSQL."""

from __future__ import annotations

from secrets import token_bytes
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select, text, true, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.access.audit import PostgresAudit, log_appended
from service.adapters.postgres.connection import ShortTransactions
from service.domain.access.audit import AuditKind
from service.domain.access.caller import TokenHolder
from service.domain.access.scopes import stored_scope
from service.domain.access.tokens import MOST_SHOWN, SECRET_BYTES, SHOWN_AFTER_END, digest_of, token_text
from service.domain.values.errors import NotAllowed, NotFound
from service.domain.wording.refusals import FORM_USED
from service.ports.access import Token, Tokens, creator_of, token_details, token_subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row

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
            ticket=token.ticket,
            expires_at=func.now() + token.lifetime,
        )
        with self._begin() as connection:
            added = new.on_conflict_do_nothing(index_elements=["ticket"]).returning(t.token)
            row = connection.execute(added).one_or_none()
            if row is None:
                raise NotAllowed(FORM_USED)
            stored = _token_of(row)
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
        scopes = frozenset(map(stored_scope, row.scopes))
        return TokenHolder(
            token_id=row.id, name=row.name, scopes=scopes, subject=row.subject, email=row.email
        )

    @override
    def list(self, owner: str | None = None) -> Sequence[Token]:
        end = func.least(t.token.c.expires_at, t.token.c.revoked_at)
        shown = select(t.token).where(_is_of(owner), end > func.now() - SHOWN_AFTER_END)
        return [_token_of(row) for row in self._all(shown.order_by(t.token.c.id.desc()).limit(MOST_SHOWN))]

    @override
    def revoke(self, token_id: int, by: str, owner: str | None = None) -> bool:
        wanted = (t.token.c.id == token_id) & _is_of(owner)
        with self._begin() as connection:
            if connection.execute(select(t.token.c.id).where(wanted)).one_or_none() is None:
                raise NotFound(f"there is no token {token_id}; the list of tokens has their numbers")
            count, entries = _revoked(connection, wanted, by)
        log_appended(entries)
        return count > 0

    @override
    def revoke_all(self, by: str, owner: str | None = None) -> int:
        with self._begin() as connection:
            count, entries = _revoked(connection, _is_of(owner), by)
        log_appended(entries)
        return count


def _is_of(owner: str | None) -> ColumnElement[bool]:
    return true() if owner is None else (t.token.c.subject == owner) & (t.token.c.subject != "")


def _revoked(
    connection: Connection, wanted: ColumnElement[bool], by: str
) -> tuple[int, Sequence[tuple[int, bytes]]]:
    """Revoke the valid ones of the wanted tokens; return their number and their entries."""
    revoked = update(t.token).where(wanted, _IS_VALID).values(revoked_at=func.now()).returning(t.token)
    tokens = sorted(map(_token_of, connection.execute(revoked)), key=lambda token: token.id)
    return len(tokens), _recorded(connection, AuditKind.TOKEN_REVOKED, by, *tokens)


def _recorded(
    connection: Connection, kind: AuditKind, actor: str, *tokens: Token
) -> Sequence[tuple[int, bytes]]:
    """Append to the audit log, last in the transaction."""
    audit = PostgresAudit(connection)
    for token in tokens:
        audit.record_act(kind, actor, token_subject(token), token_details(token))
    return audit.append_recorded()


def _token_of(row: Row[Any]) -> Token:
    return Token(
        id=row.id,
        name=row.name,
        scopes=frozenset(map(stored_scope, row.scopes)),
        created_by=row.created_by,
        subject=row.subject,
        created_at=row.created_at,
        expires_at=row.expires_at,
        used_at=row.used_at,
        revoked_at=row.revoked_at,
    )
