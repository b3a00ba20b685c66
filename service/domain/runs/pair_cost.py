"""Divide the seconds of launches among suites and benchmarks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.domain.measuring.formats.suites import format_of
from service.domain.values.identity import Side
from service.domain.verdict.comparison.link_layout import BATCHES, LOOKS, VARIANTS, pairs_for
from service.domain.verdict.inference.going_on import PairCost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from service.domain.measuring.launch import Launch
    from service.domain.measuring.listing import Listing
    from service.domain.project.benchmark import Suite
    from service.domain.verdict.inference.verdict import Comparison


def cost_of_a_pair(
    suites: Sequence[Suite],
    listings: Sequence[Listing],
    launches: Sequence[Launch],
    *,
    is_charged: bool = False,
) -> PairCost:
    """Compute the seconds of each suite and benchmark in its last pair, and those of all pairs so far.

    A benchmark's own seconds are those that it was timed for. Of the rest of a launch, the program's set-up
    belongs to the suite, and the benchmarks share the remainder equally. The whole launch of a program that
    cannot choose benchmarks counts for each of them.

    ``is_charged`` leaves out the patch's seconds beyond the parent's launch: machine time is not charged for
    them. Otherwise a patch could make pairs too expensive to measure.
    """
    set_up = {listing.suite: listing.set_up for listing in listings}
    whole = {suite.name for suite in suites if format_of(suite).runs_all}
    fixed: dict[str, dict[Side, float]] = {}
    own: dict[tuple[str, str], dict[Side, float]] = {}
    taken: dict[tuple[str, str], dict[Side, float]] = {}
    for launch in launches:
        if launch.suite in whole:
            shared, parts = launch.seconds, dict.fromkeys(launch.values, 0.0)
        else:
            shared, parts = _seconds_of(launch, set_up.get(launch.suite, 0.0))
        fixed.setdefault(launch.suite, {})[launch.side] = shared
        for name, seconds in parts.items():
            key = (launch.suite, name)
            own.setdefault(key, {})[launch.side] = seconds
            so_far = taken.setdefault(key, dict.fromkeys(Side, 0.0))
            so_far[launch.side] += shared + seconds

    def of_pair(sides: Mapping[Side, float]) -> float:
        base, patch = sides.get(Side.BASE, 0.0), sides.get(Side.PATCH, 0.0)
        return base + (min(base, patch) if is_charged else patch)

    return PairCost(
        {suite: of_pair(sides) for suite, sides in fixed.items()},
        {key: of_pair(sides) for key, sides in own.items()},
        {key: of_pair(sides) for key, sides in taken.items()},
    )


def confirming_cost(rows: Iterable[Comparison], cost: PairCost) -> float:
    """Estimate the seconds of the first look of relinks at these rows, without linking.

    Each relink is launched once before its pairs.
    """
    return min(LOOKS) * _cost_of([(found, 1 + pairs_for(found)) for found in rows], cost)


def control_cost(pairs: Mapping[Comparison, int], cost: PairCost) -> float:
    """Estimate the seconds to compare the parent with itself, with one launch before the pairs.

    ``cost`` is that of the parent's launches alone: what a patch takes must not prevent its control.
    """
    return sum(seconds for _, seconds in _controls_in(math.inf, pairs, cost))


def worst_in(seconds: float, pairs: Mapping[Comparison, int], cost: PairCost) -> tuple[Comparison, ...]:
    """Choose the worst rows whose control takes at most these seconds, estimated by :func:`control_cost`."""
    return tuple(row for row, _ in _controls_in(seconds, pairs, cost))


def _controls_in(
    left: float, pairs: Mapping[Comparison, int], cost: PairCost
) -> Iterator[tuple[Comparison, float]]:
    """Yield the rows that fit, the worst first, and the seconds that each adds to those before it."""
    launched = dict[tuple[str, str], int]()
    for found in sorted(pairs, key=lambda each: -each.worsening):
        suite, key = found.row.suite, (found.row.suite, found.row.benchmark)
        parts = {(suite, ""): cost.fixed.get(suite, 0.0), key: cost.own.get(key, 0.0)}
        count = 1 + pairs[found]
        more = sum(each * max(0, count - launched.get(part, 0)) for part, each in parts.items())
        if len(Side) * more <= left:
            left -= len(Side) * more
            launched |= {part: max(count, launched.get(part, 0)) for part in parts}
            yield found, len(Side) * more


def _cost_of(rows: Sequence[tuple[Comparison, int]], cost: PairCost) -> float:
    """Estimate the seconds to measure each row with its number of pairs; rows of a suite share pairs."""
    pairs, own = dict[str, int](), dict[tuple[str, str], float]()
    for found, count in rows:
        suite, key = found.row.suite, (found.row.suite, found.row.benchmark)
        pairs[suite] = max(pairs.get(suite, 0), count)
        own[key] = cost.own.get(key, 0.0)
    seconds = {suite: cost.fixed.get(suite, 0.0) for suite in pairs}
    for (suite, _), each in own.items():
        seconds[suite] += each
    return sum(pairs[suite] * each for suite, each in seconds.items())


@dataclass(frozen=True, slots=True)
class RelinkCost:
    """Seconds of measuring a relink, and of building a batch of them on both sides."""

    each: float
    building: float

    @staticmethod
    def begins_batch(place: int) -> bool:
        """Return whether the relink at this place, counted from 0, is the first of its batch."""
        return any(VARIANTS[place] == batch[0] for batch in BATCHES)

    def seconds(self, place: int, look: int) -> float:
        """Estimate the seconds of the relinks from a place up to a look."""
        batches = sum(map(self.begins_batch, range(place, look)))
        return (look - place) * self.each + batches * self.building


def _seconds_of(launch: Launch, set_up: float) -> tuple[float, dict[str, float]]:
    """Divide a launch into the seconds of its program, at most ``set_up``, and those of each benchmark."""
    # The times that a program reports may exceed its launch, and be infinite.
    timed = {name: min(launch.timed.get(name, 0.0), launch.seconds) for name in launch.values}
    all_timed = sum(timed.values())
    scale = min(1.0, launch.seconds / all_timed) if all_timed else 1.0
    rest = max(0.0, launch.seconds - all_timed)
    shared = min(set_up, rest)
    each = (rest - shared) / max(len(timed), 1)
    return shared, {name: scale * seconds + each for name, seconds in timed.items()}
