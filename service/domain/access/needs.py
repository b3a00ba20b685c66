"""Decide whether a caller has the right that a route needs."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, assert_never

from service.domain.access.caller import Anonymous, Role, TokenHolder, User
from service.domain.access.scopes import ScopeKind
from service.domain.values.errors import NotAllowed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.access.caller import Caller


class Need(StrEnum):
    """Rights that routes need."""

    NOTHING = "nothing"
    READ = "read"
    SESSION = "session"  # manage one's own sessions and tokens
    ACT = "act"  # request to run, cancel or override builds; the review server's groups also decide
    REPORT = "report"  # send results of another CI; the route also checks the token's project and job
    OPERATE = "operate"


_NEEDS_REPORT_TOKEN: Final = "this needs an API token with the scope report:PROJECT/JOB"
_ROLES: Final[Mapping[Need, Role | None]] = MappingProxyType(
    {
        Need.NOTHING: Role.READER,
        Need.READ: Role.READER,
        Need.SESSION: Role.READER,
        Need.ACT: Role.REVIEWER,
        Need.REPORT: None,  # for programs only
        Need.OPERATE: Role.OPERATOR,
    }
)
_SCOPES: Final[Mapping[Need, frozenset[ScopeKind]]] = MappingProxyType(
    {
        Need.NOTHING: frozenset(ScopeKind),
        Need.READ: frozenset({ScopeKind.READ, ScopeKind.OPERATE}),
        Need.SESSION: frozenset(),  # a stolen token must not create another one
        Need.ACT: frozenset(),  # a token has no account on the review server
        Need.REPORT: frozenset({ScopeKind.REPORT}),
        Need.OPERATE: frozenset({ScopeKind.OPERATE}),
    }
)


def refusal(caller: Caller, need: Need, *, is_public: bool) -> NotAllowed | None:
    """Return the error that names the missing right; None if the caller has it.

    ``is_public``: reading needs no sign-in.
    """
    if need is Need.NOTHING or (need is Need.READ and is_public):
        return None
    match caller:
        case Anonymous():
            return NotAllowed(_sign_in(need), may_sign_in=True)
        case User():
            return _refusal_by_role(caller.role, need)
        case TokenHolder():
            return _refusal_by_scope({scope.kind for scope in caller.scopes}, need)
    assert_never(caller)


def _refusal_by_role(role: Role, need: Need) -> NotAllowed | None:
    least = _ROLES[need]
    if least is None:
        return NotAllowed(_NEEDS_REPORT_TOKEN)
    return None if role.includes(least) else NotAllowed(f"this needs the role {least}; yours is {role}")


def _refusal_by_scope(scopes: set[ScopeKind], need: Need) -> NotAllowed | None:
    wanted = _SCOPES[need]
    if wanted & scopes:
        return None
    if not wanted:
        return NotAllowed("an API token cannot do this; a person must sign in")
    return NotAllowed(f"this needs a token with the scope {' or '.join(sorted(wanted))}")


def _sign_in(need: Need) -> str:
    if need is Need.REPORT:
        return _NEEDS_REPORT_TOKEN
    return "sign in to see this" if need is Need.READ else f"this needs the role {_ROLES[need]}; sign in"
