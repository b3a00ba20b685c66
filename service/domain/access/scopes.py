"""Scopes of API tokens: ``read``, ``operate``, and ``report:PROJECT/JOB``.

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


_FORMS: Final = "a scope is read, operate or report:PROJECT/JOB"
LONGEST_SCOPE: Final = 600


class ScopeKind(StrEnum):
    """Kinds of scopes."""

    READ = "read"
    OPERATE = "operate"
    REPORT = "report"


@dataclass(frozen=True, slots=True, order=True)
class TokenScope:
    """One right of a token; only a report has ``project`` and ``job``."""

    kind: ScopeKind
    project: str = ""
    job: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.project}/{self.job}" if self.kind is ScopeKind.REPORT else self.kind.value

    def covers(self, instance: str, project: str, job: str) -> bool:
        """Return whether this scope allows reports on a job of a project."""
        name = f"{instance}~{project}" if "~" in self.project else project
        return self.kind is ScopeKind.REPORT and (self.project, self.job) == (name, job)


def parse_scope(text: str) -> TokenScope:
    """Parse a scope; a project's name may contain slashes, a job's name cannot.

    Raises:
        BadInput: the text is not a scope.
    """
    kind, colon, rest = text.partition(":")
    if not colon and kind in {ScopeKind.READ, ScopeKind.OPERATE}:
        return TokenScope(ScopeKind(kind))
    project, slash, job = rest.rpartition("/")
    is_name = bool(slash and project and job) and len(text) <= LONGEST_SCOPE and clean(text) == text
    if kind == ScopeKind.REPORT and is_name:
        return TokenScope(ScopeKind.REPORT, project, job)
    raise BadInput(f"{_FORMS}, not {plain(text, 100)!r}", "scope")


def cover_report(scopes: Collection[TokenScope], instance: str, project: str, job: str) -> bool:
    """Return whether one of the scopes allows reports on a job of a project."""
    return any(scope.covers(instance, project, job) for scope in scopes)
