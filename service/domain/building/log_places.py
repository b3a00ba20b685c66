"""Search the lines of a build log, and resolve the paths that compilers print."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from service.domain.values.text import ESCAPE_SEQUENCE, LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEEPEST: Final = 100  # nested directories of make
_SOURCES: Final = "/src"
_MOVE: Final = re.compile(r"(?:[^:]*make(?:\[[0-9]+\])?|ninja): (Enter|Leav)ing directory [`'‘](.+)['’]")
_ON_WINDOWS: Final = re.compile(r"[A-Za-z]:/")


class LogPlaces:
    """Tracks the directories that make and ninja enter: printed paths are relative to them.

    Args:
        sources: the directory of the sources on the host; in a sandbox they are in ``/src``.
    """

    def __init__(self, sources: str = "") -> None:
        roots = (_SOURCES, sources.replace("\\", "/").rstrip("/"))
        self._roots: Final = tuple(root for root in roots if root)
        self._entered = [_SOURCES]

    def follow(self, line: str) -> None:
        """Note the directory that a line enters or leaves; in parallel builds, it may be the wrong one."""
        if not (move := _MOVE.match(line)):
            return
        way, directory = move.groups()
        if way == "Leav":
            del self._entered[max(len(self._entered) - 1, 1) :]
        elif len(self._entered) < _DEEPEST:
            place = posixpath.normpath(posixpath.join(self._entered[-1], directory))
            # An overlong path is ignored but counted, so that leaving it works.
            self._entered.append(place if len(place) <= LINE_BYTES else self._entered[-1])

    def below(self, path: str) -> str:
        """Make a printed path relative to the sources; empty if it is outside."""
        text = path.replace("\\", "/")
        is_absolute = text.startswith("/") or _ON_WINDOWS.match(text)
        place = posixpath.normpath(text if is_absolute else posixpath.join(self._entered[-1], text))
        return next((place[len(root) + 1 :] for root in self._roots if place.startswith(f"{root}/")), "")


def lines_with(pattern: re.Pattern[bytes], log: bytes) -> Iterator[tuple[int, str]]:
    """Yield the offset and the beginning of each matching line, without escape sequences."""
    done = 0
    while mark := pattern.search(log, done):
        begin = log.rfind(b"\n", done, mark.start()) + 1 or done
        end = log.find(b"\n", mark.end())
        done = len(log) if end == -1 else end
        line = log[begin : min(done, begin + LINE_BYTES)].decode(errors="replace")
        yield begin, ESCAPE_SEQUENCE.sub("", line).rstrip("\r")
