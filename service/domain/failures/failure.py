"""The failure of a build: one cause, its place, and the line that names it in a message."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import StoppedBy
from service.domain.values.text import padded, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


NO_END: Final = "the program ended during this test"
"""The message of a test during which the program ended."""


MOST: Final = 200  # failures of a build; of more, the list is cut
NO_REASON: Final = "Failed"
"""The headline of a failed test whose output does not say why, and the text of its signature."""
REASONS: Final = "; "
"""The separator of the lines that say why a test failed."""
_MAX_SUBJECT: Final = 1024  # characters, as of the name of a test
_MAX_TEXT: Final = 1000
_MAX_LINE: Final = 300


class FailureKind(StrEnum):
    """The kind of a failure."""

    TEST = "test"
    SANITIZER = "sanitizer"
    CRASH = "crash"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    COMPILE = "compile"
    LINK = "link"
    CONFIGURE = "configure"
    LINT = "lint"
    FORMAT = "format"
    COMMAND = "command"
    CONFIGURED = "configured"  # a pattern of the service's configuration matched


_LIMITS: Final[Mapping[StoppedBy, tuple[FailureKind, str]]] = MappingProxyType(
    {
        StoppedBy.WALL: (FailureKind.TIMEOUT, "timeout"),
        StoppedBy.MEMORY: (FailureKind.MEMORY, "out of memory"),
        StoppedBy.LOG: (FailureKind.COMMAND, "too much output"),
    }
)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure; every text is one harmless line.

    Args:
        subject: the failing thing: the name of a test, the path of a source file, a symbol or a program;
            empty if unknown.
        headline: what is wrong with it; a signature is made from this.
        line: the failure as a message shows it, ``Failure of a CTest test 170/409 Test #167: …``.
        place: file and line, ``src/a.cc:12``; empty if unknown.
    """

    kind: FailureKind
    subject: str
    headline: str
    line: str = ""
    place: str = ""


def failure_of(kind: FailureKind, subject: str, headline: str, line: str = "", place: str = "") -> Failure:
    """Make a failure of foreign texts, without control characters and shortened."""
    return Failure(
        kind,
        plain(subject, _MAX_SUBJECT),
        plain(headline, _MAX_TEXT),
        padded(line, _MAX_LINE),
        plain(place, _MAX_SUBJECT),
    )


def failure_at_limit(limit: StoppedBy, subject: str, line: str) -> Failure:
    """Describe a program that a limit ended."""
    kind, headline = _LIMITS[limit]
    return failure_of(kind, subject, headline, line)


def beside_limit(named: Iterable[Failure]) -> Iterator[Failure]:
    """Leave out the kill that the output of a program reports if a limit ended it."""
    return (each for each in named if (each.kind, each.headline) != (FailureKind.CRASH, "killed"))


def distinct(failures: Iterable[Failure]) -> tuple[tuple[Failure, ...], bool]:
    """Return the first :data:`MOST` different failures, and whether there are more."""
    found: dict[tuple[FailureKind, str, str], Failure] = {}
    for failure in failures:
        if len(found) > MOST:
            break
        found.setdefault((failure.kind, failure.subject, failure.headline), failure)
    return tuple(found.values())[:MOST], len(found) > MOST


def failures_from(stored: object) -> tuple[tuple[Failure, ...], bool]:
    """Parse a list of the plain values of failures.

    Returns:
        The first :data:`MOST` failures, and whether any value is missing: behind them, or unreadable.
    """
    rows = stored if isinstance(stored, list | tuple) else ()
    parsed = [failure for row in rows[:MOST] if (failure := _from_mapping(row))]
    return tuple(parsed), len(parsed) < len(rows)


def _from_mapping(row: object) -> Failure | None:
    match row:
        case {"kind": str(kind), "subject": str(subject), "headline": str(headline), **more} if (
            kind in FailureKind.__members__.values()
        ):
            line, place = more.get("line", ""), more.get("place", "")
            return failure_of(FailureKind(kind), subject, headline, str(line), str(place))
    return None
