"""What jobs name by file and line, and how it is told on the lines of a change."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from service.domain.review import InlineComment
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

MOST: Final = 20  # of a build, and on a message: whoever has more to mend reads the log
_MOST_ON_CHANGE: Final = 100  # whatever its patch sets and rounds are
_MAX_TEXT: Final = 300
_MAX_PATH: Final = 1000
_AFTER_JOB: Final = ": "  # no name of a job holds it
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


def remarks(
    named: Iterable[tuple[str, Finding]], said: Collection[tuple[str, str]]
) -> tuple[InlineComment, ...]:
    """What to write on lines of what jobs found, each remark beginning with its job.

    At most :data:`MOST` at once, and no more once a change has a hundred. What several jobs find alike, the
    first of them says.

    Args:
        named: jobs and what they found.
        said: path and text of what was written before. A line may have moved since, and another job be the
            first to find it; it is not told again.
    """
    first: dict[Finding, str] = {}
    for job, finding in named:
        first.setdefault(finding, job)
    known = {(path, remark.partition(_AFTER_JOB)[2]) for path, remark in said}
    told = (
        InlineComment(each.path, each.line, f"{plain(job)}{_AFTER_JOB}{each.text}")
        for each, job in first.items()
        if (each.path, each.text) not in known
    )
    return tuple(islice(told, max(0, min(MOST, _MOST_ON_CHANGE - len(said)))))


def _finding_from(row: object) -> Finding | None:
    if not isinstance(row, Mapping):
        return None
    path, line, text = (row.get(key) for key in ("path", "line", "text"))
    if isinstance(path, str) and type(line) is int and isinstance(text, str):
        return finding_at(path, line, text)
    return None
