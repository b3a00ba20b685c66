"""API tokens in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from service.domain.access.audit import AuditKind
from service.domain.access.caller import TokenHolder
from service.domain.access.tokens import MOST_SHOWN, SECRET_BYTES, SHOWN_AFTER_END, digest_of, token_text
from service.domain.values.errors import NotAllowed, NotFound
from service.domain.wording.refusals import FORM_USED
from service.ports.access import Token, Tokens, creator_of, token_details, token_subject
from tests.support.memory.audit import MemoryAudit
from tests.support.memory.state import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.access import NewToken


class MemoryTokens(Tokens):
    """Tokens with numbers as secrets; the memory has the time and the audit log."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()
        self._tokens: dict[bytes, tuple[Token, str]] = {}  # by digest; with the e-mail
        self._tickets: set[bytes | None] = set()

    def add(self, token: NewToken) -> tuple[Token, str]:
        if token.ticket in self._tickets:
            raise NotAllowed(FORM_USED)
        self._tickets |= {token.ticket} - {None}
        number = len(self._tokens) + 1
        text = token_text(number.to_bytes(SECRET_BYTES, "big"))
        made = Token(
            id=number,
            name=token.name,
            scopes=token.scopes,
            created_by=token.created_by,
            subject=token.subject,
            created_at=self.memory.now,
            expires_at=self.memory.now + token.lifetime,
            used_at=None,
            revoked_at=None,
        )
        self._tokens[digest_of(text) or b""] = (made, token.email)
        self._record(AuditKind.TOKEN_CREATED, creator_of(made), made)
        return made, text

    def find(self, text: str) -> TokenHolder | None:
        digest = digest_of(text) or b""
        token, email = self._tokens.get(digest, (None, ""))
        if token is None or not self._is_valid(token):
            return None
        if token.used_at is None or token.used_at <= self.memory.now - timedelta(minutes=1):
            self._tokens[digest] = (replace(token, used_at=self.memory.now), email)
        return TokenHolder(
            token_id=token.id, name=token.name, scopes=token.scopes, subject=token.subject, email=email
        )

    def revoke(self, token_id: int, by: str, owner: str | None = None) -> bool:
        wanted = [token for token in self._of(owner) if token.id == token_id]
        if not wanted:
            raise NotFound(f"there is no token {token_id}")
        return self._revoke(wanted, by) > 0

    def revoke_all(self, by: str, owner: str | None = None) -> int:
        return self._revoke(self._of(owner), by)

    def _of(self, owner: str | None) -> list[Token]:
        return [token for token, _ in self._tokens.values() if owner is None or token.subject == owner != ""]

    def _revoke(self, tokens: Sequence[Token], by: str) -> int:
        valid = {token.id for token in tokens if self._is_valid(token)}
        for digest, (token, email) in self._tokens.items():
            if token.id in valid:
                self._tokens[digest] = (replace(token, revoked_at=self.memory.now), email)
                self._record(AuditKind.TOKEN_REVOKED, by, token)
        return len(valid)

    def _record(self, kind: AuditKind, actor: str, token: Token) -> None:
        MemoryAudit(self.memory).record_act(kind, actor, token_subject(token), token_details(token))

    def _is_valid(self, token: Token) -> bool:
        return token.revoked_at is None and token.expires_at > self.memory.now

    def list(self, owner: str | None = None) -> Sequence[Token]:
        since = self.memory.now - SHOWN_AFTER_END
        shown = [token for token in self._of(owner) if (token.revoked_at or token.expires_at) > since]
        return shown[: -MOST_SHOWN - 1 : -1]
