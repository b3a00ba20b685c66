"""Sign-in, sessions, tokens and the audit log."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from service.domain.access.audit import AuditEntry, AuditKind, ProtectionFault
from service.domain.access.caller import Role, TokenHolder, User
from service.domain.access.scopes import TokenScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Person who changes a known failure or a regression.

    Args:
        account: on the review server.
        name: as the review server shows it.
        signed_in_as: the identity provider's name for the person; empty for a comment.
    """

    account: str
    name: str
    signed_in_as: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A session to open; the arguments are those of :class:`service.domain.access.caller.User`."""

    subject: str
    name: str
    email: str
    role: Role


class Sessions(Protocol):
    """The sessions of people who signed in; a session's secret is stored as its digest only."""

    def open(self, session: NewSession) -> str:
        """Store a session; return its secret, which nothing returns again."""

    def find(self, secret: str) -> User | None:
        """Return the person of a session; None if it expired, was closed or never existed."""

    def close(self, session: bytes) -> None:
        """End the session with this digest."""

    def close_all(self, subject: str) -> int:
        """End all sessions of a person; return how many there were."""

    def end_all(self, by: str, subject: str | None = None) -> int:
        """End all sessions of a person, or of everybody, and record it in the audit log; return their number.

        ``by`` is the actor in the audit log. If there were none, nothing is recorded.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """An API token to create.

    Args:
        name: the purpose, in the words of its creator.
        scopes: the rights of its holder.
        lifetime: from now.
        created_by: the creator as lists and the audit log name them.
        subject: the identity provider's name for the person who creates it, empty for a command.
        email: of that person if the provider verified it, else empty.
        ticket: the key of the page's form that asked for it; None for a command.
    """

    name: str
    scopes: frozenset[TokenScope]
    lifetime: timedelta
    created_by: str
    subject: str = ""
    email: str = ""
    ticket: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token as lists show it."""

    id: int
    name: str
    scopes: frozenset[TokenScope]
    created_by: str
    subject: str  # of the person who created it; empty if a command did
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None  # to the minute
    revoked_at: datetime | None


class Tokens(Protocol):
    """API tokens; the secret of a token is stored as its digest only."""

    def add(self, token: NewToken) -> tuple[Token, str]:
        """Store a token and record it in the audit log; return it and its text, shown only now.

        Raises:
            NotAllowed: a token with this ticket is stored already.
        """

    def find(self, text: str) -> TokenHolder | None:
        """Return the holder of a token and note the use; None if it expired, was revoked or never existed."""

    def list(self, owner: str | None = None) -> Sequence[Token]:
        """Return the newest tokens that are valid or ended within 30 days, the newest first, at most 1000.

        Args:
            owner: the creator's subject; None: everybody's. An empty subject owns no tokens, not even those
                of commands.
        """

    def revoke(self, token_id: int, by: str, owner: str | None = None) -> bool:
        """Revoke a token at once and record it in the audit log; return whether it was valid until now.

        A token that was not valid is neither changed nor recorded.

        Args:
            token_id: its number.
            by: the actor in the audit log.
            owner: as in :meth:`list`; a token of another owner is like one that does not exist.

        Raises:
            NotFound: there is no such token.
        """

    def revoke_all(self, by: str, owner: str | None = None) -> int:
        """Revoke all valid tokens of an owner, or of everybody, as :meth:`revoke` does; return the number."""


class AuditLog(Protocol):
    """Read the audit log; :class:`Audit` appends to it."""

    def entries(self, after: int, limit: int, kind: AuditKind | None = None) -> Sequence[AuditEntry]:
        """Return up to ``limit`` entries with an id above ``after``, oldest first; of one kind or of all."""

    def newest(
        self, limit: int, kind: AuditKind | None = None, before: int | None = None
    ) -> Sequence[AuditEntry]:
        """Return up to ``limit`` entries with an id below ``before``, newest first; of one kind or of all."""

    def protection_faults(self) -> Sequence[ProtectionFault]:
        """Return the protections that the stored log lacks; empty if it has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """The values that a browser keeps while the person is on the identity provider's pages."""

    url: str  # of the provider
    state: str
    nonce: str
    verifier: str

    def is_answered_by(self, query: Mapping[str, str]) -> bool:
        """Return whether a query is an answer of the provider to this attempt, and not to another one."""
        given = query.get("state", "")
        return bool(self.state) and hmac.compare_digest(given.encode(), self.state.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The provider's statements about a person; ``email`` is empty unless the provider verified it."""

    subject: str
    name: str
    email: str
    groups: frozenset[str]


class IdentityProvider(Protocol):
    """The OpenID Connect provider."""

    def begin(self, callback: str) -> SignInAttempt:
        """Begin a sign-in that ends at ``callback``; raises Transient if the provider does not answer."""

    def code_of(self, attempt: SignInAttempt, query: Mapping[str, str]) -> str:
        """Return the code in the callback's query; sends no request.

        Raises:
            NotAllowed: the query is not the answer to this attempt, or says that the provider refuses.
                Anybody can send a browser here with such a query, so it proves nothing.
        """

    def claims(self, attempt: SignInAttempt, callback: str, code: str) -> Claims:
        """Exchange a code for the person's claims.

        Raises:
            NotAllowed: the provider refuses, or its answer is not valid.
            Transient: the provider does not answer.
        """


class Audit(Protocol):
    """Append to the audit log."""

    def record_act(self, kind: AuditKind, actor: str, subject: str, details: Mapping[str, str]) -> None:
        """Append a :class:`service.domain.access.audit.AuditEntry` when the transaction is committed.

        The entry is written last in the transaction, because every other one that appends waits for its end.
        """


def token_subject(token: Token) -> str:
    """Name a token: ``token 7``."""
    return f"token {token.id}"


def creator_of(token: Token) -> str:
    """Return who created a token: a person's subject at the identity provider, or a command with its user."""
    return token.subject or command_by(token.created_by)


def command_by(user: str) -> str:
    """Name a command as an actor: not as a person, because the user is what the shell's environment says."""
    return f"command by {user}"


def sessions_subject(subject: str | None) -> str:
    """Name the owner of the ended sessions; None: everybody."""
    return "everybody" if subject is None else subject


def token_details(token: Token) -> Mapping[str, str]:
    """Return a token's details for the log; never its text."""
    return {
        "name": token.name,
        "scopes": ", ".join(sorted(map(str, token.scopes))),
        "created by": token.created_by,
        "expires at": f"{token.expires_at:%Y-%m-%dT%H:%M:%SZ}",
    }
