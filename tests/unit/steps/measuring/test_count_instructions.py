from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.measuring.callgrind_functions import FunctionCount
from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import counts_in, decode, read_pairs
from service.domain.project.benchmark import BenchmarkConfiguration, Instructions, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Policy, VoteWhen
from service.domain.runs.judge_build import Measured, judge_measured
from service.domain.runs.vote import Outcome
from service.domain.values.identity import Side
from service.domain.verdict.comparison.instruction_counts import added_share, compare_counts
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from service.domain.wording.build_causes import OUT_OF_COUNTING_TIME, SEVERAL_THREADS
from service.steps.measuring.count_instructions import count_instructions
from service.steps.measuring.launching import Launcher
from tests.support.building.build_host import MemoryClaimed, MemorySandbox, memory_host, session_of
from tests.support.building.memory_source import MemorySource
from tests.unit.steps.measuring.test_measure import measure_trees

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

JOB = Job(
    "perf",
    JobKind("benchmark"),
    BenchmarkConfiguration(suites=(Suite("bench", "build/bench"),), instructions=Instructions.REPORT),
)
NAMES = ("BM_a", "BM_b")


def counting(mode: Instructions) -> Job:
    return replace(JOB, configuration=replace(JOB.benchmark, instructions=mode))


def program(instructions: Mapping[str, int] | None, names: tuple[str, ...] = NAMES, **other: Any) -> str:  # noqa: ANN401
    counted = {} if instructions is None else {"instructions": instructions}
    return json.dumps({"benchmarks": dict.fromkeys(names, 1e-6), **counted, **other})


BASE = program({"BM_a": 500, "BM_b": 500})
PATCH = program({"BM_a": 525, "BM_b": 500})


class Bench:
    """Two built trees, which either a step alone or a whole measuring may use."""

    def __init__(self, scratch: Path, base: str = BASE, patch: str = PATCH) -> None:
        self.sandbox = MemorySandbox()
        self.log = MemoryClaimed()
        self.host = memory_host(MemorySource(), self.sandbox, scratch)
        self.trees = {Side.BASE: scratch / "base", Side.PATCH: scratch / "patch"}
        for side, text in ((Side.BASE, base), (Side.PATCH, patch)):
            (self.trees[side] / "build").mkdir(parents=True)
            (self.trees[side] / "build" / "bench").write_text(text)

    def count(
        self, job: Job = JOB, *, names: tuple[str, ...] = NAMES, is_same: bool = False
    ) -> list[Comparison]:
        launcher = Launcher(session_of(self.host, job), self.trees)
        listings = [Listing("bench", names, names, is_same)]
        counts = count_instructions(launcher, listings)
        return list(compare_counts(listings, counts, job.policy.floor))

    def measure(self, job: Job = JOB) -> Measured:
        measure_trees(Launcher(session_of(self.host, job, self.log), self.trees))
        return self.judge(job)

    def judge(self, job: Job = JOB) -> Measured:
        return judge_measured(job, self.log.fixed, self.log.pairs())


def not_counted(why: str) -> tuple[Reason, ...]:
    return (Reason(ReasonKind.NOT_COUNTED, (why,)),)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_every_benchmark_is_launched_alone_twice_on_each_side(bench: Bench) -> None:
    rows = bench.count()
    assert bench.sandbox.counted == ["^(BM_a)$"] * 4 + ["^(BM_b)$"] * 4
    assert [(row.row.benchmark, row.verdict) for row in rows] == [
        ("BM_a", Verdict.SLOWER),
        ("BM_b", Verdict.SAME),
    ]


def test_the_functions_of_the_last_loop_are_kept_beside_the_counts(bench: Bench) -> None:
    bench.measure()
    counts = read_pairs(bench.log.pairs(), JOB.benchmark.suites).counts
    assert counts["bench", Side.PATCH]["BM_a"].functions == (FunctionCount("work", 525_000_100),)


def test_nothing_is_counted_unless_the_job_asks_for_it(bench: Bench) -> None:
    assert bench.count(counting(Instructions.OFF)) == []
    assert bench.sandbox.counted == []


def test_the_same_program_is_not_counted(bench: Bench) -> None:
    assert bench.count(is_same=True) == []


def test_several_threads_are_not_counted(bench: Bench) -> None:
    (row,) = bench.count(names=("BM_a/threads:2",))
    assert row.reasons == not_counted(SEVERAL_THREADS)
    assert bench.sandbox.counted == []


def test_a_machine_without_valgrind_reports_that(tmp_path: Path) -> None:
    rows = Bench(tmp_path, program(None), program(None)).count()
    why = "base: exit code 127: sh: 1: exec: valgrind: not found"
    assert {row.reasons for row in rows} == {not_counted(why)}


