"""Places in the log of a build: paths as compilers print them, relative to the sources."""

from __future__ import annotations

import posixpath
import re
from typing import Final

from service.domain.text import ESCAPE_SEQUENCE

LINE_BYTES: Final = 4096  # parsed bytes of a line; file and line number are at its beginning
_DEEPEST: Final = 100  # nested directories of make
_SOURCES: Final = "/src"
_MOVE: Final = re.compile(r"(?:[^:]*make(?:\[[0-9]+\])?|ninja): (Enter|Leav)ing directory [`'‘](.+)['’]")
_ON_WINDOWS: Final = re.compile(r"[A-Za-z]:/")


class LogPlaces:
    """The directories that make and ninja enter, and the paths that compilers print relative to them.

    Args:
        sources: the directory of the sources on the host; in a sandbox they are in ``/src``.
    """

    def __init__(self, sources: str = "") -> None:
        roots = (_SOURCES, sources.replace("\\", "/").rstrip("/"))
        self._roots: Final = tuple(root for root in roots if root)
        self._entered = [_SOURCES]

    def follow(self, line: str) -> bool:
        """Note the directory that a line enters or leaves; return whether it does.

        Parallel builds may mislead this.
        """
        if not (move := _MOVE.match(line)):
            return False
        way, directory = move.groups()
        if way == "Leav":
            del self._entered[max(len(self._entered) - 1, 1) :]
        elif len(self._entered) < _DEEPEST:
            place = posixpath.normpath(posixpath.join(self._entered[-1], directory))
            # A path that is too long is ignored, but it counts as entered, so that leaving it works.
            self._entered.append(place if len(place) <= LINE_BYTES else self._entered[-1])
        return True

    def below(self, path: str) -> str:
        """Make a printed path relative to the sources; empty if it is outside of them."""
        text = path.replace("\\", "/")
        is_absolute = text.startswith("/") or _ON_WINDOWS.match(text)
        place = posixpath.normpath(text if is_absolute else posixpath.join(self._entered[-1], text))
        return next((place[len(root) + 1 :] for root in self._roots if place.startswith(f"{root}/")), "")


def shown(line: bytes) -> str:
    """Decode the beginning of a line, without colours."""
    return ESCAPE_SEQUENCE.sub("", line[:LINE_BYTES].decode(errors="replace")).rstrip("\r\n")
