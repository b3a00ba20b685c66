from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.callgrind import Counted, Trial
from service.domain.measuring.callgrind_functions import FunctionCount, functions
from service.domain.measuring.metric import metric_named
from service.domain.values.identity import Side
from service.domain.verdict.comparison.grown_functions import Grown, Growth, explain, grown
from service.domain.verdict.comparison.instruction_counts import LAUNCHES
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict

if TYPE_CHECKING:
    from service.domain.measuring.callgrind import Counts

SAMPLES = Path(__file__).parents[4] / "samples" / "callgrind"
ITERATIONS = {"base": 2585, "more": 2533, "stride": 2625, "branch": 2473, "alloc": 1183, "noinl": 1716}
FLOOR = 0.01
WORK = FunctionCount("work", 4_000_000)
STEP = FunctionCount("step", 6_000_000, caller="work")


def recorded(cause: str) -> Counted:
    dumps = (SAMPLES / f"v3.19.0_toy_{cause}.out").read_bytes()
    iterations, total = ITERATIONS[cause], int(dumps.rpartition(b"totals: ")[2].split()[0])
    # Both sides tried this before the last loop.
    common = Trial(1000, 1000 * total // iterations)
    return Counted(((common, Trial(iterations, total)),) * LAUNCHES, functions=functions(dumps))


def of(*found: FunctionCount, iterations: int = 1000) -> Counted:
    trial = Trial(iterations, sum(each.instructions for each in found))
    return Counted(((trial,),) * LAUNCHES, functions=found)


def growth(base: Counted, patch: Counted, floor: float = FLOOR) -> Growth | None:
    counts: Counts = {("suite", Side.BASE): {"BM": base}, ("suite", Side.PATCH): {"BM": patch}}
    return grown(counts, "suite", "BM", floor)


def names(found: Growth | None) -> list[Grown]:
    assert found is not None
    return [each._replace(share=round(each.share, 4)) for each in found.functions]


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        ("more", Grown("middle", 0.0431)),
        ("branch", Grown("middle", 0.0211)),
        ("alloc", Grown("middle", 0.4359, ("free", "malloc"))),
        ("noinl", Grown("step", 0.1525, caller="middle")),
    ],
)
def test_each_recorded_cause_names_its_function(cause: str, expected: Grown) -> None:
    assert names(growth(recorded("base"), recorded(cause))) == [expected]


def test_a_cause_that_takes_no_instructions_names_no_function() -> None:
    assert growth(recorded("base"), recorded("stride")) is None


def test_the_rest_is_what_the_other_functions_grew_or_shrank() -> None:
    found = growth(recorded("base"), recorded("noinl"))
    assert found is not None
    assert round(found.rest, 4) == -0.0163


def test_a_renamed_function_has_only_the_growth() -> None:
    patch = of(WORK, STEP._replace(name="stride", instructions=6_600_000))
    assert names(growth(of(WORK, STEP), patch)) == [Grown("stride", 0.06, was="step")]


def test_what_a_renamed_function_calls_keeps_its_growth() -> None:
    called = FunctionCount("step", 1_000_000, "malloc")
    base = of(WORK, STEP, called)
    patch = of(WORK, STEP._replace(name="walk"), called._replace(name="walk", instructions=2_100_000))
    assert names(growth(base, patch)) == [Grown("walk", 0.1, ("malloc",), was="step")]


def test_a_function_that_was_only_renamed_did_not_grow() -> None:
    patch = of(WORK._replace(instructions=5_000_000), STEP._replace(name="walk"))
    assert names(growth(of(WORK, STEP), patch)) == [Grown("work", 0.1)]


@pytest.mark.parametrize(("caller", "instructions"), [("work", 9_000_000), ("main", 7_000_000)])
def test_a_function_of_another_size_or_caller_is_another_function(caller: str, instructions: int) -> None:
    patch = of(WORK, FunctionCount("walk", instructions, caller=caller))
    assert names(growth(of(WORK, STEP), patch)) == [Grown("walk", instructions / 1e7, caller=caller)]


def test_functions_without_a_caller_in_the_program_are_not_taken_for_each_other() -> None:
    base, patch = of(WORK, STEP._replace(caller="")), of(WORK, FunctionCount("handler", 6_600_000))
    assert names(growth(base, patch)) == [Grown("handler", 0.66)]


def test_functions_with_a_small_part_of_the_growth_are_left_out() -> None:
    small = [FunctionCount(f"f{n}", 100_000) for n in range(5)]
    patch = of(
        WORK._replace(instructions=8_000_000), STEP, *[each._replace(instructions=130_000) for each in small]
    )
    assert [each.name for each in names(growth(of(WORK, STEP, *small), patch))] == ["work"]


def test_at_most_three_functions_are_named() -> None:
    base = [FunctionCount(f"f{n}", 1_000_000) for n in range(5)]
    patch = [each._replace(instructions=2_000_000 + 1000 * n) for n, each in enumerate(base)]
    assert [each.name for each in names(growth(of(*base), of(*patch)))] == ["f4", "f3", "f2"]