@pytest.mark.parametrize(
    ("base", "patch", "launches", "only_patch"),
    [
        (26.0, 50.0, 2 + 2, False),  # of 50 and 100 seconds: both are used up after the first benchmark
        (10.0, 51.0, 2 + 2 + 2, True),
        (10.0, 101.0, 2 + 1 + 2, True),
        (10.0, 20.0, 8, None),
    ],
)
def test_counting_ends_with_the_time_of_either_side(
    bench: Bench, base: float, patch: float, launches: int, *, only_patch: bool | None
) -> None:
    """The patch is the first to be out of time only if it takes more than twice as long as the parent."""
    seconds = {BASE: base, PATCH: patch}
    hour = 0.0

    def count(code: str) -> None:
        nonlocal hour
        hour += seconds[code]

    bench.sandbox.before_count = count
    bench.host = replace(bench.host, clock=lambda: hour)
    *_, row = bench.count()
    assert len(bench.sandbox.counted) == launches
    if only_patch is None:
        assert row.verdict is Verdict.SAME
    else:
        first = (Reason(ReasonKind.ONLY_PATCH_NOT_COUNTED),) if only_patch else ()
        assert row.reasons == (*first, *not_counted(OUT_OF_COUNTING_TIME))


def test_counts_are_kept_with_the_first_pair_and_judged_from_there(bench: Bench) -> None:
    found = bench.measure()
    counts = counts_in(decode(bench.log.records[0].raw))
    assert (added_share(counts, "bench", "BM_a") or 0) > 0
    assert added_share(counts, "bench", "BM_b") == 0
    assert added_share(counts, "bench", "BM_unknown") is None
    assert all(counts_in(decode(each.raw)) == {} for each in bench.log.records[1:])
    assert bench.judge() == found


def test_a_worker_that_continues_does_not_count_again(bench: Bench) -> None:
    found = bench.measure()
    before = len(bench.sandbox.counted)
    assert bench.measure() == found
    assert len(bench.sandbox.counted) == before


def test_more_instructions_are_reported_and_do_not_vote(bench: Bench) -> None:
    found = bench.measure()
    assert found.judgement.outcome is Outcome.PASSED
    assert [row.verdict for row in found.notes.counted] == [Verdict.SLOWER, Verdict.SAME]
    assert found.notes.is_counting_advisory


def test_a_benchmark_that_became_slower_says_in_which_function_its_instructions_grew(tmp_path: Path) -> None:
    slow = program({"BM_a": 700, "BM_b": 700}, benchmarks={"BM_a": 1.3e-6, "BM_b": 1e-6})
    (found,) = Bench(tmp_path, BASE, slow).measure().notes.explained
    assert (found.benchmark, round(found.total, 4)) == ("BM_a", 0.4)
    assert found.growth is not None
    assert [each.name for each in found.growth.functions] == ["work"]


def test_more_instructions_vote_if_the_job_allows_it(bench: Bench) -> None:
    found = bench.measure(counting(Instructions.VOTE))
    assert found.judgement.outcome is Outcome.SLOWER
    assert found.judgement.blamed == ("BM_a",)


def test_rows_of_time_are_the_same_whether_instructions_vote_or_not(bench: Bench, tmp_path: Path) -> None:
    """The family does not grow: an exact row spends none of the error."""
    other = Bench(tmp_path / "other")
    without = other.measure(counting(Instructions.OFF)).comparisons
    found = bench.measure(counting(Instructions.VOTE)).comparisons
    assert [row for row in found if row.row.metric.name != "instructions"] == list(without)


@pytest.mark.parametrize("mode", [Instructions.REPORT, Instructions.VOTE])
def test_uncountable_benchmarks_decide_nothing(tmp_path: Path, mode: Instructions) -> None:
    policy = Policy(on_undecided=VoteWhen.NONE)
    job = replace(counting(mode), policy=policy)
    found = Bench(tmp_path, program(None), program(None)).measure(job)
    assert found.judgement.outcome is Outcome.PASSED
    assert [row.verdict for row in found.notes.counted] == [Verdict.UNDECIDED] * 2


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [(Instructions.REPORT, Outcome.PASSED), (Instructions.VOTE, Outcome.UNDECIDED_WITHHELD)],
)
def test_a_patch_that_prevents_the_count_gets_no_plus_if_counts_vote(
    tmp_path: Path, mode: Instructions, outcome: Outcome
) -> None:
    found = Bench(tmp_path, BASE, program(None)).measure(counting(mode))
    assert found.judgement.outcome is outcome
