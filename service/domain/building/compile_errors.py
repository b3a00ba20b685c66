"""Reads from the log of a build which lines of the sources its compilers refused."""

from __future__ import annotations

import posixpath
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.building.findings import MOST, Finding, finding_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINE_BYTES: Final = 4096  # of a line of a log; what names a place stands at its beginning
_MOST_LINES: Final = 100_000  # of a log that are looked at closely; a second's work
_DEEPEST: Final = 100  # directories that make may enter in each other
_SOURCES: Final = "/src"
_TELLING: Final = re.compile(rb"error: |ing directory ")
_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_ERROR: Final = re.compile(r"([^:]+):([0-9]{1,8})(?::[0-9]{1,8})?: ((?:fatal )?error: .*)")
_MOVE: Final = re.compile(r"(?:[^:]*make(?:\[[0-9]+\])?|ninja): (Enter|Leav)ing directory [`'‘](.+)['’]")


def errors_in(log: bytes, sources: str = "") -> tuple[Finding, ...]:
    """The errors that GCC and Clang name in the log of a build, at most :data:`MOST`, as they come.

    Warnings, notes and errors in files outside of the sources are none. The log may hold anything; the work
    grows with its length and no faster.

    Args:
        log: what the build wrote.
        sources: where they lay while it ran, beside ``/src``, where a sandbox shows them.
    """
    roots = [root.rstrip("/") for root in (_SOURCES, sources) if root.strip("/")]
    entered = [_SOURCES]
    found: dict[Finding, None] = {}
    for line in islice(_telling_lines(log), _MOST_LINES):
        if error := _ERROR.match(line):
            path, number, text = error.groups()
            place = _below(roots, posixpath.join(entered[-1], path))
            if finding := finding_at(place, int(number), text):
                found[finding] = None
        elif move := _MOVE.match(line):
            _follow(entered, *move.groups())
        if len(found) == MOST:
            break
    return tuple(found)


def _telling_lines(log: bytes) -> Iterator[str]:
    """The beginnings of lines that may name an error or a directory, without colours."""
    done = 0
    while mark := _TELLING.search(log, done):
        begin = log.rfind(b"\n", done, mark.start()) + 1 or done
        end = log.find(b"\n", mark.end())
        done = len(log) if end == -1 else end
        line = log[begin : min(done, begin + _LINE_BYTES)].decode(errors="replace")
        yield _ESCAPE.sub("", line)


def _follow(entered: list[str], way: str, directory: str) -> None:
    """Where relative paths begin from here on; builds that run side by side may mislead."""
    if way == "Leav":
        del entered[max(len(entered) - 1, 1) :]
    elif len(entered) < _DEEPEST:
        place = posixpath.normpath(posixpath.join(entered[-1], directory))
        # One that no system has is no place; left out, it is still there to be left.
        entered.append(place if len(place) <= _LINE_BYTES else entered[-1])


def _below(roots: Iterable[str], path: str) -> str:
    """The path from the root that it lies in; empty where it lies in none."""
    place = posixpath.normpath(path)
    return next((place[len(root) + 1 :] for root in roots if place.startswith(f"{root}/")), "")
