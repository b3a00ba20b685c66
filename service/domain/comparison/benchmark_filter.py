"""Tells which benchmarks a person means by a filter."""

from __future__ import annotations


def is_chosen(pattern: str, benchmark: str) -> bool:
    """Whether a filter chooses a benchmark: by a part of its name, or by the whole with wildcards.

    The name holds the filter as it stands, or is the filter with each ``*`` standing for any characters,
    also none and also slashes. Nothing else is special, and case matters. An empty filter chooses nothing.
    """
    return bool(pattern) and (pattern in benchmark or _is_like(pattern, benchmark))


def _is_like(pattern: str, name: str) -> bool:
    # By hand: as a regular expression a filter of many stars would take for ever.
    first, *middle = pattern.split("*")
    if not middle:
        return False
    *middle, last = middle
    if not name.startswith(first):
        return False
    place = len(first)
    for part in middle:
        found = name.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return name.endswith(last) and len(name) - len(last) >= place
