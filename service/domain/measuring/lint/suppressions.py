"""Count what a patch set adds to hide code from clang-tidy."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# A marker such as `# 1 "x" 3` gives the lines below another file, and 3 makes that a header of the system.
_SUPPRESSION: Final = re.compile(
    r"\bNOLINT(?:NEXTLINE|BEGIN)?\b(?:\([^()\n]{0,200}\))?"
    r"|\b(?:GCC|clang)[ \t]+system_header\b"
    r"|^[ \t]*#[ \t]*(?:line[ \t]+)?[0-9]+\b"
)


def new_suppressions(before: str, after: str, touched: Iterable[range]) -> int:
    """Count the suppressions of a file on touched lines that its old version does not have.

    One that only moved, or whose line changed otherwise, is not new.
    """
    lines = after.split("\n")
    total = len(suppressions_on(after, touched))
    return min(total, (Counter(_found(lines)) - Counter(_found(before.split("\n")))).total())


def suppressions_on(text: str, touched: Iterable[range]) -> list[str]:
    """Return the suppressions on touched lines of a file."""
    lines = text.split("\n")
    return _found(lines[number - 1] for run in touched for number in run if number <= len(lines))


def _found(lines: Iterable[str]) -> list[str]:
    return [found[0].strip() for line in lines for found in _SUPPRESSION.finditer(line)]
