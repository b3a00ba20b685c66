"""Findings: what a job reports about a line of a file."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from itertools import islice
from typing import Final

from service.domain.values.text import plain

MOST: Final = 20  # per build, and per message; the log has the others
_MAX_TEXT: Final = 300
_MAX_PATH: Final = 1000
_LAST_LINE: Final = 10**7
_NO_SOURCES: Final = frozenset({"", ".", "..", "build"})  # as the first part of a path


@dataclass(frozen=True, slots=True)
class Finding:
    """A report about a line of a file.

    ``path`` is relative to the root of the sources, ``line`` counts from 1, and ``text`` is one line. A
    compiler's text begins with the severity: ``error: 'x' was not declared in this scope``.
    """

    path: str
    line: int
    text: str


def finding_at(path: str, line: int, text: str) -> Finding | None:
    """Make a finding without control characters; None if it is not about a line of a source file.

    Files below ``build/`` are not sources.
    """
    place, message = posixpath.normpath(path), plain(text, _MAX_TEXT)
    is_harmless = len(place) <= _MAX_PATH and path.isprintable() and "\ufffd" not in path
    is_source = is_harmless and place.split("/", 1)[0] not in _NO_SOURCES
    return Finding(place, line, message) if is_source and message and 0 < line <= _LAST_LINE else None


def findings_from(stored: object) -> tuple[Finding, ...]:
    """Parse a list of the plain values of findings; skip everything else."""
    parsed: dict[Finding, None] = {}
    for row in stored if isinstance(stored, list | tuple) else ():
        match row:
            case {"path": str(path), "line": int(line), "text": str(text)} if not isinstance(line, bool):
                if finding := finding_at(path, line, text):
                    parsed[finding] = None
    return tuple(islice(parsed, MOST))
