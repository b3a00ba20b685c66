"""A promise of the judgement: faults in launches of the patch alone never turn a −1 into a +1."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import MeasuredPairs, PairRecord, RawLaunch, encode, read_pair
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Layout, Policy
from service.domain.runs.judge_build import judge_measured, judge_pairs
from service.domain.runs.vote import Ballot, Outcome, vote_of
from service.domain.values.identity import Side
from service.domain.verdict.comparison.link_layout import VARIANTS
from tests.unit.domain.gbench_files import row, whole

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from service.domain.measuring.launch import Launch

PAIRS: Final = 32
RELINKED: Final = 20  # of each variant
NAMES: Final = ("BM_a", "BM_b")


JOB: Final = Job("perf", JobKind("benchmark"), BenchmarkConfiguration(suites=(Suite("s", "build/s"),)))
LISTINGS: Final = [Listing("s", NAMES, NAMES)]


class Fault(StrEnum):
    """The ways in which a launch of the patch may lack a usable result."""

    DROP = "no launch"
    ABSENT = "no row"
    ERROR = "an error"
    REPETITION = "an error in one of two repetitions"
    SKIP = "a skip"
    ZERO = "a time of zero"
    NAN = "a time that is no number"
    TINY = "a time below any clock"
    JUNK = "a row that is none"
    NO_COUNTER = "no counter"
    NO_RATE = "no rate"
    ZERO_COUNTER = "a counter of zero"
    NO_REAL_TIME = "no real time"
    REAL_NAN = "a real time that is no number"
    REAL_ZERO = "a real time of zero"


@dataclass(frozen=True, slots=True, eq=False)  # so that pairs of it can be kept
class Slow:
    """A patch that gets −1: by how much it changes a metric, and which metrics are judged."""

    by: Mapping[str, float]
    metrics: tuple[str, ...] = ()
    higher: tuple[str, ...] = ()


SLOW: Final = (
    Slow({"cpu_time": 2.0, "real_time": 2.0}),
    Slow({"cpu_time": 1.04, "real_time": 1.04}),
    Slow({"real_time": 9.0}),
    Slow({"hits": 2.0}, ("cpu_time", "hits")),
    Slow({"hits": 0.5}, ("hits",), ("hits",)),
    Slow({"cpu_time": 2.0}, ("items_per_second",)),
)


FAULTY: Final[Mapping[Fault, Mapping[str, object]]] = {
    Fault.ERROR: {"error_occurred": True, "error_message": "no space"},
    Fault.SKIP: {"skipped": True, "skip_message": "not today"},
    Fault.ZERO: {"real_time": 0.0, "cpu_time": 0.0},
    Fault.NAN: {"real_time": math.nan, "cpu_time": math.nan},
    Fault.TINY: {"real_time": 5e-324, "cpu_time": 5e-324},
    Fault.NO_COUNTER: {"hits": ...},
    Fault.NO_RATE: {"items_per_second": ...},
    Fault.ZERO_COUNTER: {"hits": 0.0},
    Fault.NO_REAL_TIME: {"real_time": ...},
    Fault.REAL_NAN: {"real_time": math.nan},
    Fault.REAL_ZERO: {"real_time": 0.0},
}


def launch(side: Side, slow: Slow, noise: random.Random, fault: Fault | None) -> RawLaunch:
    """The launch of a side; only BM_a of the patch is slow, and only BM_a has the fault."""
    rows: list[object] = []
    for name in NAMES:
        time = noise.gauss(100.0, 0.3)
        by = slow.by if side is Side.PATCH and name == "BM_a" else {}
        usual = {"cpu_time": time, "real_time": 1.02 * time, "hits": 64.0}
        values: dict[str, object] = {metric: value * by.get(metric, 1.0) for metric, value in usual.items()}
        values["items_per_second"] = 1e6 / (time * by.get("cpu_time", 1.0))
        if name != "BM_a" or fault is None:
            rows.append(row(name, **values))
        elif fault is Fault.REPETITION:
            rows.append(row(name, **values, repetitions=2, repetition_index=0))
            rows.append(row(name, **values, **FAULTY[Fault.ERROR], repetitions=2, repetition_index=1))
        elif fault is Fault.JUNK:
            rows.append({"name": name, "junk": [1]})
        elif fault is not Fault.ABSENT:
            rows.append(row(name, **{**values, **FAULTY[fault]}))
    return RawLaunch("s", side, whole(*rows), {"seconds": 1.0})


def outcome_of(
    slow: Slow,
    faults: Mapping[tuple[int, int], Fault],
    policy: Policy,
    most: int = PAIRS,
    of_parent: Collection[int] = (),
) -> Outcome:
    """Judge a build with these faults of the patch, by variant and pair; the parent fails in some pairs."""
    job = replace(JOB, configuration=BenchmarkConfiguration(suites=(suite_of(slow),)), policy=policy)
    as_built = (
        read(slow, 0, pair, faults.get((0, pair)), Fault.ERROR if pair in of_parent else None)
        for pair in range(most)
    )
    relinked = (
        read(slow, variant, pair, faults.get((variant, pair)))
        for variant in VARIANTS
        for pair in range(RELINKED)
    )
    pairs = MeasuredPairs(tuple(chain.from_iterable(as_built)), tuple(chain.from_iterable(relinked)))
    return judge_pairs(job, LISTINGS, pairs).judgement.outcome


def suite_of(slow: Slow) -> Suite:
    return Suite("s", "build/s", metrics=slow.metrics, higher_is_better=slow.higher)


@cache
def read(
    slow: Slow, variant: int, pair: int, of_patch: Fault | None, of_parent: Fault | None = None
) -> tuple[Launch, ...]:
    """Write the record of a pair and read it; a test needs thousands, and most are the same."""
    noise = random.Random(f"{variant}, {pair}")  # noqa: S311 - repeatable on purpose
    raw = [launch(Side.BASE, slow, noise, of_parent)]
    if of_patch is not Fault.DROP:
        raw.append(launch(Side.PATCH, slow, noise, of_patch))
    return read_pair(PairRecord(pair, encode(raw), variant), (suite_of(slow),))


def vote(outcome: Outcome) -> int | None:
    return vote_of([Ballot(outcome)])


FAULTS = st.dictionaries(
    st.tuples(st.just(0), st.integers(0, PAIRS - 1)), st.sampled_from(Fault), max_size=PAIRS
)
RELINK_FAULTS = st.dictionaries(
    st.tuples(st.sampled_from(VARIANTS), st.integers(0, RELINKED - 1)),
    st.sampled_from([each for each in Fault if "counter" not in each]),
    max_size=2 * RELINKED,
)
POLICIES = st.sampled_from([Policy(probation=0), Policy(probation=0, layout=Layout.OFF)])


@pytest.mark.parametrize("slow", SLOW, ids=lambda slow: str(dict(slow.by)))
def test_without_a_fault_each_gets_a_minus(slow: Slow) -> None:
    assert vote(outcome_of(slow, {}, Policy())) == -1


@given(st.sampled_from(SLOW), FAULTS, RELINK_FAULTS, POLICIES)
@settings(max_examples=150)
def test_no_mixture_of_faults_of_the_patch_is_a_plus(
    slow: Slow, faults: dict[tuple[int, int], Fault], relinks: dict[tuple[int, int], Fault], policy: Policy
) -> None:
    assert vote(outcome_of(slow, faults | relinks, policy)) != 1


@given(st.sampled_from(SLOW), FAULTS, st.sets(st.integers(0, PAIRS - 1), min_size=1, max_size=2))
@settings(max_examples=100)
def test_no_failure_of_the_parents_own_excuses_the_faults_of_the_patch(
    slow: Slow, faults: dict[tuple[int, int], Fault], of_parent: set[int]
) -> None:
    policy = Policy(probation=0)
    assume(vote(outcome_of(slow, {}, policy, of_parent=of_parent)) == -1)

    assert vote(outcome_of(slow, faults, policy, of_parent=of_parent)) != 1


@pytest.mark.parametrize("pairs", range(1, 20, 2))
def test_a_parent_that_fails_once_excuses_no_number_of_failures(pairs: int) -> None:
    """From 18 on, the row is broken; the times that are left prove nothing then."""
    faults = {(0, pair): Fault.ERROR for pair in range(pairs)}

    assert vote(outcome_of(SLOW[0], faults, Policy(probation=0), of_parent=[PAIRS - 1])) != 1


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("slow", SLOW, ids=lambda slow: str(dict(slow.by)))
def test_no_number_of_launches_with_one_fault_is_a_plus(slow: Slow, fault: Fault) -> None:
    for pairs in (1, 4, 11, 20, 31):
        first = {(0, pair): fault for pair in range(pairs)}
        last = {(0, PAIRS - 1 - pair): fault for pair in range(pairs)}

        assert vote(outcome_of(slow, first, Policy())) != 1, f"the first {pairs}"
        assert vote(outcome_of(slow, last, Policy())) != 1, f"the last {pairs}"


@pytest.mark.parametrize("fault", [each for each in Fault if each is not Fault.ZERO_COUNTER])
@pytest.mark.parametrize("slow", SLOW, ids=lambda slow: str(dict(slow.by)))
def test_a_patch_that_always_fails_never_gets_a_plus(slow: Slow, fault: Fault) -> None:
    """A counter of zero in all launches is no fault: the cost is gone."""
    assert vote(outcome_of(slow, {(0, pair): fault for pair in range(PAIRS)}, Policy())) != 1


@pytest.mark.parametrize("slow", SLOW, ids=lambda slow: str(dict(slow.by)))
def test_launches_that_use_the_machine_time_up_are_no_plus(slow: Slow) -> None:
    assert [pairs for pairs in range(1, PAIRS) if vote(outcome_of(slow, {}, Policy(), pairs)) == 1] == []


@pytest.mark.parametrize("share", [0.4, 0.5, 0.6, 0.75, 0.9])
def test_a_patch_that_varies_its_own_time_seldom_gets_a_plus(share: float) -> None:
    """It takes three times as long in a random share of its launches; in all of them, it would get −1.

    Only if the launches of the first looks happen to be quick, the row is the same.
    """
    drawn = random.Random(7)  # noqa: S311 - repeatable on purpose
    lasting, quick = Slow({"cpu_time": 3.0, "real_time": 3.0}), Slow({})
    outcomes = []
    for _ in range(20):
        slow = frozenset(drawn.sample(range(PAIRS), round(share * PAIRS)))
        by_pair = [lasting if pair in slow else quick for pair in range(PAIRS)]
        raw = [[launch(side, each, drawn, None) for side in Side] for each in by_pair]
        records = [PairRecord(pair, encode(each)) for pair, each in enumerate(raw)]
        outcomes.append(judge_measured(JOB, LISTINGS, records).judgement.outcome)

    assert sum(vote(each) == 1 for each in outcomes) <= 4