@pytest.mark.parametrize(
    "patch",
    [
        of(WORK, STEP),
        of(WORK, STEP._replace(instructions=6_090_000)),  # within the floor
        of(WORK, STEP._replace(instructions=1_000_000)),
        Counted(why="patch: exit code 1"),
        replace(of(WORK, STEP._replace(instructions=8_000_000)), functions=()),  # by the previous version
        Counted(((Trial(1000, 12_000_000),), (Trial(1000, 13_000_000),)), functions=(WORK, STEP)),
    ],
)
def test_without_a_proven_growth_no_function_is_named(patch: Counted) -> None:
    assert growth(of(WORK, STEP), patch) is None


def test_a_last_loop_that_does_other_work_than_the_compared_explains_nothing() -> None:
    early, late = Trial(100, 2_000_000), [Trial(1000, 30_000_000), Trial(1500, 60_000_000)]
    base = Counted(tuple((early, each) for each in late), functions=(WORK,))
    patch = Counted(tuple((replace(early, instructions=2_200_000), each) for each in late), functions=(STEP,))
    assert growth(base, patch) is None


FILLER = FunctionCount("filler", 100_000, caller="work")


def cut(*found: FunctionCount, of_rest: int) -> Counted:
    """The loop has ``of_rest`` further instructions, of functions that were left out as the smallest."""
    trial = Trial(1000, sum(each.instructions for each in found) + of_rest)
    return Counted(((trial,),) * LAUNCHES, functions=found)


def test_a_function_that_was_cut_from_the_parents_list_did_not_grow_from_nothing() -> None:
    base = cut(WORK, FILLER, of_rest=5_000_000)
    patch = cut(WORK._replace(instructions=5_000_000), FILLER._replace(name="other"), of_rest=5_000_000)
    assert names(growth(base, patch)) == [Grown("work", 0.1099)]


def test_of_a_function_that_may_have_been_cut_the_growth_beyond_the_smallest_kept_counts() -> None:
    base = cut(WORK, FILLER, of_rest=5_900_000)
    assert names(growth(base, of(WORK, STEP, FunctionCount("walk", 1_100_000)))) == [
        Grown("step", 0.59),
        Grown("walk", 0.1),
    ]


def test_what_the_patchs_list_cut_did_not_shrink_to_nothing() -> None:
    called = FunctionCount("work", 500_000, "malloc")
    base = of(WORK, FILLER, called)
    patch = cut(WORK._replace(instructions=5_000_000), FILLER, of_rest=90_000)
    assert names(growth(base, patch)) == [Grown("work", round((1_000_000 - 410_000) / 4_600_000, 4))]


def test_rounded_counts_are_not_a_list_that_was_cut() -> None:
    walk = STEP._replace(name="walk", instructions=6_600_000)
    assert names(growth(cut(WORK, STEP, of_rest=1), of(WORK, walk))) == [Grown("walk", 0.06, was="step")]


def row(benchmark: str, metric: str, ratio: float, verdict: Verdict = Verdict.SLOWER) -> Comparison:
    return Comparison(
        ComparedRow("suite", benchmark, metric_named(metric)), verdict, 40, ratio, (ratio, ratio)
    )


def test_benchmarks_that_are_slower_by_their_time_are_explained_once_and_the_slowest_first() -> None:
    sides = {Side.BASE: of(WORK, STEP), Side.PATCH: of(WORK._replace(instructions=5_000_000), STEP)}
    counts = {("suite", side): dict.fromkeys(("a", "b", "c", "d"), each) for side, each in sides.items()}
    rows = [
        row("a", "cpu_time", 1.1),
        row("b", "cpu_time", 1.2),
        row("b", "real_time", 1.3),
        row("c", "bytes", 1.9),
        row("d", "cpu_time", 1.2, Verdict.UNDECIDED),
        row("uncounted", "cpu_time", 1.2),
    ]
    found = explain(rows, counts, FLOOR)
    assert [(each.benchmark, round(each.total, 4)) for each in found] == [("b", 0.1), ("a", 0.1)]
    assert [names(each.growth) for each in found] == [[Grown("work", 0.1)]] * 2


TRIALS = st.builds(Trial, st.sampled_from((1, 1000, 2000)), st.sampled_from((0, 1, 2_000_000, 10**18)))
FUNCTIONS = st.builds(
    FunctionCount,
    st.sampled_from(("f", "g", "h")),
    st.sampled_from((0, 1, 2_000_000, 10**18)),
    st.sampled_from(("", "malloc")),
    st.sampled_from(("", "f")),
)


@st.composite
def repeating(draw: st.DrawFn) -> Counted:
    first, lasts = draw(TRIALS), draw(st.lists(TRIALS, min_size=LAUNCHES, max_size=LAUNCHES))
    found = draw(st.lists(FUNCTIONS, max_size=4))
    return Counted(tuple((first, last) for last in lasts), functions=tuple(found))


@given(repeating(), repeating())
def test_any_counts_and_functions_can_be_explained(base: Counted, patch: Counted) -> None:
    counts: Counts = {("suite", Side.BASE): {"a": base}, ("suite", Side.PATCH): {"a": patch}}
    for each in explain([row("a", "cpu_time", 1.1)], counts, FLOOR):
        assert each.growth is None or each.growth.functions


def test_a_last_loop_without_instructions_explains_nothing() -> None:
    base, patch = (
        Counted(tuple((Trial(1000, n), Trial(length, 0)) for length in (2000, 2001)), functions=(WORK,))
        for n in (2_000_000, 3_000_000)
    )
    assert growth(base, patch) is None
