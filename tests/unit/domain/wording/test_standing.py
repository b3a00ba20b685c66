from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service.domain.runs.overrides import Override, OverrideKind
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.wording.standing import PoolMachine, not_counted, ordinal, waiting, waived_as

OVERRIDE = Override(
    id=1, kind=OverrideKind.OVERRIDE, revision="c0ffee", bug="MB-12", who="Bob", account="1",
    at=datetime(2026, 11, 21, tzinfo=UTC),
)  # fmt: skip


@pytest.mark.parametrize(
    ("waiver", "text"),
    [
        (OVERRIDE, "overridden MB-12"),
        (replace(OVERRIDE, bug="https://bugs.example/browse/MB-12"), "overridden MB-12"),
        (replace(OVERRIDE, kind=OverrideKind.ACCEPT, bug=""), "accepted"),
    ],
)
def test_a_waiver_has_its_bug_in_few_words(waiver: Override, text: str) -> None:
    assert waived_as(waiver) == text


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Reason(ReasonKind.ON_PROBATION, (0, 40, 0, 3)), "not counted until 40 A/A pairs"),
        (Reason(ReasonKind.ON_PROBATION, (44, 40, 2, 3)), "not counted until 3 A/A sessions"),
        (Reason(ReasonKind.SUSPENDED, (2, 9)), "not counted: suspended"),
        (Reason(ReasonKind.NOISY, (0.02,)), "not counted: not measurable"),
        (
            Reason(ReasonKind.OWN_DIFFERENCE, (1.05, 1.04, 1.06, 14)),
            "not counted: the machine's own difference",
        ),
        (Reason(ReasonKind.OTHER_CONTROL), "not counted: the machine's difference elsewhere"),
        (Reason(ReasonKind.OPEN_CONTROL, (1.0, 0.9, 1.1, 20)), "not counted: the machine may explain it"),
        (Reason(ReasonKind.LAYOUT_POSSIBLE), ""),
    ],
)
def test_a_slower_result_says_until_when_it_does_not_count(reason: Reason, text: str) -> None:
    assert not_counted([Reason(ReasonKind.LAYOUT_POSSIBLE), reason]) == text


FREE = PoolMachine("perf-01", "", is_silent=False, is_busy=False)
BUSY = replace(FREE, name="perf-02", is_busy=True)
KEPT = replace(FREE, obstacle="other work takes 100 % of its CPUs")
SILENT = replace(FREE, name="perf-03", is_silent=True)
DRAINED = replace(FREE, name="perf-04", is_silent=True, obstacle="new kernel", closed_by="ann")


@pytest.mark.parametrize(
    ("machines", "why"),
    [
        ([], "; no machine of this pool has registered"),
        ([SILENT], "; no machine of this pool has reported for a minute"),
        ([FREE, BUSY], ""),
        ([KEPT, SILENT], "; perf-01 takes no benchmarks: other work takes 100 % of its CPUs"),
        ([KEPT, BUSY], "; perf-01 takes no benchmarks: other work takes 100 % of its CPUs; perf-02 is busy"),
        ([DRAINED], "; perf-04 was drained by ann: new kernel"),
        (
            [DRAINED, SILENT],
            "; perf-04 was drained by ann: new kernel; perf-03 has not reported for a minute",
        ),
        ([DRAINED, SILENT, BUSY], "; perf-04 was drained by ann: new kernel; perf-02 is busy"),
        ([BUSY] * 5, "; perf-02 is busy; perf-02 is busy; perf-02 is busy; and 2 more"),
    ],
)
def test_a_waiting_build_says_why_no_machine_takes_it(machines: list[PoolMachine], why: str) -> None:
    assert waiting("perf", 2, machines) == f"2nd in the queue of pool perf{why}"


def test_a_waiting_build_says_what_its_place_comes_from() -> None:
    assert waiting("perf", 7, [FREE], 6) == "7th in the queue of pool perf, after 6 of its owner"
    merged = waiting("perf", 2, [FREE], is_passed=True)
    assert merged == "2nd in the queue of pool perf; checks that come within its first 30 minutes go first"


def test_ordinals_have_their_endings() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"]
    )
