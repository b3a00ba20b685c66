"""``python -m bench.simulations.levels [HISTORIES]``: check intervals of levels with the links of the rule.

A history has 400 commits, four for each working day; some of them make a benchmark slower or faster. Each is
compared with its parent on simulated pairs that follow the normal distribution, until the rule decides or 32
pairs are measured. Anchors have a fixed number of pairs.
"""

from __future__ import annotations

import math
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from service.domain.measuring.metric import metric_named
from service.domain.project.policy import Policy
from service.domain.trunk.anchors import Commit, anchors_of
from service.domain.verdict.inference.estimate import estimate
from service.domain.verdict.inference.verdict import ComparedRow, compare_pairs
from service.domain.verdict.trend.levels import Link, level, pool_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COMMITS: Final = 400
PAIRS: Final = 32
ANCHOR_PAIRS: Final = 20  # whatever they show
FAMILY: Final = 20.0
DISTANCES: Final = (50, 200, 399)
_ROW: Final = ComparedRow("suite", "BM_x", metric_named("cpu_time"))
_START: Final = datetime(2026, 1, 5, 8, tzinfo=UTC)
_SURE: Final = 1.96


class History(NamedTuple):
    """A kind of history: the changes (log scale) that a commit may make, with their probabilities."""

    name: str
    changes: tuple[float, ...]
    probabilities: tuple[float, ...]


HISTORIES: Final = (
    History("nothing changes", (0.0,), (1.0,)),
    History("every tenth commit ±2 %", (0.0, 0.02, -0.02), (0.9, 0.05, 0.05)),
    History("each commit 0.1 % slower", (0.001,), (1.0,)),
)
SPREADS: Final = (0.003, 0.01)


def main(histories: int) -> None:
    """Print a table: the share of levels in their interval, and its half-width in percent."""
    commits = [_commit(number) for number in range(COMMITS)]
    found = anchors_of(commits)
    anchors = (*found.fixed, *found.newest)
    columns = "".join(f" after {distance} |" for distance in DISTANCES)
    sys.stdout.write(f"| history | pairs vary by | anchors | in the interval | mean error |{columns}\n")
    sys.stdout.write(f"|{'---|' * (5 + len(DISTANCES))}\n")
    seed = 0
    for history in HISTORIES:
        for spread in SPREADS:
            for pairs in ((), anchors):
                cells = _row(history, spread, pairs, range(seed, seed := seed + histories))
                sys.stdout.write(f"| {history.name} | {spread:.1%} | {len(pairs)} | {' | '.join(cells)} |\n")
                sys.stdout.flush()


def _commit(number: int) -> Commit:
    day, of_day = divmod(number, 4)
    week, weekday = divmod(day, 5)
    return Commit(_START + timedelta(days=7 * week + weekday, hours=of_day), is_release=number % 150 == 149)


def _row(
    history: History, spread: float, anchors: Sequence[tuple[int, int]], seeds: Iterable[int]
) -> Sequence[str]:
    inside, missed, widths = [], [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        steps = rng.choice(history.changes, COMMITS - 1, p=history.probabilities)
        truth = np.concatenate(([0.0], np.cumsum(steps)))

        def draw(base: int, patch: int) -> Sequence[float]:
            return [math.exp(log) for log in rng.normal(truth[patch] - truth[base], spread, PAIRS)]  # noqa: B023

        chain = [_decided(k, draw(k, k + 1)) for k in range(COMMITS - 1)]
        whole = [_link(base, patch, draw(base, patch)[:ANCHOR_PAIRS]) for base, patch in anchors]
        links = pool_errors([*chain, *whole])
        found = level(COMMITS, links, 0)
        for place in range(1, COMMITS):
            reached = found.levels[place]
            if reached is not None:
                inside.append(abs(reached.log - truth[place]) <= _SURE * reached.error)
                missed.append(reached.log - truth[place])
        ends = [found.levels[distance] for distance in DISTANCES]
        widths.append([_SURE * end.error if end else math.nan for end in ends])
    half = np.mean(widths, axis=0)
    return (
        f"{np.mean(inside):.1%}",
        f"{np.mean(missed):+.2%}",
        *(f"±{100 * math.expm1(each):.2f} %" for each in half),
    )


def _decided(base: int, values: Sequence[float]) -> Link:
    """Compare neighbours until the rule decides: the link has the pairs that the verdict has."""
    judged = compare_pairs(_ROW, [1.0] * len(values), values, Policy(), FAMILY)
    return _link(base, base + 1, values[: judged.pairs])


def _link(base: int, patch: int, values: Sequence[float]) -> Link:
    found = estimate([1.0] * len(values), values)
    return Link(base, patch, found.centre, found.error, len(values))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
