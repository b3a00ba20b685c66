from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.listing import Listing
from service.domain.measuring.pair_record import PairRecord, RawLaunch, encode
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.runs.build_outcome import Group
from service.domain.runs.judge_build import judge_measured, treat_as_unchanged
from service.domain.runs.vote import Outcome
from service.domain.values.identity import Side
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from tests.unit.domain.comparisons import BROKEN, FASTER, NEW, REMOVED, SAME, UNDECIDED, UNMEASURED, slower
from tests.unit.domain.gbench_files import row, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.runs.judge_build import Measured

PROGRAMS = (Suite("suite", "build/a"), Suite("other", "build/b"))
JOB = Job("perf", JobKind("benchmark"), BenchmarkConfiguration(suites=PROGRAMS))
SUITES = ("suite", "other")
MEASURED = UNDECIDED._replace(
    pairs=8,
    ratio=1.009,
    interval=(0.98, 1.04),
    reasons=(Reason(ReasonKind.MORE_PAIRS, (12.0,)),),
    more_pairs=12.0,
)


@pytest.mark.parametrize(
    ("found", "verdict", "reasons"),
    [
        (slower("BM_a", 1.012), Verdict.SAME, (Reason(ReasonKind.SAME_PROGRAM, (1.012,)),)),
        (FASTER, Verdict.SAME, (Reason(ReasonKind.SAME_PROGRAM, (0.5,)),)),
        (MEASURED, Verdict.SAME, (Reason(ReasonKind.SAME_PROGRAM, (1.009,)),)),
        (BROKEN, Verdict.UNDECIDED, (Reason(ReasonKind.SAME_PROGRAM), *BROKEN.reasons)),
        (
            REMOVED,
            Verdict.UNDECIDED,
            (Reason(ReasonKind.SAME_PROGRAM), Reason(ReasonKind.LISTED_ONCE)),
        ),
    ],
)
def test_no_difference_is_left_and_the_measurements_stay(
    found: Comparison, verdict: Verdict, reasons: tuple[Reason, ...]
) -> None:
    (unchanged,) = treat_as_unchanged([found], {"suite"})

    assert (unchanged.verdict, unchanged.reasons) == (verdict, reasons)
    assert (unchanged.ratio, unchanged.interval, unchanged.pairs) == (
        found.ratio,
        found.interval,
        found.pairs,
    )


def test_no_more_pairs_are_asked_for() -> None:
    assert treat_as_unchanged([MEASURED], {"suite"})[0].more_pairs is None


def test_a_new_benchmark_stays_new() -> None:
    assert treat_as_unchanged([NEW], {"suite"}) == (NEW,)


def test_what_was_measured_as_the_same_says_why_it_must_be() -> None:
    """Trends take its step for exactly zero."""
    assert SAME.ratio is not None
    (found,) = treat_as_unchanged([SAME], {"suite"})

    assert found == SAME._replace(reasons=(Reason(ReasonKind.SAME_PROGRAM, (SAME.ratio,)),))


def test_the_same_program_needs_no_pair_to_be_the_same() -> None:
    (found,) = treat_as_unchanged([UNMEASURED], {"suite"})

    assert (found.verdict, found.reasons) == (Verdict.SAME, (Reason(ReasonKind.SAME_PROGRAM),))


def test_other_suites_are_judged_as_ever() -> None:
    assert treat_as_unchanged([FASTER, BROKEN], {"other"}) == (FASTER, BROKEN)


def listings(*, is_same_program: bool = False) -> list[Listing]:
    return [Listing(suite, ("BM_a",), ("BM_a",), is_same_program) for suite in SUITES]


def judged(fixed: Sequence[Listing]) -> Measured:
    """Sixteen pairs in which the patch takes 120 % longer in both suites, more than layout explains."""
    facts = {"seconds": 1.0, "steal": 0.0, "foreign": 0.0, "disturbed": False}
    outputs = [
        encode(
            [
                RawLaunch(suite, side, whole(row("BM_a", cpu_time=time, real_time=time)), facts)
                for suite in SUITES
                for side, factor in ((Side.BASE, 1.0), (Side.PATCH, 2.2))
                for time in [100.0 * factor + 0.01 * pair]
            ]
        )
        for pair in range(16)
    ]
    return judge_measured(JOB, fixed, [PairRecord(pair, raw) for pair, raw in enumerate(outputs)])


def test_an_identical_programs_slow_down_is_dismissed_and_reported_once() -> None:
    found = judged(listings(is_same_program=True))

    assert [each.verdict for each in found.comparisons] == [Verdict.SAME] * 2
    assert found.judgement.outcome is Outcome.PASSED
    assert found.judgement.groups[Group.SAME] == []
    assert found.notes.same_program == ("suite", "other")


def test_a_slow_down_in_a_suite_beside_it_still_counts() -> None:
    first, second = listings()
    found = judged([replace(first, is_same_program=True), second])

    assert [each.verdict for each in found.comparisons] == [Verdict.SAME, Verdict.SLOWER]
    assert found.judgement.outcome is Outcome.SLOWER
    assert found.notes.same_program == ("suite",)


def test_a_slow_down_of_different_programs_counts() -> None:
    assert judged(listings()).judgement.outcome is Outcome.SLOWER


def test_the_same_program_that_lists_nothing_this_time_has_not_lost_its_benchmarks() -> None:
    found = judged([replace(each, patch=()) for each in listings(is_same_program=True)])

    assert [each.verdict for each in found.comparisons] == [Verdict.UNDECIDED] * 2
    assert found.judgement.outcome is Outcome.UNDECIDED_WITHHELD
