"""``python -m bench.simulations.repetitions``: print the spread of recorded pairs by repetitions.

A launch of a recorded session is shortened to its first repetitions of 2 ms.
"""

from __future__ import annotations

import math
import sys
from statistics import fmean, median
from typing import Final

from bench.verdicts.series import Launching, series_of, spread
from bench.verdicts.session import load_sessions
from service.domain.measuring.launch_order import threads_of

COUNTS: Final = (3, 5, 10, 16, 20, 24)


def main() -> None:
    """Print a table: in percent, 1.4826 MAD of the log ratios of undisturbed pairs, median over sessions."""
    spreads: dict[str, list[float]] = {}
    for count in COUNTS:
        found: dict[str, list[float]] = {}
        for session in load_sessions():
            for series in series_of(session, Launching(count)):
                if threads_of(series.benchmark) == 1:
                    found.setdefault(series.benchmark, []).append(spread(series.logs[~series.disturbed]))
        for name, each in found.items():
            spreads.setdefault(name, []).append(100 * median(each))
    write = sys.stdout.write
    write(f"| benchmark | {' | '.join(map(str, COUNTS))} |\n|{'---|' * (1 + len(COUNTS))}\n")
    for name, each in spreads.items():
        write(f"| {name} | {' | '.join(f'{value:.2f}' for value in each)} |\n")
    at = COUNTS.index(20)
    ratios = [
        math.exp(fmean(math.log(each[k] / each[at]) for each in spreads.values())) for k in range(len(COUNTS))
    ]
    write(f"| as a ratio to 20 | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |\n")


if __name__ == "__main__":
    main()
