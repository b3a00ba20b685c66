"""Names of benchmarks, and the entries of a project file that cover them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

from service.domain.project.forms import text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


# Where a benchmark's arguments begin, and the parts of a fixture's name end.
_PART: Final = re.compile(r"[/<]")

BenchmarkName = Annotated[str, text(r"[^\x00\n]{1,1024}", "names of benchmarks, of 1 to 1024 characters")]


def heads(name: str) -> Iterator[str]:
    """Yield a name, and what stands before each of its parts, the longest first."""
    yield name
    yield from (name[: part.start()] for part in reversed(list(_PART.finditer(name))) if part.start())


def entry_for(name: str, entries: Collection[str]) -> str | None:
    """Return the longest entry that covers a benchmark; None if none does.

    An entry covers the benchmark of that name, and those whose name goes on with ``/`` or ``<``.
    """
    return next((head for head in heads(name) if head in entries), None)


def is_chosen(pattern: str, benchmark: str) -> bool:
    """Return whether a filter chooses a benchmark: by a part of its name, or by the whole with wildcards.

    The name contains the filter as it is, or is the filter with each ``*`` standing for any characters,
    also none and also slashes. Nothing else is special, and case matters. An empty filter chooses nothing.
    """
    if "*" not in pattern:
        return bool(pattern) and pattern in benchmark
    first, *middle, last = map(re.escape, pattern.split("*"))
    # Each group is atomic, so that a filter of many stars does not take for ever.
    like = f"{first}{''.join(f'(?>.*?{part})' for part in middle)}.*{last}"
    return pattern in benchmark or re.fullmatch(like, benchmark, re.DOTALL) is not None
