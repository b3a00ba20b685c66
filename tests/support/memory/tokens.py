"""API tokens in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from service.domain.access.caller import TokenHolder
from service.domain.access.tokens import SECRET_BYTES, digest_of, token_text
from service.ports.access import Token, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.access import NewToken


class MemoryTokens(Tokens):
    """Tokens whose secrets are numbers; ``now`` is the time, which a test may move."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 12, tzinfo=UTC)
        self._tokens: dict[bytes, tuple[Token, str]] = {}  # by digest; with the e-mail

    def add(self, token: NewToken) -> tuple[Token, str]:
        number = len(self._tokens) + 1
        text = token_text(number.to_bytes(SECRET_BYTES, "big"))
        made = Token(
            id=number,
            name=token.name,
            scopes=token.scopes,
            created_by=token.created_by,
            subject=token.subject,
            created_at=self.now,
            expires_at=self.now + token.lifetime,
            used_at=None,
            revoked_at=None,
        )
        self._tokens[digest_of(text) or b""] = (made, token.email)
        return made, text

    def find(self, text: str) -> TokenHolder | None:
        digest = digest_of(text) or b""
        token, email = self._tokens.get(digest, (None, ""))
        if token is None or not self._is_valid(token):
            return None
        if token.used_at is None or token.used_at <= self.now - timedelta(minutes=1):
            self._tokens[digest] = (replace(token, used_at=self.now), email)
        return TokenHolder(token_id=token.id, name=token.name, scopes=token.scopes, email=email)

    def list(self) -> Sequence[Token]:
        return [token for token, _ in reversed(self._tokens.values())]

    def revoke(self, token_id: int, by: str) -> bool:
        for digest, (token, email) in self._tokens.items():
            if token.id == token_id and self._is_valid(token):
                self._tokens[digest] = (replace(token, revoked_at=self.now), email)
                return True
        return False

    def _is_valid(self, token: Token) -> bool:
        return token.revoked_at is None and token.expires_at > self.now
