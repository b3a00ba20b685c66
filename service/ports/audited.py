"""Overrides, known failures and tokens as the audit log records them, the same from every store."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.access.audit import AuditKind
from service.domain.runs.overrides import OverrideKind
from service.domain.wording.overrides import accepted_levels
from service.ports.records import CommentSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.failures.known import KnownFailure, Scope
    from service.domain.values.identity import ChangeKey
    from service.ports.access import Token
    from service.ports.failures.storing import Author, UnknownSignature
    from service.ports.records import NewOverride

PROPOSER: Final = "benchgate"  # the actor of proposals
KINDS: Final[Mapping[OverrideKind, AuditKind]] = MappingProxyType(
    {
        OverrideKind.OVERRIDE: AuditKind.OVERRIDE,
        OverrideKind.ACCEPT: AuditKind.ACCEPT,
        OverrideKind.UNDO: AuditKind.UNDO,
        OverrideKind.TRUST: AuditKind.TRUST,
        OverrideKind.PERSON_VOTE: AuditKind.PERSON_VOTE,
    }
)


def subject_of(change: ChangeKey, patch_set: int) -> str:
    """Name a patch set: ``review~4711/3``."""
    return f"{change.instance}~{change.number}/{patch_set}"


def details_of(entry: NewOverride, revision: str) -> Mapping[str, str]:
    """Return what the log records of an override beside its author and patch set, without empty values."""
    details = {
        "person": entry.person,
        "revision": revision,
        "builds": ", ".join(map(str, entry.builds)),
        "filter": entry.pattern,
        "levels": "; ".join(accepted_levels(entry.levels)),
        "bug": entry.bug,
        "reason": entry.reason,
        "way": _way_of(entry),
        "signed in as": entry.signed_in_as,
    }
    return {name: value for name, value in details.items() if value}


def _way_of(entry: NewOverride) -> str:
    if entry.carried_from:
        return f"carried over from patch set {entry.carried_from}"
    if entry.comment_id is None:
        return ""  # a vote by hand, of which the kind says so
    return CommentSource.PAGE if entry.signed_in_as else CommentSource.COMMENT


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
    """Name the person whose sessions end; None: everybody."""
    return "everybody" if subject is None else subject


def token_details(token: Token) -> Mapping[str, str]:
    """Return what the log records of a token beside its number; never its text."""
    return {
        "name": token.name,
        "scopes": ", ".join(sorted(map(str, token.scopes))),
        "created by": token.created_by,
        "expires at": f"{token.expires_at:%Y-%m-%dT%H:%M:%SZ}",
    }


def known_subject(known: KnownFailure) -> str:
    """Name a known failure: ``known failure 7``."""
    return f"known failure {known.id}"


def known_details(known: KnownFailure, author: Author) -> Mapping[str, str]:
    """Return what the log records of a known failure as it is from now on, without empty values."""
    details = {
        "person": author.name,
        "signed in as": author.signed_in_as,
        **_scope_details(known.scope),
        "pattern": known.pattern,
        "signature": known.signature.hex() if known.signature else "",
        "state": known.state,
        "bug": known.bug,
        "reason": known.reason,
        "assignee": known.assignee,
        "expires at": f"{known.expires_at:%Y-%m-%dT%H:%M:%SZ}",
    }
    return {name: value for name, value in details.items() if value}


def proposal_details(found: UnknownSignature, grounds: Sequence[str]) -> Mapping[str, str]:
    """Return what the log records of a proposal."""
    return {
        **_scope_details(found.scope),
        "signature": found.signature.hex(),
        "grounds": ", ".join(grounds),
    }


def _scope_details(scope: Scope) -> dict[str, str]:
    return {
        "project": f"{scope.instance}~{scope.project}",
        "branch": scope.branch,
        "job": scope.job,
        "host": scope.host,
    }
