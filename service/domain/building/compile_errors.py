"""Compiler errors in the log of a build, with their files and lines."""

from __future__ import annotations

import posixpath
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import MOST, Finding, finding_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINE_BYTES: Final = 4096  # parsed bytes of a line; file and line number are at its beginning
_MOST_LINES: Final = 100_000  # parsed lines of a log; about a second's work
_DEEPEST: Final = 100  # nested directories of make
_SOURCES: Final = "/src"
_RELEVANT: Final = re.compile(rb"error: |ing directory ")
_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_ERROR: Final = re.compile(r"([^:]+):([0-9]{1,8})(?::[0-9]{1,8})?: ((?:fatal )?error: .*)")
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


def _relevant_lines(log: bytes) -> Iterator[str]:
    """Yield the beginnings of lines that may name an error or a directory, without colours."""
    done = 0
    while mark := _RELEVANT.search(log, done):
        begin = log.rfind(b"\n", done, mark.start()) + 1 or done
        end = log.find(b"\n", mark.end())
        done = len(log) if end == -1 else end
        line = log[begin : min(done, begin + _LINE_BYTES)].decode(errors="replace")
        yield _ESCAPE.sub("", line)


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
