"""Callers of the web server: anonymous, a signed-in user, or a program with a token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from service.domain.access.scopes import TokenScope


LOCAL_EMAIL: Final = "local"  # this machine's own user; real addresses contain an "@"


class Role(StrEnum):
    """Roles of signed-in users, weakest first; each includes those before it."""

    READER = "reader"
    REVIEWER = "reviewer"
    OPERATOR = "operator"

    def includes(self, other: Role) -> bool:
        """Return whether this role has all rights of another."""
        order = tuple(Role)
        return order.index(self) >= order.index(other)


def role_of(groups: Collection[str], role_groups: Mapping[Role, Collection[str]]) -> Role | None:
    """Return the highest role that a person's groups give; None: the person may not sign in.

    Args:
        groups: the person's, as the identity provider reports them.
        role_groups: the groups that give each role. Without groups for readers, everybody whom the provider
            admits is a reader; without groups for another role, nobody has it.
    """
    for role in reversed(Role):
        if not set(groups).isdisjoint(role_groups.get(role, ())):
            return role
    return None if Role.READER in role_groups else Role.READER


@dataclass(frozen=True, slots=True)
class Anonymous:
    """A caller without a session and without a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person who signed in.

    Args:
        subject: the identity provider's permanent ID; ``local`` for the user of this machine.
        name: the display name from the provider; people choose it freely, so it proves nothing.
        email: as verified by the provider, else empty. The review server links it to an account.
        role: the highest role that the user's groups gave at sign-in.
        session: the digest of the session's secret.
    """

    subject: str
    name: str
    email: str
    role: Role
    session: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHolder:
    """A program with an API token that is neither expired nor revoked.

    ``subject`` and ``email`` are its creator's, and empty if a command created it. The program sees what the
    creator's account on the review server sees.
    """

    token_id: int
    name: str
    scopes: frozenset[TokenScope]
    subject: str = ""
    email: str = ""


Caller = Anonymous | User | TokenHolder


# One working day. It also bounds the age of a role, which is read at sign-in.
LONGEST_SESSION: Final = timedelta(hours=12)
# Long enough for lunch and meetings; a browser left open is signed out overnight.
LONGEST_IDLE: Final = timedelta(hours=2)
# Saves a database write for each request.
SEEN_PRECISION: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class AccountLink:
    """A link to the account page of a signed-in user, and to the sign-in page for others.

    Args:
        path: the link's target, with the current page as the page to return to.
        is_sign_in: the target is the sign-in page.
    """

    path: str
    is_sign_in: bool

    @property
    def name(self) -> str:
        """The text of the link."""
        return "Sign in" if self.is_sign_in else "Account"
