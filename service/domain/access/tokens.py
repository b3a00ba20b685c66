"""Create and check API tokens. Only their digests are stored."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from datetime import timedelta
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.access.caller import Role
from service.domain.access.scopes import ScopeKind
from service.domain.values.errors import BadInput, NotAllowed
from service.domain.values.text import brief, clean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from service.domain.access.scopes import TokenScope

SECRET_BYTES: Final = 32  # 256 random bits cannot be guessed, so a digest without salt suffices
DEFAULT_DAYS: Final = 30
MOST_DAYS: Final = 90  # a forgotten token ends within a quarter
MOST_MACHINE_DAYS: Final = 400  # a year and a month: its holder is a machine that nobody looks at
MOST_SCOPES: Final = 20
SHOWN_AFTER_END: Final = timedelta(days=30)  # in lists; the audit log has all
MOST_SHOWN: Final = 1000
LONGEST_NAME: Final = 100
_PREFIX: Final = "bgt_"  # secret scanners search for it
_TEXT: Final = re.compile(r"bgt_[A-Za-z0-9_-]{43}")
_ROLES: Final[Mapping[ScopeKind, Role]] = MappingProxyType(
    {
        ScopeKind.READ: Role.READER,
        ScopeKind.REPORT: Role.OPERATOR,  # a result of another CI may become a vote
        ScopeKind.OPERATE: Role.OPERATOR,
        ScopeKind.MACHINE: Role.OPERATOR,
        ScopeKind.UNKNOWN: Role.OPERATOR,  # nobody can ask for it
    }
)


def token_text(secret: bytes) -> str:
    """Encode :data:`SECRET_BYTES` random bytes as a token."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a token has {SECRET_BYTES} random bytes, not {len(secret)}")
    return _PREFIX + urlsafe_b64encode(secret).rstrip(b"=").decode()


def digest_of(text: str) -> bytes | None:
    """Return the digest that is stored for a token, or None if the text cannot be a token."""
    return sha256(text.encode()).digest() if _TEXT.fullmatch(text) else None


def lifetime_of(days: int, scopes: Collection[TokenScope]) -> timedelta:
    """Convert days to the lifetime of a token with these scopes.

    Raises:
        BadInput: they are out of range, or a machine's token, which may live longer, has other rights too.
    """
    is_machine = any(scope.kind is ScopeKind.MACHINE for scope in scopes)
    if is_machine and len(scopes) > 1:
        raise BadInput("the token of a machine has no other scope", "scope")
    most = MOST_MACHINE_DAYS if is_machine else MOST_DAYS
    if not 1 <= days <= most:
        raise BadInput(f"{days} is out of range; allowed is 1 to {most}", "days")
    return timedelta(days=days)


def checked_name(name: str) -> str:
    """Strip a token's name; raise BadInput if it cannot be shown in a list."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or clean(name) != name:
        raise BadInput(
            f"{brief(name)} is no name; allowed are 1 to {LONGEST_NAME} characters on one line", "name"
        )
    return name


def scopes_refusal(role: Role, scopes: Collection[TokenScope]) -> NotAllowed | None:
    """Return the error if a role may not give a token these scopes; None if it may."""
    for scope in sorted(scopes):
        needed = _ROLES[scope.kind]
        if not role.includes(needed):
            return NotAllowed(f"a token with the scope {scope} needs the role {needed}; yours is {role}")
    return None
