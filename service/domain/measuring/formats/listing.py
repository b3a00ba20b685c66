"""The listing of a program of Google Benchmark: the names of benchmarks, one in each line."""

from __future__ import annotations

from typing import Final

from service.domain.measuring.formats.row import ReadLimits
from service.domain.values.text import clean

_LONGEST: Final = ReadLimits().name_characters
# A filter that matches nothing makes the library print it instead of names.
_NO_MATCH: Final = "Failed to match any benchmarks"


def names_in(printed: str) -> tuple[str, ...]:
    """Read the names that a program lists; also other lines that it prints, if they could be names.

    A name that the reader of results would change or refuse is left out, because no result could be matched
    to it.
    """
    # Not splitlines(): it also splits at characters that the reader of results keeps in a name.
    return tuple(
        line
        for line in printed.split("\n")
        if 0 < len(line) <= _LONGEST and line == clean(line) and not line.startswith(_NO_MATCH)
    )
