"""How often verdicts are wrong, by simulation: the promise of the policy is kept by more than one noise."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import binom

from service.domain.comparison import TRIM
from service.domain.metric import metric_named
from service.domain.project_file import Policy
from service.domain.verdict import SAME_ERROR, Row, Verdict, compare, looks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Logs = NDArray[np.floating]
    Noise = Callable[[np.random.Generator, int], Logs]

BENCHMARKS = 20_000
PAIRS = 32
FAMILY = 20
POLICY = Policy()
ROW = Row("suite", "BM_a", metric_named("cpu_time"))


def _independent(draw: Noise) -> Noise:
    """Both sides of every pair are drawn alike and independently."""
    return lambda rng, n: draw(rng, n) - draw(rng, n)


def _levels(rng: np.random.Generator, n: int) -> Logs:
    return 0.1 * (rng.random((n, PAIRS)) < 0.5) + rng.normal(0, 0.002, (n, PAIRS))


def _by_order(rng: np.random.Generator, n: int) -> Logs:
    """The side that is launched first is 5 % slower, for all benchmarks of a family at once."""
    first = np.where(rng.random((n // FAMILY, 1, PAIRS)) < 0.5, 0.05, -0.05)
    return (first + rng.normal(0, 0.005, (n // FAMILY, FAMILY, PAIRS))).reshape(n, PAIRS)


NOISES: dict[str, Noise] = {
    "quiet": _independent(lambda rng, n: rng.normal(0, 0.005, (n, PAIRS))),
    "loud": _independent(lambda rng, n: rng.normal(0, 0.05, (n, PAIRS))),
    "heavy tails": _independent(lambda rng, n: 0.03 * rng.standard_t(3, (n, PAIRS))),
    "two levels": _independent(_levels),
    "two levels, exact": _independent(lambda rng, n: 0.1 * (rng.random((n, PAIRS)) < 0.5)),
    "launch order": _by_order,
}


@lru_cache
def logs_of(noise: str) -> Logs:
    return NOISES[noise](np.random.default_rng(20260302), BENCHMARKS)


def verdicts(logs: Logs, candidates: NDArray[np.bool_]) -> list[tuple[int, Verdict]]:
    """The real verdicts of those benchmarks that may be anything but undecided."""
    return [
        (int(i), compare(ROW, [1.0] * PAIRS, np.exp(logs[i]).tolist(), POLICY, FAMILY).verdict)
        for i in np.flatnonzero(candidates)
    ]


def may_differ(logs: Logs, error: float) -> NDArray[np.bool_]:
    """Those whose t alone would call them slower at some look: necessary for the verdict, and quick."""
    found = np.zeros(len(logs), bool)
    for n in looks(POLICY.max_pairs):
        some = np.sort(logs[:, :n], axis=1)
        cut = int(TRIM * n)
        centre = some[:, cut : n - cut].mean(axis=1)
        inner = np.clip(some, some[:, [cut]], some[:, [n - cut - 1]])
        spread = inner.std(axis=1, ddof=1) / ((1 - 2 * TRIM) * math.sqrt(n))
        found |= centre + stdtrit(n - 2 * cut - 1, error) * spread > math.log1p(POLICY.floor)
    return found


@pytest.mark.parametrize("noise", NOISES)
def test_unchanged_benchmarks_are_called_slower_as_seldom_as_promised(noise: str) -> None:
    """Per family, since launch order can deceive many benchmarks of one family at once."""
    logs = logs_of(noise)
    share = POLICY.false_alarms / 2 / FAMILY / len(looks(POLICY.max_pairs))
    slower = {i // FAMILY for i, v in verdicts(logs, may_differ(logs, 1.01 * share)) if v is Verdict.SLOWER}

    families = BENCHMARKS // FAMILY
    assert len(slower) <= binom.ppf(0.999, families, POLICY.false_alarms / 2)


@pytest.mark.parametrize("noise", ["two levels", "launch order"])
def test_t_alone_would_break_the_promise(noise: str) -> None:
    """Why the signed ranks are asked as well."""
    logs = logs_of(noise)
    share = POLICY.false_alarms / 2 / FAMILY / len(looks(POLICY.max_pairs))
    alarms = may_differ(logs, share)

    promised = BENCHMARKS * POLICY.false_alarms / 2 / FAMILY
    assert alarms.sum() > promised


@pytest.mark.parametrize("noise", NOISES)
def test_a_change_of_the_whole_margin_is_seldom_called_the_same(noise: str) -> None:
    logs = logs_of(noise)[::FAMILY] + math.log1p(POLICY.same_within)
    same = [i for i, v in verdicts(logs, np.ones(len(logs), bool)) if v is Verdict.SAME]

    assert len(same) <= binom.ppf(0.999, len(logs), SAME_ERROR)
