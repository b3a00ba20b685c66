"""Find the policy's entries for a renamed benchmark: those of its name in the parent."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from service.domain.measuring.launch import Launch
from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import MeasuredPairs, PairRecord, RawLaunch, encode
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Layout, Policy
from service.domain.runs.judge_build import judge_measured, slow_downs, suspected_of_layout
from service.domain.runs.vote import Outcome
from service.domain.values.identity import Side
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.measured_causes import measured_causes
from tests.unit.domain.gbench_files import row, whole

PAIRS: Final = 20
JOB: Final = Job("perf", JobKind("benchmark"), BenchmarkConfiguration(suites=(Suite("s", "build/s"),)))
LISTING: Final = Listing("s", ("BM_new/8",), ("BM_new/8",), renamed={"BM_new/8": "BM_old/8"})
LENIENT: Final = {"BM_old": 0.1}  # of the target branch, for the name that it knows
OF_NEW_NAME: Final = {"BM_new": 0.1}  # another benchmark's, that the patch puts its own under


def job_with(vote_at_of: dict[str, float]) -> Job:
    return replace(JOB, policy=Policy(layout=Layout.OFF, vote_at_of=vote_at_of))


def records(slower: float = 1.05) -> list[PairRecord]:
    def raw(side: Side, name: str, time: float) -> RawLaunch:
        return RawLaunch("s", side, whole(row(name, cpu_time=time, real_time=time)), {})

    return [
        PairRecord(
            pair,
            encode(
                [raw(Side.BASE, "BM_old/8", 100.0), raw(Side.PATCH, "BM_new/8", 100.0 * slower + pair / 99)]
            ),
        )
        for pair in range(PAIRS)
    ]


def scattered() -> list[PairRecord]:
    """Launches of a second each; neither side is slower."""

    def raw(side: Side, name: str, time: float) -> RawLaunch:
        output = whole(row(name, cpu_time=time, real_time=time))
        return RawLaunch("s", side, output, {"seconds": 1.0})

    return [
        PairRecord(
            pair, encode([raw(Side.BASE, "BM_old/8", 100.0), raw(Side.PATCH, "BM_new/8", 90 + pair % 5 * 5)])
        )
        for pair in range(PAIRS)
    ]


def launches(slower: float = 1.05) -> list[Launch]:
    return [
        Launch(pair, side, "s", {"BM_new/8": {"cpu_time": time}}, {})
        for pair in range(PAIRS)
        for side, time in ((Side.BASE, 1.0), (Side.PATCH, slower + pair / 9900))
    ]


@pytest.mark.parametrize(
    ("vote_at_of", "outcome", "words"),
    [
        (LENIENT, Outcome.PASSED, "by less than 10 %"),
        (OF_NEW_NAME, Outcome.SLOWER, "1 of 1 result is slower;"),
    ],
)
def test_a_renamed_benchmark_votes_by_the_entry_of_its_former_name(
    vote_at_of: dict[str, float], outcome: Outcome, words: str
) -> None:
    """Before, a new name could choose a lenient entry, and an honest rename lost that of the old name."""
    job = job_with(vote_at_of)
    found = judge_measured(job, [LISTING], records())

    assert found.judgement.outcome is outcome
    assert words in measured_causes(found, job.policy, "m")[0]


@pytest.mark.parametrize(("vote_at_of", "count"), [(LENIENT, 0), (OF_NEW_NAME, 1)])
def test_repeated_measurements_follow_the_same_entry(vote_at_of: dict[str, float], count: int) -> None:
    job = job_with(vote_at_of)

    assert len(slow_downs(job, [LISTING], launches(), MeasuredPairs())) == count
    confirming = replace(job, policy=replace(job.policy, layout=Layout.CONFIRM))
    assert len(suspected_of_layout(confirming, [LISTING], launches(), {})) == count


def test_a_new_name_does_not_choose_the_entry_of_benchmarks_that_begin_with_it() -> None:
    listing = Listing("s", ("BM_new", "BM_new/8"), ("BM_new", "BM_new/8"), renamed={"BM_new": "BM_old"})

    assert len(slow_downs(job_with(LENIENT), [listing], launches(), MeasuredPairs())) == 1


@pytest.mark.parametrize(("name", "is_named"), [("BM_old", True), ("BM_new", False)])
def test_the_reason_names_the_machine_time_of_the_former_name(name: str, *, is_named: bool) -> None:
    job = replace(JOB, policy=Policy(layout=Layout.OFF, machine_time_of={name: 45.0}))
    (found,) = judge_measured(job, [LISTING], scattered()).comparisons

    assert found.verdict is Verdict.UNDECIDED
    assert (Reason(ReasonKind.OWN_TIME, (40.0, 45.0)) in found.reasons) is is_named
