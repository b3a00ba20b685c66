"""Interim looks: the numbers of pairs after which a benchmark is judged, and the error that each may spend.

The looks go on without end and are always the same: a longer sequence has the same looks with the same errors
at its first pairs as a shorter one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count, takewhile
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import BASE_PAIRS
from service.domain.verdict.inference.signed_ranks import least_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Look:
    """One look: its number of pairs, and the parts of both errors that it may spend.

    ``same`` is the part of the chance to call a changed benchmark the same, ``difference`` that of the chance
    to call an unchanged one slower or faster. Over all looks either sums to 1 at most.
    """

    pairs: int
    same: float
    difference: float


# Most benchmarks did not change: they should end early, so "same" spends early, but not before five pairs:
# with fewer, the same side is too often first in all of them, and the cost of being first hides a change. A
# difference needs a dozen pairs or more before signs alone can prove it; a small one needs them all.
_FIRST: Final = (
    Look(5, 0.30, 0.0),
    Look(6, 0.15, 0.0),
    Look(8, 0.15, 0.0),
    Look(10, 0.10, 0.0),
    Look(12, 0.08, 0.05),
    Look(14, 0.0, 0.05),
    Look(16, 0.06, 0.10),
    Look(18, 0.0, 0.10),
    Look(20, 0.04, 0.10),
    Look(22, 0.0, 0.05),
    Look(24, 0.04, 0.10),
    Look(26, 0.0, 0.05),
    Look(28, 0.02, 0.10),
    Look(30, 0.0, 0.05),
    Look(BASE_PAIRS, 0.02, 0.15),
)

# From then on in growing steps, the j-th of which spends 1 ÷ j (j + 1) of the rest. Were the steps equal and
# each part half of the one before, smaller parts would soon widen more than further pairs narrow.
_GROWTH: Final = 1.25
_REST: Final = (0.04, 0.10)


def looks(max_pairs: int) -> tuple[int, ...]:
    """The numbers of pairs to look at, up to so many, and at least the first one."""
    return tuple(look.pairs for look in _up_to(max_pairs))


def look_from(pairs: int) -> int:
    """The first look at so many pairs or more."""
    return next(look.pairs for look in _all() if look.pairs >= pairs)


def with_shares(schedule: Sequence[int]) -> tuple[Look, ...]:
    """The looks at these numbers of pairs; a single one, of complete data, may spend all."""
    if len(schedule) == 1:
        return (Look(schedule[0], 1.0, 1.0),)
    return tuple(look for look in _up_to(max(schedule)) if look.pairs in schedule)


def difference_errors(schedule: Sequence[Look], error: float) -> dict[int, float]:
    """Map the number of pairs of each look to the part of the error that it may spend on a difference.

    A look at which signs cannot prove anything yet leaves its part to the next one.
    """
    by_pairs: dict[int, float] = {}
    saved = 0.0
    for look in schedule:
        saved += look.difference * error
        if look.difference and look.pairs >= least_pairs(saved):
            by_pairs[look.pairs] = saved
            saved = 0.0
    return by_pairs


def _up_to(max_pairs: int) -> tuple[Look, ...]:
    return tuple(takewhile(lambda look: look.pairs <= max(max_pairs, _FIRST[0].pairs), _all()))


def _all() -> Iterator[Look]:
    yield from _FIRST
    pairs = _FIRST[-1].pairs
    for j in count(1):
        pairs = 2 * math.ceil(_GROWTH * pairs / 2)
        yield Look(pairs, _REST[0] / (j * (j + 1)), _REST[1] / (j * (j + 1)))
