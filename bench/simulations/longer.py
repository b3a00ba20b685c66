"""``python -m bench.simulations.longer [COMMITS]``: measure undecided merged commits longer.

A commit is compared on simulated pairs that follow the normal distribution: 32 pairs as its check, and if it
looks slower and is undecided, more pairs as idle pools add them. Relinked programs are left out.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Final

import numpy as np

from service.domain.measuring.metric import metric_named
from service.domain.project.policy import MOST_PAIRS, Policy
from service.domain.trunk.undecided import LEAST, MOST_TRIES, UndecidedResult, worth_more_pairs
from service.domain.verdict.inference.interim_looks import look_from
from service.domain.verdict.inference.missing_pairs import with_missing_pairs
from service.domain.verdict.inference.verdict import ComparedRow, Verdict, compare_pairs

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from service.domain.verdict.inference.verdict import Comparison

PAIRS: Final = 32
FAMILY: Final = 20.0
SLOWDOWNS: Final = (0.0, 0.02, 0.03, 0.05)
SPREADS: Final = (0.01, 0.03)
_ROW: Final = ComparedRow("suite", "BM_x", metric_named("cpu_time"))


def main(commits: int) -> None:
    """Print a table: how commits end after 32 pairs and after all, and the pairs that idle pools add."""
    columns = ("slow-down", "pairs vary by", "slower at once", "undecided then", "slower in the end")
    more = ("undecided in the end", "pairs added, median")
    sys.stdout.write(f"| {' | '.join((*columns, *more))} |\n|{'---|' * 7}\n")
    seed = 0
    for slowdown in SLOWDOWNS:
        for spread in SPREADS:
            ends = [
                _measured(np.random.default_rng(seed + each), slowdown, spread) for each in range(commits)
            ]
            seed += commits
            cells = (
                f"{sum(first is Verdict.SLOWER for first, _, _ in ends) / commits:.1%}",
                f"{sum(first is Verdict.UNDECIDED for first, _, _ in ends) / commits:.1%}",
                f"{sum(last is Verdict.SLOWER for _, last, _ in ends) / commits:.1%}",
                f"{sum(last is Verdict.UNDECIDED for _, last, _ in ends) / commits:.1%}",
                f"{np.median([added for *_, added in ends if added] or [0]):.0f}",
            )
            sys.stdout.write(f"| {slowdown:.0%} | {spread:.0%} | {' | '.join(cells)} |\n")
            sys.stdout.flush()


def _measured(rng: Generator, slowdown: float, spread: float) -> tuple[Verdict, Verdict, int]:
    """Return the verdict after the pairs of the check, that in the end, and the pairs added."""
    logs = rng.normal(math.log1p(slowdown), spread, MOST_PAIRS)
    count, tries = PAIRS, 0
    first = judged = _judged(logs[:count])
    while judged.verdict is Verdict.UNDECIDED and tries < MOST_TRIES:
        more = judged.more_pairs
        if more is None or math.isinf(more) or math.log(judged.ratio or 1.0) < LEAST:
            break
        result = UndecidedResult(1, 1, "BM_x", judged.pairs, max(more, 1.0), 0.0, tries)
        if not worth_more_pairs([result]) or (count := look_from(count + result.pairs_to_add)) > MOST_PAIRS:
            break
        judged, tries = _judged(logs[:count]), tries + 1
    return first.verdict, judged.verdict, max(judged.pairs - PAIRS, 0)


def _judged(logs: NDArray[np.float64]) -> Comparison:
    values = [math.exp(each) for each in logs]
    policy = Policy()
    return with_missing_pairs(compare_pairs(_ROW, [1.0] * len(values), values, policy, FAMILY), None, policy)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
