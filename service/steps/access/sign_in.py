"""Turn the provider's claims into a session with a role, or a refusal that the audit log records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.access.caller import LOCAL_EMAIL, Role, role_of
from service.domain.values.errors import NotAllowed
from service.ports.access import NewSession

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from service.ports.access import Claims, IdentityProvider, Sessions, SignInAttempt

LOCAL_SUBJECT: Final = "local"  # of the user of this machine; no provider may claim it
_LOCAL_NAME: Final = "the user of this machine"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSignIn:
    """Sign people in at the identity provider.

    Args:
        provider: the identity provider.
        sessions: stores the session.
        role_groups: the provider's groups that give each role.
        callback: the provider sends people back to this address.
        record_refusal: records the subject of a person, the address of their browser, and why they were
            refused. It is called only after Benchgate itself asked the provider, because anybody can send
            a browser here with a query of their choice.
    """

    provider: IdentityProvider
    sessions: Sessions
    role_groups: Mapping[Role, Collection[str]]
    callback: str
    record_refusal: Callable[[str, str, str], None]

    def begin(self) -> SignInAttempt:
        """Begin an attempt; raises Transient if the provider does not answer."""
        return self.provider.begin(self.callback)

    def finish(self, attempt: SignInAttempt, query: Mapping[str, str], *, earlier: str, address: str) -> str:
        """Open a session for the person who came back with a query; return its secret.

        ``earlier`` is the secret of the browser's previous session, which ends; empty without one.
        ``address`` is the browser's.

        Raises:
            NotAllowed: the provider refuses the person, or no group gives them a role.
            Transient: the provider or the database cannot be used now.
        """
        code = self.provider.code_of(attempt, query)
        try:
            claims = self.provider.claims(attempt, self.callback, code)
        except NotAllowed as refusal:
            self.record_refusal("", address, str(refusal))
            raise
        role = role_of(claims.groups, self.role_groups)
        reason = _refusal(claims, role)
        if role is None or reason:
            self.record_refusal(claims.subject, address, reason)
            raise NotAllowed(reason)
        close_session(self.sessions, earlier)
        return self.sessions.open(
            NewSession(subject=claims.subject, name=claims.name, email=claims.email, role=role)
        )


def _refusal(claims: Claims, role: Role | None) -> str:
    """Return why a person may not sign in; empty if they may."""
    if claims.subject == LOCAL_SUBJECT:
        return (
            f"the identity provider gives {claims.name} the subject {LOCAL_SUBJECT!r}, which Benchgate gives "
            "to the user of its machine; ask an operator of the provider for another subject"
        )
    if role is None:
        return (
            f"no group of {claims.name} may sign in here; ask an operator of Benchgate to admit one of your "
            "groups"
        )
    return ""


def open_local_session(sessions: Sessions, earlier: str) -> str:
    """Open a session for the user of this machine, who operates Benchgate; return its secret."""
    close_session(sessions, earlier)
    return sessions.open(
        NewSession(subject=LOCAL_SUBJECT, name=_LOCAL_NAME, email=LOCAL_EMAIL, role=Role.OPERATOR)
    )


def close_session(sessions: Sessions, secret: str) -> None:
    """End the session of a secret, if there is one."""
    person = sessions.find(secret) if secret else None
    if person is not None:
        sessions.close(person.session)
