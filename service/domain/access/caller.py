"""Callers: who sends a request, and which roles and scopes they have."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from service.domain.access.scopes import Scope


LOCAL_EMAIL: Final = "local"  # of the user of this machine; no provider's address lacks the "@"


class Role(StrEnum):
    """The roles of people who sign in, from the fewest rights to the most; each includes those before it."""

    READER = "reader"
    REVIEWER = "reviewer"
    OPERATOR = "operator"

    def includes(self, other: Role) -> bool:
        """Return whether this role has all rights of another."""
        order = tuple(Role)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Anonymous:
    """A caller without a session and without a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person who signed in.

    Args:
        subject: the identity provider's name for the person, which never changes; ``local`` for the user of
            this machine.
        name: the display name that the provider gives; anybody may choose theirs, so it proves nothing.
        email: verified by the provider; empty if it is not. The review server links it to an account.
        role: the highest that the person's groups gave at sign-in.
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

    ``subject`` and ``email`` are those of the person who made the token, empty if a command made it: the
    program sees what that person's account on the review server sees.
    """

    token_id: int
    name: str
    scopes: frozenset[Scope]
    subject: str = ""
    email: str = ""


Caller = Anonymous | Person | TokenHolder


# A working day without signing in again, and a role that is at most as old as that: it is read at sign-in.
LONGEST_SESSION: Final = timedelta(hours=12)
# A browser left open does not stay signed in overnight, but over lunch and meetings.
LONGEST_IDLE: Final = timedelta(hours=2)
# Each request would otherwise write to the database.
SEEN_PRECISION: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class AccountLink:
    """A link to the account page for a person who signed in, to the page for signing in for the others.

    Args:
        path: its address, which leads back to the page with the link.
        is_sign_in: it is the page for signing in.
    """

    path: str
    is_sign_in: bool

    @property
    def name(self) -> str:
        """The text of the link."""
        return "Sign in" if self.is_sign_in else "Account"
