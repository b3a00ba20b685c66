"""Warnings of GCC, Clang and MSVC in the log of a build, with their files and lines."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import Finding, finding_at
from service.domain.building.log_places import LogPlaces, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_WARNINGS: Final = 10_000  # the lines that a patch set touches are selected from these
_MOST_LINES: Final = 100_000  # parsed lines of a log; about a second's work
_RELEVANT: Final = re.compile(rb"warning[: ]|ing directory ")
_WARNING: Final = re.compile(
    r" *(?:[0-9]{1,4}>)?((?:[A-Za-z]:)?[^:(]+)"  # MSBuild writes the number of the project before the path
    r"(?::([0-9]{1,8})(?::[0-9]{1,8})?|\(([0-9]{1,8})(?:,[0-9]{1,8}){0,3}\)) ?: "
    r"(warning(?: [A-Z]{1,8}[0-9]{1,8})?: .*)"
)
_PROJECT: Final = re.compile(r" \[[^\[\]]*proj\]$")  # what MSBuild writes behind the message


def warnings_in(log: bytes, sources: str = "") -> tuple[Finding, ...]:
    """Find the warnings of compilers in the log of a build, in order, at most :data:`MOST_WARNINGS`.

    Each is found once. Warnings of linkers and CMake, and those in files outside the sources, are ignored.
    The log may contain anything; the time is linear in its length.

    Args:
        log: the output of the build.
        sources: the directory of the sources on the host; in a sandbox they are in ``/src``.
    """
    places = LogPlaces(sources)
    findings: dict[Finding, None] = {}
    for line in islice(_relevant_lines(log), _MOST_LINES):
        if places.follow(line):
            continue
        if warning := _WARNING.match(line):
            path, number, number_of_msvc, text = warning.groups()
            place = places.below(path.strip())
            if finding := finding_at(place, int(number or number_of_msvc), _PROJECT.sub("", text)):
                findings[finding] = None
        if len(findings) == MOST_WARNINGS:
            break
    return tuple(findings)


def _relevant_lines(log: bytes) -> Iterator[str]:
    done = 0
    while mark := _RELEVANT.search(log, done):
        begin = log.rfind(b"\n", done, mark.start()) + 1 or done
        end = log.find(b"\n", mark.end())
        done = len(log) if end == -1 else end
        yield shown(log[begin:done])
