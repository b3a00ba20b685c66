from __future__ import annotations

import math

import pytest
import scipy

from bench.simulations.power import (
    ALARMING,
    BENCHMARKS,
    FAMILY,
    POLICY,
    Pairs,
    Rules,
    by_drift,
    by_mode,
    by_order,
    by_rare_mode,
    fill,
    heavy,
    measure,
    normal,
    trimmed_t,
)
from service.domain.measuring.metric import metric_named
from service.domain.project.policy import BASE_PAIRS
from service.domain.verdict.comparison.benchmark import JOIN_SHARE
from service.domain.verdict.inference.verdict import ComparedRow, Verdict, compare_pairs, first_decisive_look

TRIALS = 60
DECISIVE = first_decisive_look(POLICY, FAMILY / JOIN_SHARE)  # until then no benchmark is dropped
NOISES = {
    "normal": normal(0.05),
    "heavy tails": heavy,
    "launch order": by_order,
    "drift": by_drift,
    "opposed modes": by_mode,
    "rare mode": by_rare_mode,
}
BEFORE = Rules(POLICY, BASE_PAIRS)
NOW = Rules(POLICY)
ONE_SLOWER = (0.05, *([0.0] * (BENCHMARKS - 1)))
NONE_SLOWER = [0.0] * BENCHMARKS


def one_slower(rules: Rules, seed: str) -> Verdict:
    return measure(Pairs(ONE_SLOWER, normal(0.05), seed), rules).verdicts[0]


def test_measuring_on_finds_what_32_pairs_do_not() -> None:
    before, now = ([one_slower(rules, str(k)) for k in range(8)] for rules in (BEFORE, NOW))

    assert before.count(Verdict.SLOWER) < now.count(Verdict.SLOWER)


def test_a_quiet_suite_takes_no_longer() -> None:
    found = measure(Pairs(NONE_SLOWER, normal(0.005), "quiet"), NOW)

    assert set(found.verdicts) == {Verdict.SAME}
    assert found.pairs < BASE_PAIRS


@pytest.mark.parametrize("spread", [0.005, 0.02, 0.05])
def test_verdicts_are_those_of_the_service(spread: float) -> None:
    """The simulation takes only the looks that a row has just reached, and the service all of them again."""
    pairs = Pairs(ONE_SLOWER, normal(spread), "service")
    found = measure(pairs, Rules(POLICY, DECISIVE))
    row = ComparedRow("suite", "BM", metric_named("cpu_time"))
    ratios = [[math.exp(pairs[pair][k]) for pair in range(found.pairs)] for k in range(BENCHMARKS)]
    judged = [compare_pairs(row, [1.0] * found.pairs, each, POLICY, FAMILY) for each in ratios]

    assert list(found.verdicts) == [each.verdict for each in judged]


def test_both_rules_read_the_same_pairs() -> None:
    pairs = Pairs(ONE_SLOWER, normal(0.005), "both")

    assert trimmed_t(pairs, 60.0, 0.001)[0]
    assert measure(pairs, NOW).verdicts[0] is Verdict.SLOWER
    assert [pairs[3] for _ in range(2)] == [Pairs(ONE_SLOWER, normal(0.005), "both")[3]] * 2


def test_tools_without_a_family_alarm_in_most_suites_that_change_nothing() -> None:
    trials = fill("normal", 0.0, normal(0.02), Rules.of(60.0), 20).trials

    assert not any(any(each.ours) or any(each.strict_t) for each in trials)
    assert sum(any(each.t) for each in trials) > 1


@pytest.mark.simulation
@pytest.mark.parametrize("trials", [20, pytest.param(60, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("effect", [0.0, POLICY.floor])
@pytest.mark.parametrize("noise", NOISES)
def test_alarms_stay_within_the_promise_however_long_measuring_goes_on(
    noise: str, effect: float, trials: int
) -> None:
    suites = (Pairs([effect] * BENCHMARKS, NOISES[noise], f"{noise} {effect} {n}") for n in range(trials))
    alarms = sum(any(measure(suite, Rules.of(600.0, ALARMING)).slower) for suite in suites)

    assert alarms <= scipy.stats.binom.ppf(0.9999, trials, ALARMING.false_alarms / 2)
