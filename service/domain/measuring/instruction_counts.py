"""Keeps the instruction counts of a build among the facts of its first pair, and finds them there again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from service.domain.identity import Side
from service.domain.measuring.instructions import Counted, added_instructions, compare_instructions
from service.domain.measuring.pair_record import decode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.comparison.suite import Listing
    from service.domain.inference.verdict import Comparison
    from service.domain.measuring.pair_record import RawLaunch

Counts = dict[tuple[str, Side], dict[str, Counted]]  # by suite and side, then by benchmark
_FACT: Final = "instructions"


def with_counts(launches: Sequence[RawLaunch], counts: Counts) -> tuple[RawLaunch, ...]:
    """The launches of a pair with the counts among the facts of the first of each suite and side."""
    left = dict(counts)
    return tuple(_with_fact(raw, left.pop((raw.suite, raw.side), {})) for raw in launches)


def counts_in(record: bytes) -> Counts:
    """The counts of a build, from the record of its first pair; empty where none were taken.

    Raises:
        BadResults: the bytes are no pair record.
    """
    counts: Counts = {}
    for raw in decode(record):
        found = raw.facts.get(_FACT)
        if isinstance(found, dict):
            known = counts.setdefault((raw.suite, raw.side), {})
            known.update({name: Counted.from_mapping(each) for name, each in found.items()})
    return counts


def compare_counts(listings: Sequence[Listing], counts: Counts, floor: float) -> tuple[Comparison, ...]:
    """A row for every benchmark that was to be counted, in the order of the listings."""
    return tuple(
        compare_instructions(each.suite, name, *_sides(counts, each.suite, name), floor)
        for each in listings
        for name in each.common
        if any(name in counts.get((each.suite, side), {}) for side in Side)
    )


def added_share(counts: Counts, suite: str, benchmark: str) -> float | None:
    """By which share of the parent's the instructions of an iteration grew; None: not known."""
    return added_instructions(*_sides(counts, suite, benchmark))


def _sides(counts: Counts, suite: str, benchmark: str) -> tuple[Counted | None, Counted | None]:
    base, patch = (counts.get((suite, side), {}).get(benchmark) for side in (Side.BASE, Side.PATCH))
    return base, patch


def _with_fact(raw: RawLaunch, counts: Mapping[str, Counted]) -> RawLaunch:
    if not counts:
        return raw
    facts: Mapping[str, Any] = {name: found.to_mapping() for name, found in counts.items()}
    return replace(raw, facts={**raw.facts, _FACT: facts})
