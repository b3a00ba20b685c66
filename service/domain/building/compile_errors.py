"""Find errors in the log of a build: those of compilers with file and line, or the first of any tool."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import MOST, finding_at
from service.domain.building.log_places import LogPlaces, lines_with
from service.domain.values.text import LINE_BYTES, plain

if TYPE_CHECKING:
    from service.domain.building.findings import Finding

_MOST_LINES: Final = 100_000  # parsed lines of a log; about a second's work
_RELEVANT: Final = re.compile(rb"error[: ]|ing directory ")
_BEGIN: Final = r" *(?:[0-9]{1,4}>)?"  # MSBuild writes the number of the project before the path
_ERROR: Final = r"((?:fatal )?error(?: [A-Z]{1,8}[0-9]{1,8})?: .*)"  # `error C2440: …`
_GNU: Final = re.compile(rf"{_BEGIN}((?:[A-Za-z]:)?[^:]+):([0-9]{{1,8}})(?::[0-9]{{1,8}})?: {_ERROR}")
_MSVC: Final = re.compile(
    rf"{_BEGIN}((?:[A-Za-z]:)?[^:(]+)\(([0-9]{{1,8}})(?:,[0-9]{{1,8}}){{0,3}}\) ?: {_ERROR}"
)
_PROJECT: Final = re.compile(r" \[[^\[\]]*proj\]$")  # MSBuild writes it after the message
# Errors of linkers, CMake, Meson, make and shells, and of compilers in files outside the sources.
_ANY_ERROR: Final = re.compile(
    rb"(?i:\berror(?:: | at ))|\berror [A-Z]+[0-9]+: |undefined reference to|cannot find -l|: not found|"
    rb"No such file or directory|\*\*\* "
)
_MAX_ERROR: Final = 300
_EXCERPT: Final = 2000  # bytes at each end


def errors_in(log: bytes, sources: str = "") -> tuple[Finding, ...]:
    """Find the errors of GCC, Clang and MSVC, in order, each once, at most :data:`MOST`.

    Errors of linkers and CMake, and those in files outside the sources, are ignored. The log may contain
    anything; the time is linear in its length.

    Args:
        log: the output of the build.
        sources: the directory of the sources on the host; in a sandbox they are in ``/src``.
    """
    places = LogPlaces(sources)
    findings: dict[Finding, None] = {}
    for _, line in islice(lines_with(_RELEVANT, log), _MOST_LINES):
        if found := _GNU.match(line) or _MSVC.match(line):
            path, number, text = found.groups()
            if finding := finding_at(places.below(path.strip()), int(number), _PROJECT.sub("", text)):
                findings[finding] = None
        else:
            places.follow(line)
        if len(findings) == MOST:
            break
    return tuple(findings)


def first_error(log: bytes, sources: str = "") -> str | None:
    """Find the first error of a build as one harmless line; None if the log has none.

    An error in a file of the sources comes first: ``src/x.cc:10: error: …``. Otherwise it is the first line
    that looks like an error of a compiler, a linker, CMake, make or the shell.
    """
    if found := errors_in(log, sources):
        return plain(f"{found[0].path}:{found[0].line}: {found[0].text}", _MAX_ERROR)
    begin, line = next(lines_with(_ANY_ERROR, log), (0, ""))
    # CMake writes the place on one line, and the error on the next.
    more = _next_line(log, begin) if line.rstrip().endswith(":") else ""
    return plain(f"{line} {more}", _MAX_ERROR) or None


def excerpt(log: bytes) -> str:
    """Cut a log to the lines from its first error and its last lines, for a person at a terminal."""
    if len(log) <= 2 * _EXCERPT:
        return log.decode(errors="replace")
    first, _ = next(lines_with(_ANY_ERROR, log), (0, ""))
    if first >= len(log) - 2 * _EXCERPT:
        return log[-2 * _EXCERPT :].decode(errors="replace")
    parts = (log[first : first + _EXCERPT], log[-_EXCERPT:])
    return "\n[…]\n".join(part.decode(errors="replace") for part in parts)


def _next_line(log: bytes, begin: int) -> str:
    """Return the first line with text after the line that begins there."""
    lines = log[begin : begin + 2 * LINE_BYTES].decode(errors="replace").split("\n")
    return next((line for line in lines[1:] if line.strip()), "")
