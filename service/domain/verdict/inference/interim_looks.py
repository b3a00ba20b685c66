"""Schedule interim looks: after how many pairs a benchmark is judged, and how much error each look spends.

The schedule is infinite and fixed, so a longer sequence has the same looks with the same errors at its first
pairs as a shorter one.
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
    """One look: its number of pairs, and the shares of both errors that it may spend.

    ``same`` is a share of the probability to call a changed benchmark the same, ``difference`` a share of the
    probability to call an unchanged one slower or faster. Each sums to at most 1 over all looks.
    """

    pairs: int
    same: float
    difference: float


# Most benchmarks did not change and should end early, so "same" spends early, but not before five pairs: with
# fewer, the same side is too often first in all of them, and the cost of being first hides a change. Signs
# alone cannot prove a difference in less than a dozen pairs; a small one needs them all.
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

# Later steps grow, and the j-th spends 1 ÷ j (j + 1) of the rest. With equal steps and halved shares, the
# interval would soon widen more by the smaller share than it narrows by further pairs.
_GROWTH: Final = 1.25
_REST: Final = (0.04, 0.10)


def looks(max_pairs: int) -> tuple[int, ...]:
    """List the numbers of pairs to look at, up to ``max_pairs``; at least the first."""
    return tuple(look.pairs for look in _up_to(max_pairs))


def look_from(pairs: int) -> int:
    """Find the first look at ``pairs`` pairs or more."""
    return next(look.pairs for look in _all() if look.pairs >= pairs)


def with_shares(schedule: Sequence[int]) -> tuple[Look, ...]:
    """List the looks at these numbers of pairs; a single one, at complete data, spends the whole error."""
    if len(schedule) == 1:
        return (Look(schedule[0], 1.0, 1.0),)
    return tuple(look for look in _up_to(max(schedule)) if look.pairs in schedule)


def difference_errors(schedule: Sequence[Look], error: float) -> dict[int, float]:
    """Map the pairs of each look to the error that it may spend on a difference.

    A look that is too early for signs to prove anything passes its share on to the next one.
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
