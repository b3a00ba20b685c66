"""Decide whether a caller has the right that a route needs."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

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
    STORE = "store"  # send and get artifacts; the route also checks the token's machine


_GRANTED: Final[Mapping[Need, tuple[Role | None, frozenset[ScopeKind]]]] = MappingProxyType(
    {
        Need.NOTHING: (Role.READER, frozenset(ScopeKind)),
        Need.READ: (Role.READER, frozenset({ScopeKind.READ, ScopeKind.OPERATE})),
        Need.SESSION: (Role.READER, frozenset()),  # a stolen token must not create another one
        Need.ACT: (Role.REVIEWER, frozenset()),  # a token has no account on the review server
        Need.REPORT: (None, frozenset({ScopeKind.REPORT})),  # for programs only
        Need.STORE: (None, frozenset({ScopeKind.MACHINE})),
        Need.OPERATE: (Role.OPERATOR, frozenset({ScopeKind.OPERATE})),
    }
)
"""The least role and the scopes that grant each right."""


def refusal(caller: Caller, need: Need, *, is_public: bool) -> NotAllowed | None:
    """Return the error that names the missing right; None if the caller has it.

    ``is_public``: reading needs no sign-in.
    """
    if need is Need.NOTHING or (need is Need.READ and is_public):
        return None
    least, wanted = _GRANTED[need]
    if isinstance(caller, TokenHolder):
        if wanted & {scope.kind for scope in caller.scopes}:
            return None
        scopes = " or ".join(sorted(wanted))
        why = "an API token cannot do this; a person must sign in"
        return NotAllowed(f"this needs a token with the scope {scopes}" if wanted else why)
    if least is None:
        form = "machine:NAME" if need is Need.STORE else "report:PROJECT/JOB"
        why = f"this needs an API token with the scope {form}"
        return NotAllowed(why, may_sign_in=isinstance(caller, Anonymous))
    if isinstance(caller, User):
        is_granted = caller.role.includes(least)
        return None if is_granted else NotAllowed(f"this needs the role {least}; yours is {caller.role}")
    what = "sign in to see this" if need is Need.READ else f"this needs the role {least}; sign in"
    return NotAllowed(what, may_sign_in=True)
