from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.callgrind import Counted, Trial
from service.domain.measuring.callgrind_functions import FunctionCount
from service.domain.measuring.listing import Listing
from service.domain.values.identity import Side
from service.domain.verdict.comparison.instruction_counts import (
    LAUNCHES,
    LONG,
    added_share,
    compare_counts,
)
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict

if TYPE_CHECKING:
    from service.domain.measuring.callgrind import Counts

FLOOR = 0.01
N = 10_000
ONLY_PATCH = Reason(ReasonKind.ONLY_PATCH_NOT_COUNTED)
NOT_COUNTED = Reason(ReasonKind.NOT_COUNTED)
FAILS = Reason(ReasonKind.NOT_COUNTED, ("patch: exit code 1",))


def counted(*instructions: int, iterations: int = N) -> Counted:
    """A benchmark of that many instructions per iteration, in one launch or two that differ."""
    both = (instructions * LAUNCHES)[:LAUNCHES]
    return Counted(tuple((Trial(1, ir + 900), Trial(iterations, iterations * ir)) for ir in both))


def counts(base: Counted | None, patch: Counted | None) -> Counts:
    sides = {Side.BASE: base, Side.PATCH: patch}
    return {("suite", side): {"BM_a": each} for side, each in sides.items() if each is not None}


def compared(base: Counted | None, patch: Counted | None) -> Comparison:
    (found,) = compare_counts([Listing("suite", ("BM_a",), ("BM_a",))], counts(base, patch), FLOOR)
    return found


def added(base: Counted | None, patch: Counted | None) -> float | None:
    return added_share(counts(base, patch), "suite", "BM_a")


@pytest.mark.parametrize(
    ("patch", "verdict"),
    [
        (100_000, Verdict.SAME),
        (100_099, Verdict.SAME),
        (100_100, Verdict.SAME),
        (101_000, Verdict.SAME),
        (101_001, Verdict.SLOWER),
        (105_000, Verdict.SLOWER),
        (99_900, Verdict.SAME),
        (99_010, Verdict.SAME),
        (99_009, Verdict.FASTER),
    ],
)
def test_a_difference_beyond_the_floor_is_a_verdict(patch: int, verdict: Verdict) -> None:
    base = counted(100_000)
    found = compared(base, counted(patch))
    assert (found.verdict, found.reasons) == (verdict, (Reason(ReasonKind.BLIND_COUNTS),))
    assert (found.base, found.patch) == (100_000, patch)
    assert found.ratio == pytest.approx(patch / 100_000)
    assert added(base, counted(patch)) == pytest.approx(patch / 100_000 - 1)


def test_two_launches_that_differ_by_a_thousandth_agree() -> None:
    assert compared(counted(100_000, 100_100), counted(105_000)).verdict is Verdict.SLOWER


@pytest.mark.parametrize(
    ("base", "patch", "causes"),
    [
        (counted(100_000, 100_101), counted(200_000), ()),
        (counted(100_000, 100_101), counted(200_000, 200_201), ()),
        (counted(100_000), counted(200_000, 200_201), (ONLY_PATCH,)),
    ],
)
def test_launches_that_differ_by_more_are_not_deterministic(
    base: Counted, patch: Counted, causes: tuple[Reason, ...]
) -> None:
    found = compared(base, patch)
    assert found.verdict is Verdict.UNDECIDED
    assert found.reasons == (*causes, Reason(ReasonKind.NOT_DETERMINISTIC))
    assert added(base, patch) is None


def test_the_longest_loop_that_all_launches_made_decides() -> None:
    """Growing work: what the last trials say depends on how long they happened to be."""
    early = (Trial(10, 2 * LONG), Trial(100, 30 * LONG))
    base = Counted(((*early, Trial(150, 60 * LONG)), (*early, Trial(170, 70 * LONG))))
    assert compared(base, base).base == 30 * LONG / 100


def test_a_shorter_loop_decides_where_the_longest_does_not_repeat() -> None:
    launches = tuple((Trial(10, 2 * LONG), Trial(100, long)) for long in (20 * LONG, 21 * LONG))
    assert compared(Counted(launches), Counted(launches)).base == 2 * LONG / 10


