"""Messages of GCC, Clang and MSVC about lines of the sources, in the log of a build."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import Finding, finding_at
from service.domain.building.log_places import LogPlaces, lines_with

if TYPE_CHECKING:
    from re import Pattern

_MOST_LINES: Final = 100_000  # parsed lines of a log; about a second's work
_MOVE: Final = rb"|ing directory "
_BEGIN: Final = r" *(?:[0-9]{1,4}>)?"  # MSBuild writes the number of the project before the path
_GNU: Final = r"((?:[A-Za-z]:)?[^:]+):([0-9]{1,8})(?::[0-9]{1,8})?: "
_MSVC: Final = r"((?:[A-Za-z]:)?[^:(]+)\(([0-9]{1,8})(?:,[0-9]{1,8}){0,3}\) ?: "
_NUMBER: Final = r"(?: [A-Z]{1,8}[0-9]{1,8})?: .*"  # `error C2440: …`
_PROJECT: Final = re.compile(r" \[[^\[\]]*proj\]$")  # what MSBuild writes behind the message


@dataclass(frozen=True, slots=True)
class Severity:
    """A severity of messages, by the patterns of its lines."""

    relevant: Pattern[bytes]
    forms: tuple[Pattern[str], ...]

    @classmethod
    def of(cls, words: str, last: bytes) -> Severity:
        """Make the severity that a pattern describes, of which each line has the last word."""
        forms = (f"{_BEGIN}{_GNU}({words}{_NUMBER})", f"{_BEGIN}{_MSVC}({words}{_NUMBER})")
        return cls(re.compile(last + rb"[: ]" + _MOVE), tuple(re.compile(form) for form in forms))


ERROR: Final = Severity.of("(?:fatal )?error", b"error")
WARNING: Final = Severity.of("warning", b"warning")


def messages_in(log: bytes, sources: str, severity: Severity, most: int) -> tuple[Finding, ...]:
    """Find the messages of one severity, in order, each once.

    Messages of linkers and CMake, and those about files outside the sources, are ignored. The log may contain
    anything; the time is linear in its length.

    Args:
        log: the output of the build.
        sources: the directory of the sources on the host; in a sandbox they are in ``/src``.
        severity: all other messages are ignored.
        most: the number of messages after which the rest of the log is ignored.
    """
    places = LogPlaces(sources)
    findings: dict[Finding, None] = {}
    for _, line in islice(lines_with(severity.relevant, log), _MOST_LINES):
        if found := _message(line, severity):
            path, number, text = found
            if finding := finding_at(places.below(path.strip()), int(number), _PROJECT.sub("", text)):
                findings[finding] = None
        else:
            places.follow(line)
        if len(findings) == most:
            break
    return tuple(findings)


def _message(line: str, severity: Severity) -> tuple[str, str, str] | None:
    for form in severity.forms:
        if found := form.match(line):
            return found[1], found[2], found[3]
    return None
