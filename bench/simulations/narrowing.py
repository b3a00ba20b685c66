"""``python -m bench.simulations.narrowing [RANGES]``: narrow simulated ranges down to the commit that did it.

A range has 8, 16, 32 or 64 commits that are 2 to 5 % slower together: by one step, by two, or each by the
same little. Each link has 20 pairs that follow the normal distribution. The range was listed because the link
over all of it was slower by at least 2 %. An answer is right if its commits have at least half of that.

In some rows the link layout adds to the time of each program. One commit in eight draws a new one, which all
its links share: they are not relinked, so a layout looks like a step.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import numpy as np

from service.domain.trunk.narrowing import narrow
from service.domain.trunk.spread import LEAST
from service.domain.verdict.trend.levels import Link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from service.domain.trunk.narrowing import Narrowing

LENGTHS: Final = (8, 16, 32, 64)
SIZES: Final = (0.02, 0.05)  # ln(slow-down)
# The error of a link, and the standard deviation of ln(time) over layouts.
NOISES: Final = ((0.003, 0.0), (0.005, 0.0), (0.01, 0.0), (0.005, 0.01))
_NEW_LAYOUT: Final = 1 / 8  # of the commits
PAIRS: Final = 20
_ENDS: Final = ("right commit", "right group", "wrong", "not told")  # right: it has at least half of it
KINDS: Final = ("one step", "two steps", "creep")


def main(ranges: int) -> None:
    """Print a table: what the answers are, and how many links they take."""
    columns = ("range", "error of a link", "layout", *_ENDS, "commits left", "links")
    sys.stdout.write(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n")
    for kind in KINDS:
        for error, layout in NOISES:
            rng = np.random.default_rng((KINDS.index(kind), round(1000 * error), round(1000 * layout)))
            cells = _row(rng, kind, error, layout, ranges)
            sys.stdout.write(f"| {kind} | {error:.1%} | {layout:.1%} | {' | '.join(cells)} |\n")
            sys.stdout.flush()


def _row(rng: Generator, kind: str, error: float, layout: float, ranges: int) -> Sequence[str]:
    ends, shares, counts = [], [], []
    for _ in range(ranges):
        commits = int(rng.choice(LENGTHS))
        steps = _steps(rng, kind, commits)
        found, links = _narrowed(rng, steps, error, layout)
        ends.append(_end(found, steps))
        shares.append(found.commits / commits)
        counts.append(links)
    told = (f"{ends.count(each) / ranges:.1%}" for each in _ENDS)
    return (*told, f"{np.mean(shares):.0%}", f"{np.mean(counts):.1f}")


def _steps(rng: Generator, kind: str, commits: int) -> Sequence[float]:
    size = rng.uniform(*SIZES)
    if kind == "creep":
        return [size / commits] * commits
    steps = [0.0] * commits
    share = rng.uniform(0.4, 0.6) if kind == "two steps" else 1.0
    places = rng.choice(commits, 2, replace=False)
    steps[places[0]] += size * share
    steps[places[1]] += size * (1 - share)
    return steps


def _layouts(rng: Generator, commits: int, layout: float) -> Sequence[float]:
    """Return what the layout of each commit's program adds to ln(time)."""
    added = [float(rng.normal(0.0, layout))]
    for is_new in rng.random(commits) < _NEW_LAYOUT:
        added.append(float(rng.normal(0.0, layout)) if is_new else added[-1])
    return added


def _narrowed(rng: Generator, steps: Sequence[float], error: float, layout: float) -> tuple[Narrowing, int]:
    """Measure until the answer is final; return it, and the number of links."""
    commits = len(steps)
    layouts = _layouts(rng, commits, layout)

    def measure(base: int, patch: int) -> Link:
        step = sum(steps[base:patch]) + layouts[patch] - layouts[base]
        pairs = rng.normal(step, error * PAIRS**0.5, PAIRS)
        return Link(base, patch, float(pairs.mean()), float(pairs.std(ddof=1)) / PAIRS**0.5, PAIRS)

    whole = measure(0, commits)
    while whole.log < LEAST:
        layouts = _layouts(rng, commits, layout) if layout else layouts
        whole = measure(0, commits)
    links = [whole]
    while (found := narrow(commits, links)).then is not None:
        links.append(measure(*found.then))
    return found, len(links) - 1


def _end(found: Narrowing, steps: Sequence[float]) -> str:
    if not found.is_one_step:
        return "not told"
    share = sum(steps[found.begin : found.end]) / sum(steps)
    if share < 0.5:
        return "wrong"
    return "right commit" if found.commits == 1 else "right group"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
