"""Sentences about the outlook of measuring: the cost of a pair, and the least change that is found."""

from __future__ import annotations

from typing import Final

from service.domain.text import duration, share

_SHORT: Final = 10.0  # seconds, below which tenths matter


def cost(pair_seconds: float, machine_time: float, needed: int) -> str:
    """The number of pairs that the machine time allows, beside the least that find a difference."""
    pairs = int(machine_time / pair_seconds) if pair_seconds else 0
    takes = f"{pair_seconds:.2g} s" if pair_seconds < _SHORT else duration(pair_seconds)
    sentence = (
        f"a pair of launches takes {takes}: machine_time ({duration(machine_time)}) is about "
        f"{pairs} pairs, and {needed} are needed to find a difference"
    )
    if pairs >= needed:
        return sentence
    return f"{sentence}; raise machine_time in benchgate.yaml, or measure less in a launch"


def noise(low: float, high: float, least: float) -> str:
    """The spread of the pairs of several benchmarks, and the least change that is found despite it."""
    by = share(low) if share(low) == share(high) else f"{share(low)} to {share(high)}"
    return (
        f"pairs vary by {by}: a change below {share(least)} will hardly be found in the machine time; "
        "`benchgate doctor` reports sources of noise"
    )
