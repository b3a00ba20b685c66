"""Define a failure of a build: what failed, why, where, and the line that a message shows."""

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


MOST: Final = 200  # failures of a build; longer lists are cut
NO_REASON: Final = "Failed"
"""The headline, and the text of the signature, of a test that failed without saying why."""
REASONS: Final = "; "
"""The separator of the lines that say why a test failed."""
_MAX_SUBJECT: Final = 1024  # characters; as long as a test's name
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
    CONFIGURED = "configured"  # an operator's pattern matched


Fault = tuple[FailureKind, str, str]


_LIMITS: Final[Mapping[StoppedBy, tuple[FailureKind, str]]] = MappingProxyType(
    {
        StoppedBy.WALL: (FailureKind.TIMEOUT, "timeout"),
        StoppedBy.MEMORY: (FailureKind.MEMORY, "out of memory"),
        StoppedBy.LOG: (FailureKind.COMMAND, "too much output"),
        StoppedBy.DISK: (FailureKind.COMMAND, "too much disk space"),
    }
)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure; every text is one harmless line.

    Args:
        subject: what failed: a test, a source file, a symbol or a program; empty if unknown.
        headline: what is wrong with it; the signature is made from this.
        line: the line that a message shows, ``Failure of a CTest test 170/409 Test #167: …``.
        place: file and line, ``src/a.cc:12``; empty if unknown.
    """

    kind: FailureKind
    subject: str
    headline: str
    line: str = ""
    place: str = ""

    @property
    def fault(self) -> Fault:
        """Equal for failures that differ only in where they are shown."""
        return self.kind, self.subject, self.headline


def failure_of(kind: FailureKind, subject: str, headline: str, line: str = "", place: str = "") -> Failure:
    """Make a failure from untrusted texts: sanitise and shorten them."""
    return Failure(
        kind,
        plain(subject, _MAX_SUBJECT),
        plain(headline, _MAX_TEXT),
        padded(line, _MAX_LINE),
        plain(place, _MAX_SUBJECT),
    )


def failure_at_limit(limit: StoppedBy, subject: str, line: str) -> Failure:
    """Make the failure of a program that a limit ended."""
    kind, headline = _LIMITS[limit]
    return failure_of(kind, subject, headline, line)


def beside_limit(named: Iterable[Failure]) -> Iterator[Failure]:
    """Drop the kill that a program's output reports when a limit ended the program."""
    return (each for each in named if (each.kind, each.headline) != (FailureKind.CRASH, "killed"))


def distinct(failures: Iterable[Failure]) -> tuple[tuple[Failure, ...], bool]:
    """Return the first :data:`MOST` different failures, and whether there are more."""
    found: dict[Fault, Failure] = {}
    for failure in failures:
        if len(found) > MOST:
            break
        found.setdefault(failure.fault, failure)
    return tuple(found.values())[:MOST], len(found) > MOST


def failures_from(stored: object) -> tuple[tuple[Failure, ...], bool]:
    """Parse a list of the plain values of failures.

    Returns:
        The first :data:`MOST` failures, and whether others are missing or unreadable.
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
