"""Scopes of API tokens: ``read``, ``operate``, ``report:PROJECT/JOB``, and ``machine:NAME``.

With several review servers, ``report:INSTANCE~PROJECT/JOB`` covers a project of one of them only. Gerrit
allows no ``~`` in the name of a project.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadInput
from service.domain.values.text import clean, plain

if TYPE_CHECKING:
    from collections.abc import Collection


_FORMS: Final = "a scope is read, operate, report:PROJECT/JOB or machine:NAME"
LONGEST_SCOPE: Final = 600


class ScopeKind(StrEnum):
    """Kinds of scopes."""

    READ = "read"
    OPERATE = "operate"
    REPORT = "report"
    MACHINE = "machine"  # to send and get artifacts, and nothing else
    UNKNOWN = "unknown"  # stored by a later version; grants nothing


@dataclass(frozen=True, slots=True, order=True)
class TokenScope:
    """One right of a token.

    Only a report has ``project`` and ``job``, only a machine ``machine``, and only an unknown scope ``text``.
    """

    kind: ScopeKind
    project: str = ""
    job: str = ""
    machine: str = ""
    text: str = ""

    def __str__(self) -> str:
        match self.kind:
            case ScopeKind.REPORT:
                return f"{self.kind}:{self.project}/{self.job}"
            case ScopeKind.MACHINE:
                return f"{self.kind}:{self.machine}"
            case ScopeKind.UNKNOWN:
                return self.text
        return self.kind.value

    def covers(self, instance: str, project: str, job: str) -> bool:
        """Return whether this scope allows reports on a job of a project."""
        name = f"{instance}~{project}" if "~" in self.project else project
        return self.kind is ScopeKind.REPORT and (self.project, self.job) == (name, job)

    def covers_machine(self, name: str) -> bool:
        """Return whether this scope is that of a machine, or of a host and ``name`` is ``HOST/POOL/2``."""
        own = self.machine
        return self.kind is ScopeKind.MACHINE and (name == own or name.startswith(f"{own}/"))


def parse_scope(text: str) -> TokenScope:
    """Parse a scope; a project's name may contain slashes, a job's name cannot.

    Raises:
        BadInput: the text is not a scope.
    """
    kind, colon, rest = text.partition(":")
    if not colon and kind in {ScopeKind.READ, ScopeKind.OPERATE}:
        return TokenScope(ScopeKind(kind))
    is_plain = len(text) <= LONGEST_SCOPE and clean(text) == text
    if kind == ScopeKind.MACHINE and rest and is_plain:
        return TokenScope(ScopeKind.MACHINE, machine=rest)
    project, slash, job = rest.rpartition("/")
    if kind == ScopeKind.REPORT and slash and project and job and is_plain:
        return TokenScope(ScopeKind.REPORT, project, job)
    raise BadInput(f"{_FORMS}, not {plain(text, 100)!r}", "scope")


def stored_scope(text: str) -> TokenScope:
    """Parse the scope of a stored token; one of a later version is only shown."""
    try:
        return parse_scope(text)
    except BadInput:
        return TokenScope(ScopeKind.UNKNOWN, text=text)


def cover_report(scopes: Collection[TokenScope], instance: str, project: str, job: str) -> bool:
    """Return whether one of the scopes allows reports on a job of a project."""
    return any(scope.covers(instance, project, job) for scope in scopes)


def cover_machine(scopes: Collection[TokenScope], name: str) -> bool:
    """Return whether one of the scopes is that of a machine."""
    return any(scope.covers_machine(name) for scope in scopes)
