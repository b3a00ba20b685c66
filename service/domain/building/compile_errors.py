"""Errors in the log of a build, with their files and lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from service.domain.building.compiler_messages import ERROR, messages_in
from service.domain.building.findings import MOST
from service.domain.building.log_places import LINE_BYTES, lines_with
from service.domain.values.text import plain

if TYPE_CHECKING:
    from service.domain.building.findings import Finding

# Errors of linkers, CMake, Meson, make and shells, and of compilers in files outside the sources.
_ANY_ERROR: Final = re.compile(
    rb"(?i:\berror(?:: | at ))|\berror [A-Z]+[0-9]+: |undefined reference to|cannot find -l|: not found|"
    rb"No such file or directory|\*\*\* "
)
_MAX_ERROR: Final = 300
_EXCERPT: Final = 2000  # bytes at each end


def errors_in(log: bytes, sources: str = "") -> tuple[Finding, ...]:
    """Find the errors of compilers in order, at most :data:`MOST`, as ``messages_in``."""
    return messages_in(log, sources, ERROR, MOST)


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
    """Cut a log to its lines from the first error and its last lines, for a person at a terminal."""
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
