"""Create, list and revoke API tokens, for people and for commands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from service.domain.access.caller import Role
from service.domain.access.scopes import parse_scope
from service.domain.access.tokens import (
    DEFAULT_DAYS,
    MOST_SCOPES,
    checked_name,
    lifetime_of,
    scopes_refusal,
)
from service.domain.values.errors import BadInput, NotFound
from service.domain.values.text import brief
from service.ports.access import NewToken, command_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.access.caller import User
    from service.ports.access import Sessions, Token, Tokens


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token that somebody wants, in their words."""

    name: str
    scopes: Sequence[str]
    days: int = DEFAULT_DAYS


def create_token(
    tokens: Tokens, wanted: TokenRequest, creator: User, ticket: bytes | None = None
) -> tuple[Token, str]:
    """Create a token of a person; return it with its text, which nothing returns again.

    Args:
        tokens: where it is stored.
        wanted: its name, scopes and lifetime.
        creator: the person.
        ticket: the key of the form that they sent, which creates one token; None without a form.

    Raises:
        BadInput: the name, a scope or the lifetime cannot be used.
        NotAllowed: the person's role may not give one of the scopes, or the form was sent already.
    """
    new = replace(_new(wanted, creator.email or creator.subject, creator), ticket=ticket)
    refused = scopes_refusal(creator.role, new.scopes)
    if refused is not None:
        raise refused
    return tokens.add(new)


def create_token_by_command(tokens: Tokens, wanted: TokenRequest, user: str) -> tuple[Token, str]:
    """Create a token that belongs to no person, for a user who has the database's password.

    Raises:
        BadInput: as in :func:`create_token`.
    """
    return tokens.add(_new(wanted, user))


def tokens_for(tokens: Tokens, person: User) -> Sequence[Token]:
    """Return the tokens that a person may revoke, the newest first: their own, for an operator all."""
    return tokens.list(_owner(person))


def revoke_token(tokens: Tokens, token_id: int, by: User) -> bool:
    """Revoke a token at once; return whether it was valid until now.

    Raises:
        NotFound: there is no such token, or it is another person's and this one is no operator.
    """
    return tokens.revoke(token_id, by.subject, _owner(by))


def revoke_token_by_command(tokens: Tokens, token_id: int, user: str) -> bool:
    """Revoke any token at once; return whether it was valid until now.

    Raises:
        NotFound: there is no such token.
    """
    return tokens.revoke(token_id, command_by(user))


def end_access(tokens: Tokens, sessions: Sessions, user: str, subject: str | None = None) -> tuple[int, int]:
    """End the sessions of a person, or of everybody, and revoke their tokens; return the numbers of both.

    The person can sign in again as long as the identity provider admits them.

    Raises:
        NotFound: the person has no session and no valid token.
    """
    # Sessions first, because a session can create a token.
    sessions_ended = sessions.end_all(command_by(user), subject)
    tokens_revoked = tokens.revoke_all(command_by(user), subject)
    if subject is not None and not sessions_ended + tokens_revoked:
        raise NotFound(
            f"{brief(subject)} has no session and no valid token; the audit log and `benchgate token list` "
            "name the subjects of people"
        )
    return sessions_ended, tokens_revoked


def _new(wanted: TokenRequest, created_by: str, creator: User | None = None) -> NewToken:
    if not 1 <= len(wanted.scopes) <= MOST_SCOPES:
        raise BadInput(f"a token has 1 to {MOST_SCOPES} scopes, not {len(wanted.scopes)}", "scope")
    scopes = frozenset(map(parse_scope, wanted.scopes))
    return NewToken(
        name=checked_name(wanted.name),
        scopes=scopes,
        lifetime=lifetime_of(wanted.days, scopes),
        created_by=created_by,
        subject=creator.subject if creator else "",
        email=creator.email if creator else "",
    )


def _owner(person: User) -> str | None:
    """Return the owner of the tokens that a person may see and revoke; None: everybody."""
    return None if person.role.includes(Role.OPERATOR) else person.subject
