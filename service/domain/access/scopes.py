"""Scopes of API tokens: ``read``, ``operate``, and ``report:PROJECT/JOB``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from service.domain.errors import BadInput
from service.domain.text import plain

_FORMS: Final = "a scope is read, operate or report:PROJECT/JOB"
_LONGEST: Final = 600


class ScopeKind(StrEnum):
    """The kinds of scopes."""

    READ = "read"
    OPERATE = "operate"
    REPORT = "report"


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """One right of a token; ``project`` and ``job`` are those of a report and empty otherwise."""

    kind: ScopeKind
    project: str = ""
    job: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.project}/{self.job}" if self.kind is ScopeKind.REPORT else self.kind.value


def parse_scope(text: str) -> Scope:
    """Parse a scope; a project's name may contain slashes, a job's name cannot.

    Raises:
        BadInput: the text is not a scope.
    """
    kind, colon, rest = text.partition(":")
    if not colon and kind in {ScopeKind.READ, ScopeKind.OPERATE}:
        return Scope(ScopeKind(kind))
    project, slash, job = rest.rpartition("/")
    if kind == ScopeKind.REPORT and slash and project and job and len(text) <= _LONGEST:
        return Scope(ScopeKind.REPORT, project, job)
    raise BadInput(f"{_FORMS}, not {plain(text, 100)!r}", "scope")
