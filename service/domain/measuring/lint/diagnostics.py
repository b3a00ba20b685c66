"""Read diagnostics of Clang's tools: lines with a place, a level and a message."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.text import ESCAPE_SEQUENCE, LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

_SOURCES: Final = "/src"  # in a sandbox
_PLACED: Final = re.compile(r"(.+?):([0-9]{1,8}):[0-9]{1,8}: ((?:fatal )?error|warning|note|remark): (.*)")
_WITHOUT_PLACE: Final = re.compile(r"((?:fatal )?error|warning): (.*)")


@dataclass(frozen=True, slots=True)
class Roots:
    """Directories that printed paths begin at.

    Args:
        sources: the directory of the sources on the host; in a sandbox they are in ``/src``.
        directory: where relative paths begin: the ``directory`` of ``compile_commands.json`` for clang-tidy.
    """

    sources: str = ""
    directory: str = _SOURCES

    def below(self, path: str) -> str:
        """Make a printed path relative to the sources; empty if it is outside."""
        place = posixpath.normpath(posixpath.join(self.directory, path))
        for root in (_SOURCES, self.sources.rstrip("/")):
            if root and place.startswith(f"{root}/"):
                return place[len(root) + 1 :]
        return ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One diagnostic; ``path`` is relative to the sources, empty without a file or for one outside."""

    path: str
    line: int
    level: str
    text: str
    printed: str

    @property
    def is_note(self) -> bool:
        """Return whether it only explains the diagnostic before it."""
        return self.level in {"note", "remark"}

    @property
    def is_error(self) -> bool:
        """Return whether the tool calls it an error."""
        return self.level.endswith("error")


def lines_of(output: bytes) -> Iterator[str]:
    """Yield the lines of an output, shortened and without colours."""
    for line in output.split(b"\n"):
        yield ESCAPE_SEQUENCE.sub("", line[:LINE_BYTES].decode(errors="replace")).rstrip("\r")


def diagnostic_in(line: str, roots: Roots) -> Diagnostic | None:
    """Parse a diagnostic; None for any other line, such as an excerpt of a source."""
    if placed := _PLACED.fullmatch(line):
        path, number, level, text = placed.groups()
        return Diagnostic(roots.below(path), int(number), level, text, line)
    if other := _WITHOUT_PLACE.fullmatch(line):
        return Diagnostic("", 0, level=other[1], text=other[2], printed=line)
    return None
