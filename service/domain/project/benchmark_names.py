"""Match names of benchmarks with filters and with entries of a project file; find their families."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

from service.domain.project.forms import text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


# What begins a benchmark's arguments, or ends a part of a fixture's name.
_PART: Final = re.compile(r"[/<]")
_DIGITS: Final = re.compile(r"([0-9]+)")

BenchmarkName = Annotated[str, text(r"[^\x00\n]{1,1024}", "names of benchmarks, of 1 to 1024 characters")]


def heads(name: str) -> Iterator[str]:
    """Yield a name, and its prefixes up to each part, the longest first."""
    yield name
    yield from (name[: part.start()] for part in reversed(list(_PART.finditer(name))) if part.start())


def family_of(name: str) -> str:
    """Return what comes before a benchmark's arguments: ``BM_Map`` of ``BM_Map<int, char>/64/threads:4``.

    Of a fixture it is the name of the fixture; of nanobench and Catch2 the title or the test case.
    """
    *_, family = heads(name)
    return family


def natural_order(name: str) -> tuple[tuple[str, int], ...]:
    """Return a key that sorts the numbers in names by their values: ``BM_Map/8`` before ``BM_Map/64``."""
    parts = _DIGITS.split(name)
    numbers = (*(int(each) for each in parts[1::2]), 0)
    return tuple(zip(parts[::2], numbers, strict=True))


def entry_for(name: str, entries: Collection[str]) -> str | None:
    """Return the longest entry that covers a benchmark.

    An entry covers the benchmark of that name, and names that continue it with ``/`` or ``<``.
    """
    return next((head for head in heads(name) if head in entries), None)


def is_chosen(pattern: str, benchmark: str) -> bool:
    """Return whether a filter matches a benchmark: as a part of its name, or as the whole with wildcards.

    A ``*`` stands for any characters, also none and also slashes. Nothing else is special, and case matters.
    An empty filter matches nothing.
    """
    if "*" not in pattern:
        return bool(pattern) and pattern in benchmark
    first, *middle, last = map(re.escape, pattern.split("*"))
    # Atomic groups keep a filter of many stars from backtracking for ever.
    like = f"{first}{''.join(f'(?>.*?{part})' for part in middle)}.*{last}"
    return pattern in benchmark or re.fullmatch(like, benchmark, re.DOTALL) is not None
