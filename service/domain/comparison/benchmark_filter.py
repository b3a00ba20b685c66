"""Filters: patterns by which people choose benchmarks."""

from __future__ import annotations

import re


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
