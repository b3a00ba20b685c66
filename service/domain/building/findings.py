"""What jobs name by file and line, and how it is told on the lines of a change."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from service.domain.text import plain

MOST: Final = 20  # of a build, and on a message: whoever has more to mend reads the log
_MAX_TEXT: Final = 300
_MAX_PATH: Final = 1000
_LAST_LINE: Final = 10**7
_NO_SOURCES: Final = frozenset({"", ".", "..", "build"})  # as the first part of a path


@dataclass(frozen=True, slots=True)
class Finding:
    """What a job says of a line of a file.

    ``path`` is from the root of the sources, ``line`` counts from 1, ``text`` is on one line; a compiler's
    begins with its kind: ``error: 'x' was not declared in this scope``.
    """

    path: str
    line: int
    text: str

    def to_mapping(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"path": self.path, "line": self.line, "text": self.text}


def finding_at(path: str, line: int, text: str) -> Finding | None:
    """The finding, made harmless; None where that is no line of a file of the sources.

    Nothing below ``build/`` is one: builds write there.
    """
    place, said = posixpath.normpath(path), plain(text, _MAX_TEXT)
    is_harmless = len(place) <= _MAX_PATH and path.isprintable() and "\ufffd" not in path
    is_source = is_harmless and place.split("/", 1)[0] not in _NO_SOURCES
    return Finding(place, line, said) if is_source and said and 0 < line <= _LAST_LINE else None


def findings_from(found: object) -> tuple[Finding, ...]:
    """Those of which :meth:`Finding.to_mapping` made a list, and nothing of what it cannot have made."""
    rows = found if isinstance(found, list) else []
    read = filter(None, map(_finding_from, rows))
    return tuple(islice(dict.fromkeys(read), MOST))


def _finding_from(row: object) -> Finding | None:
    if not isinstance(row, Mapping):
        return None
    path, line, text = (row.get(key) for key in ("path", "line", "text"))
    if isinstance(path, str) and type(line) is int and isinstance(text, str):
        return finding_at(path, line, text)
    return None
