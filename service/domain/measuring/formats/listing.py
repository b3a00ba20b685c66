"""Read the benchmarks that a Google Benchmark program lists, one per line."""

from __future__ import annotations

from typing import Final

from service.domain.measuring.formats.row import ReadLimits
from service.domain.values.text import clean

_LONGEST: Final = ReadLimits().name_characters
# The library prints it instead of names if the filter matches nothing.
_NO_MATCH: Final = "Failed to match any benchmarks"


def names_in(printed: str) -> tuple[str, ...]:
    """Read the names that a program lists, including other lines that could be names.

    Names that the reader of results would change or refuse are left out: no result could match them.
    """
    # Not splitlines(), which also splits at characters that the reader of results keeps in names.
    return tuple(
        line
        for line in printed.split("\n")
        if 0 < len(line) <= _LONGEST and line == clean(line) and not line.startswith(_NO_MATCH)
    )
