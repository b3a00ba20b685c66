"""Judge rows by a second opinion that lacks some of them: real time that joined by the first pairs."""

from __future__ import annotations

from dataclasses import replace

from service.domain.measuring.launch import SECOND
from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import PairRecord, RawLaunch, encode
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Layout, Policy
from service.domain.runs.judge_build import judge_measured
from service.domain.runs.vote import Outcome
from service.domain.values.identity import Side
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from tests.unit.domain.gbench_files import row, whole

JOB = Job(
    "perf",
    JobKind("benchmark"),
    BenchmarkConfiguration(suites=(Suite("s", "build/s"),)),
    policy=Policy(layout=Layout.OFF),
)
LISTINGS = (Listing("s", ("BM_a",), ("BM_a",)),)
PAIRS = 24


def records(variant: int, real: float, first: float = 1.0) -> list[PairRecord]:
    """Pairs where the patch waits a multiple of the time, more in the first five; CPU time stays."""
    facts = {"seconds": 1.0, "disturbed": False}
    return [
        PairRecord(
            pair,
            encode(
                [
                    RawLaunch("s", side, whole(row("BM_a", cpu_time=time, real_time=factor * time)), facts)
                    for side, factor in ((Side.BASE, 1.0), (Side.PATCH, real * (first if pair < 5 else 1)))
                    for time in [100.0 + 0.01 * (pair % 5) + 0.003 * (side is Side.PATCH)]
                ]
            ),
            variant,
        )
        for pair in range(PAIRS)
    ]


def test_real_time_that_joined_the_first_sequence_is_judged_by_the_second() -> None:
    """Before, a slow-down of real time stood if the second sequence gave it no reason to join."""
    found = judge_measured(JOB, LISTINGS, [*records(0, 1.03, 1.03), *records(SECOND, 1.0)])
    (real,) = (each for each in found.comparisons if each.row.metric.name == "real_time")

    assert real.verdict is Verdict.UNDECIDED
    assert real.reasons[0].kind is ReasonKind.SECOND_LIFTS
    assert found.judgement.outcome is Outcome.UNDECIDED


def test_a_suite_that_names_real_time_has_it_once() -> None:
    suite = Suite("s", "build/s", metrics=("cpu_time", "real_time"))
    job = replace(JOB, configuration=BenchmarkConfiguration(suites=(suite,)))
    found = judge_measured(job, LISTINGS, [*records(0, 1.03, 1.03), *records(SECOND, 1.0)])

    assert [each.row.metric.name for each in found.comparisons] == ["cpu_time", "real_time"]
    assert found.judgement.outcome is Outcome.UNDECIDED
