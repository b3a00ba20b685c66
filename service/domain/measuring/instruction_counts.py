"""Instruction counts of a build, which are kept among the facts of its first pair."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from service.domain.identity import Side
from service.domain.measuring.instruction_comparison import Counted, added_instructions, compare_instructions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.comparison.suite import Listing
    from service.domain.inference.verdict import Comparison
    from service.domain.measuring.pair_record import RawLaunch

Counts = dict[tuple[str, Side], dict[str, Counted]]  # by suite and side, then by benchmark
_FACT: Final = "instructions"


def with_counts(launches: Sequence[RawLaunch], counts: Counts) -> tuple[RawLaunch, ...]:
    """The launches of a pair with the counts among the facts of the first of each suite and side."""
    left = dict(counts)
    return tuple(_with_fact(raw, left.pop((raw.suite, raw.side), {})) for raw in launches)


def counts_in(launches: Iterable[RawLaunch]) -> Counts:
    """The counts of a build, from the launches of its first pair; empty if none were taken."""
    counts: Counts = {}
    for raw in launches:
        fact = raw.facts.get(_FACT)
        if isinstance(fact, dict):
            known = counts.setdefault((raw.suite, raw.side), {})
            known.update({name: Counted.from_mapping(each) for name, each in fact.items()})
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
    facts: Mapping[str, Any] = {name: counted.to_mapping() for name, counted in counts.items()}
    return replace(raw, facts={**raw.facts, _FACT: facts})
