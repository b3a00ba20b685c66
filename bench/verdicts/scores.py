"""Simulate what other scores of the signed ranks, and a trimmed t, find of a slow-down in 32 pairs."""

from __future__ import annotations

import math
import sys
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import stdtrit

from service.domain.verdict.inference.interim_looks import difference_errors, looks, with_shares

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Logs = NDArray[np.float64]

BENCHMARKS: Final = 2000
PAIRS: Final = 32
FLOOR: Final = math.log(1.01)
ERROR: Final = 0.005 / 100  # of one of a hundred benchmarks, in one direction
CAPS: Final = (1.0, 0.6, 0.4, 0.25, 0.15)
EFFECTS: Final = (0.02, 0.03, 0.05)
_TRIM: Final = 0.2


def quiet(rng: np.random.Generator, spread: float) -> Logs:
    return rng.normal(0, spread, (BENCHMARKS, PAIRS))


def disturbed(rng: np.random.Generator, spread: float) -> Logs:
    """A tenth of the pairs lies eight times as far off."""
    hits = rng.random((BENCHMARKS, PAIRS)) < 0.1
    return quiet(rng, spread) + hits * rng.normal(0, 8 * spread, (BENCHMARKS, PAIRS))


def by_ranks(logs: Logs, cap: float) -> float:
    """The share of benchmarks that signed ranks with scores up to that part of the pairs call slower."""
    live = np.ones(len(logs), bool)
    for n, error in difference_errors(with_shares(looks(PAIRS)), ERROR).items():
        beyond = logs[:, :n] - FLOOR
        order = np.lexsort((beyond <= 0, np.abs(beyond)), axis=1)
        is_up = np.take_along_axis(beyond > 0, order, axis=1)
        live &= _tails(n, cap)[(is_up * _scores(n, cap)).sum(axis=1)] > error
    return float(1 - live.mean())


def by_trimmed_t(logs: Logs) -> float:
    """Do the same by the 20 % trimmed mean with Yuen's error."""
    live = np.ones(len(logs), bool)
    for n, error in difference_errors(with_shares(looks(PAIRS)), ERROR).items():
        ordered = np.sort(logs[:, :n], axis=1)
        cut = int(_TRIM * n)
        centre = ordered[:, cut : n - cut].mean(axis=1)
        inner = np.clip(ordered, ordered[:, [cut]], ordered[:, [n - cut - 1]])
        spread = inner.std(axis=1, ddof=1) / ((1 - 2 * _TRIM) * math.sqrt(n))
        live &= centre + stdtrit(n - 2 * cut - 1, error) * spread <= FLOOR
    return float(1 - live.mean())


@lru_cache
def _scores(n: int, cap: float) -> NDArray[np.int64]:
    return np.minimum(np.arange(1, n + 1), math.ceil(cap * n))


@lru_cache
def _tails(n: int, cap: float) -> Logs:
    chances = np.ones(1)
    for score in _scores(n, cap):
        chances = (np.pad(chances, (0, score)) + np.pad(chances, (score, 0))) / 2
    return chances[::-1].cumsum()[::-1]


def main() -> None:
    """Print a table: found slow-downs in percent, by noise and spread."""
    rules: dict[str, Callable[[Logs], float]] = {
        **{f"scores up to {cap:g} n": partial(by_ranks, cap=cap) for cap in CAPS},
        "trimmed t": by_trimmed_t,
    }
    cases = [(noise, spread) for noise, spread in product((quiet, disturbed), (0.007, 0.010, 0.015))]
    heads = [
        f"{noise.__name__} {spread:.1%}: {', '.join(f'{e:.0%}' for e in EFFECTS)}" for noise, spread in cases
    ]
    sys.stdout.write(f"| rule | {' | '.join(heads)} |\n|{'---|' * (len(cases) + 1)}\n")
    for name, rule in rules.items():
        cells = []
        for number, (noise, spread) in enumerate(cases):
            logs = noise(np.random.default_rng(number), spread)
            cells.append(", ".join(f"{100 * rule(logs + math.log1p(effect)):.0f}" for effect in EFFECTS))
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