def test_loops_of_different_lengths_decide_where_work_does_not_depend_on_it() -> None:
    base, patch = (
        Counted(tuple((Trial(1, 900), Trial(n, n * ir)) for n in (20_000, 30_000))) for ir in (500, 525)
    )
    assert compared(base, patch).ratio == pytest.approx(1.05)


def test_a_single_iteration_does_not_speak_for_many() -> None:
    """The first is cold: it may repeat exactly and yet say nothing."""
    base = Counted(tuple((Trial(1, 900), Trial(n, n * n * 500)) for n in (20_000, 30_000)))
    assert compared(base, base).reasons == (Reason(ReasonKind.NOT_DETERMINISTIC),)


def test_a_benchmark_with_a_short_loop_of_its_own_is_judged_by_it() -> None:
    base, patch = (Counted(((Trial(7, ir),),) * LAUNCHES) for ir in (7000, 7700))
    assert compared(base, patch).ratio == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("base", "patch", "reasons"),
    [
        (None, counted(5), (NOT_COUNTED,)),
        (counted(500), None, (ONLY_PATCH, NOT_COUNTED)),
        (counted(500), Counted(why="patch: exit code 1"), (ONLY_PATCH, FAILS)),
        (Counted(why="patch: exit code 1"), Counted(), (FAILS,)),
        (Counted(), Counted(), (NOT_COUNTED,)),
        (Counted(((), ())), Counted(((), ())), (NOT_COUNTED,)),
    ],
)
def test_uncounted_benchmarks_are_undecided_with_the_reason(
    base: Counted | None, patch: Counted | None, reasons: tuple[Reason, ...]
) -> None:
    found = compared(base, patch)
    assert (found.verdict, found.ratio) == (Verdict.UNDECIDED, None)
    assert found.reasons == reasons
    assert added(base, patch) is None


def test_nothing_has_no_ratio_to_something() -> None:
    assert compared(counted(0), counted(0)).verdict is Verdict.SAME
    assert compared(counted(0), counted(5)).verdict is Verdict.UNDECIDED


FUNCTIONS = (FunctionCount("middle", 400, "malloc"), FunctionCount("step", 100, "", "middle"))


@pytest.mark.parametrize(
    "found",
    [
        counted(500, 501),
        replace(counted(500), functions=FUNCTIONS),
        Counted(why="it runs several threads"),
    ],
)
def test_counts_survive_their_record(found: Counted) -> None:
    assert Counted.from_mapping(json.loads(json.dumps(found.to_mapping()))) == found


@pytest.mark.parametrize(
    "found",
    [
        None,
        [],
        {"why": ""},
        {"why": "", "launches": [[[0, 5]]]},
        {"why": "", "launches": [[[1, -5]]]},
        {"why": "", "launches": [[[1, 2, 3]]]},
        {"why": "", "launches": [[[True, 5]]]},
        {"why": "", "launches": [[[1, 1.5]]]},
        {"why": "", "launches": [[5]]},
        {"why": 5, "launches": []},
        {"why": "", "launches": 5},
    ],
)
def test_a_record_with_anything_else_holds_no_counts(found: object) -> None:
    assert Counted.from_mapping(found) == Counted(why="its record cannot be read")


def test_a_worker_of_the_previous_version_reads_the_counts() -> None:
    found = replace(counted(500), functions=FUNCTIONS).to_mapping()
    assert found.pop("functions")
    assert found == counted(500).to_mapping()  # its words, and further keys do not disturb it


@pytest.mark.parametrize(
    "functions",
    [
        5,
        [5],
        [["f", 1, ""]],
        [["f", "1", "", ""]],
        [["f", -1, "", ""]],
        [["f", True, "", ""]],
        [["g", 1, "", ""], ["f", 10**400, "", ""]],
    ],
)
def test_functions_that_cannot_be_read_do_not_lose_the_counts(functions: object) -> None:
    assert Counted.from_mapping({**counted(500).to_mapping(), "functions": functions}) == counted(500)


@given(st.lists(st.lists(st.tuples(st.integers(1, 10**18), st.integers(0, 10**18))), max_size=3))
def test_any_counts_lead_to_a_verdict(launches: list[list[tuple[int, int]]]) -> None:
    found = Counted(tuple(tuple(Trial(*each) for each in launch) for launch in launches))
    assert compared(found, found).verdict in {Verdict.SAME, Verdict.UNDECIDED}
