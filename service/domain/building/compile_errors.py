"""Errors in the log of a build, with their files and lines."""

from __future__ import annotations

import posixpath
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import MOST, Finding, finding_at
from service.domain.text import ESCAPE_SEQUENCE, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINE_BYTES: Final = 4096  # parsed bytes of a line; file and line number are at its beginning
_MOST_LINES: Final = 100_000  # parsed lines of a log; about a second's work
_DEEPEST: Final = 100  # nested directories of make
_SOURCES: Final = "/src"
_RELEVANT: Final = re.compile(rb"error: |ing directory ")
_ERROR: Final = re.compile(r"([^:]+):([0-9]{1,8})(?::[0-9]{1,8})?: ((?:fatal )?error: .*)")
# Errors of linkers, CMake, Meson, make and shells, and of compilers in files outside the sources.
_ANY_ERROR: Final = re.compile(
    rb"(?i:\berror(?:: | at ))|undefined reference to|cannot find -l|: not found|"
    rb"No such file or directory|\*\*\* "
)
_MAX_ERROR: Final = 300
_EXCERPT: Final = 2000  # bytes at each end
_MOVE: Final = re.compile(r"(?:[^:]*make(?:\[[0-9]+\])?|ninja): (Enter|Leav)ing directory [`'‘](.+)['’]")


def errors_in(log: bytes, sources: str = "") -> tuple[Finding, ...]:
    """Find the errors of GCC and Clang in the log of a build, in order, at most :data:`MOST`.

    Warnings, notes, and errors in files outside the sources are ignored. The log may contain anything; the
    time is linear in its length.

    Args:
        log: the output of the build.
        sources: the directory of the sources on the host; in a sandbox they are in ``/src``.
    """
    roots = [root.rstrip("/") for root in (_SOURCES, sources) if root.strip("/")]
    entered = [_SOURCES]
    findings: dict[Finding, None] = {}
    for line in islice(_relevant_lines(log), _MOST_LINES):
        if error := _ERROR.match(line):
            path, number, text = error.groups()
            place = _below(roots, posixpath.join(entered[-1], path))
            if finding := finding_at(place, int(number), text):
                findings[finding] = None
        elif move := _MOVE.match(line):
            _follow(entered, *move.groups())
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
    begin, line = next(_lines_with(_ANY_ERROR, log), (0, ""))
    # CMake writes the place on one line, and the error on the next.
    more = _next_line(log, begin) if line.rstrip().endswith(":") else ""
    return plain(f"{line} {more}", _MAX_ERROR) or None


def excerpt(log: bytes) -> str:
    """Cut a log to its lines from the first error and its last lines, for a person at a terminal."""
    if len(log) <= 2 * _EXCERPT:
        return log.decode(errors="replace")
    first, _ = next(_lines_with(_ANY_ERROR, log), (0, ""))
    if first >= len(log) - 2 * _EXCERPT:
        return log[-2 * _EXCERPT :].decode(errors="replace")
    parts = (log[first : first + _EXCERPT], log[-_EXCERPT:])
    return "\n[…]\n".join(part.decode(errors="replace") for part in parts)


def _next_line(log: bytes, begin: int) -> str:
    """Return the first line with text after the line that begins there."""
    lines = log[begin : begin + 2 * _LINE_BYTES].decode(errors="replace").split("\n")
    return next((line for line in lines[1:] if line.strip()), "")


def _relevant_lines(log: bytes) -> Iterator[str]:
    """Yield the beginnings of lines that may name an error or a directory, without colours."""
    return (line for _, line in _lines_with(_RELEVANT, log))


def _lines_with(pattern: re.Pattern[bytes], log: bytes) -> Iterator[tuple[int, str]]:
    """Yield the place and the beginning of each line in which the pattern matches, without colours."""
    done = 0
    while mark := pattern.search(log, done):
        begin = log.rfind(b"\n", done, mark.start()) + 1 or done
        end = log.find(b"\n", mark.end())
        done = len(log) if end == -1 else end
        line = log[begin : min(done, begin + _LINE_BYTES)].decode(errors="replace")
        yield begin, ESCAPE_SEQUENCE.sub("", line)


def _follow(entered: list[str], way: str, directory: str) -> None:
    """Update the directory of relative paths; parallel builds may mislead this."""
    if way == "Leav":
        del entered[max(len(entered) - 1, 1) :]
    elif len(entered) < _DEEPEST:
        place = posixpath.normpath(posixpath.join(entered[-1], directory))
        # A path that is too long is ignored, but it counts as entered, so that leaving it works.
        entered.append(place if len(place) <= _LINE_BYTES else entered[-1])


def _below(roots: Iterable[str], path: str) -> str:
    """Make a path relative to the root that contains it; empty if no root does."""
    place = posixpath.normpath(path)
    return next((place[len(root) + 1 :] for root in roots if place.startswith(f"{root}/")), "")
