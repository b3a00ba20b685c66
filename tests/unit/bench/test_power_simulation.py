from __future__ import annotations

import random

import pytest
from scipy.stats import binom

from bench.simulations.power import (
    ALARMING,
    BENCHMARKS,
    POLICY,
    Rules,
    alarms,
    by_drift,
    by_mode,
    by_order,
    measure,
    normal,
)
from service.domain.inference.interim_looks import BASE_PAIRS
from service.domain.inference.verdict import Verdict

TRIALS = 60
NOISES = {"normal": normal(0.05), "launch order": by_order, "drift": by_drift, "opposed modes": by_mode}
BEFORE = Rules(POLICY, 600.0, goes_on=False)
NOW = Rules(POLICY, 600.0, goes_on=True)


def one_slower(rules: Rules, seed: str) -> Verdict:
    draw = random.Random(seed)  # noqa: S311 - repeatable on purpose
    effects = (0.05, *([0.0] * (BENCHMARKS - 1)))
    return measure(effects, normal(0.05), draw, rules).verdicts[0]


def test_measuring_on_finds_what_32_pairs_do_not() -> None:
    before, now = ([one_slower(rules, str(k)) for k in range(8)] for rules in (BEFORE, NOW))

    assert before.count(Verdict.SLOWER) < now.count(Verdict.SLOWER)


def test_a_quiet_suite_takes_no_longer() -> None:
    draw = random.Random("quiet")  # noqa: S311 - as above
    found = measure([0.0] * BENCHMARKS, normal(0.005), draw, NOW)

    assert set(found.verdicts) == {Verdict.SAME}
    assert found.pairs < BASE_PAIRS


@pytest.mark.simulation
@pytest.mark.parametrize("effect", [0.0, POLICY.floor])
@pytest.mark.parametrize("noise", NOISES)
def test_alarms_stay_within_the_promise_however_long_measuring_goes_on(noise: str, effect: float) -> None:
    share = alarms(effect, NOISES[noise], TRIALS, goes_on=True)

    assert share <= binom.ppf(0.9999, TRIALS, ALARMING.false_alarms / 2) / TRIALS
