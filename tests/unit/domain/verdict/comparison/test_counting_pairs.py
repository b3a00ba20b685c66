from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.machines.environment import Disturbance, Load, load_between
from service.domain.measuring.launch import Launch
from service.domain.values.identity import Side
from service.domain.verdict.comparison.counting_pairs import (
    DisturbedPairs,
    allowance,
    counting_launches,
    counting_pairs,
    disturbed_pairs,
    is_disturbed,
    pairs_of,
)

TICK = 0.01


def pairs(marks: str) -> dict[int, bool]:
    """``..x.``: the third of four pairs was disturbed."""
    return {number: mark == "x" for number, mark in enumerate(marks)}


def launches(marks: str) -> list[Launch]:
    return [
        Launch(number, side, "s", {}, {}, is_disturbed=is_so and side is Side.BASE)
        for number, is_so in pairs(marks).items()
        for side in Side
    ]


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        (Disturbance(0.0, None), False),
        (Disturbance(0.05, 0.05), False),
        (Disturbance(0.051, 0.0), True),
        (Disturbance(0.0, 0.051), True),
        (Disturbance(0.06, None), True),
    ],
)
def test_a_launch_is_disturbed_by_more_than_a_twentieth_of_its_cpus(
    around: Disturbance, *, expected: bool
) -> None:
    assert is_disturbed(around) is expected


@pytest.mark.parametrize(("foreign", "stolen"), [(2, 0), (0, 2)])
def test_two_ticks_in_half_a_second_are_no_disturbance(foreign: int, stolen: int) -> None:
    before = Load(0.0, 0.0, 1, {0: 0}, {0: 0}, {0: 0}, 100)
    after = Load(0.5, 0.0, 1, {0: 48 + foreign}, {0: 0}, {0: stolen}, 100)

    assert not is_disturbed(load_between(before, after, [0], 48 * TICK))


@pytest.mark.parametrize(
    ("marks", "counting"),
    [
        ("....", (0, 1, 2, 3)),
        (".x..", (0, 2, 3)),
        ("xxxx", (2, 3)),  # of 8 pairs two are repeated; what is disturbed later counts
        ("x.x.x", (1, 3, 4)),
        ("", ()),
    ],
)
def test_disturbed_pairs_are_left_out_until_the_allowance_is_used_up(
    marks: str, counting: tuple[int, ...]
) -> None:
    assert counting_pairs(pairs(marks), 8) == counting


def test_a_quarter_of_the_pairs_may_be_repeated() -> None:
    assert [allowance(most) for most in (0, 3, 4, 32)] == [0, 0, 1, 8]


@given(st.text("x.", max_size=60), st.integers(0, 60), st.integers(0, 64))
def test_later_pairs_never_change_which_first_pairs_count(marks: str, k: int, most: int) -> None:
    whole, first = counting_pairs(pairs(marks), most), counting_pairs(pairs(marks[:k]), most)

    assert whole[: len(first)] == first
    assert len(marks) - len(whole) <= allowance(max(most, len(whole) + 1))


@given(st.text("x.", max_size=60), st.integers(60, 64))
def test_within_the_policys_pairs_all_that_may_be_repeated_are(marks: str, most: int) -> None:
    assert len(marks) - len(counting_pairs(pairs(marks), most)) == min(marks.count("x"), allowance(most))


def test_beyond_the_policys_pairs_more_may_be_repeated() -> None:
    marks = "xx" + "." * 11 + "xxx"

    assert counting_pairs(pairs(marks), 8) == (*range(2, 13), 14, 15)


def test_a_pair_is_disturbed_with_any_of_its_launches() -> None:
    assert pairs_of(launches("..x")) == {0: False, 1: False, 2: True}


def test_a_pair_that_does_not_count_is_left_out_whole() -> None:
    assert [each.pair for each in counting_launches(launches(".x."), 8)] == [0, 0, 2, 2]
    assert [each.pair for each in counting_launches(launches(".x.."), 8, first=2)] == [0, 0, 2, 2]


@pytest.mark.parametrize(
    ("marks", "counted"),
    [
        ("...", DisturbedPairs(pairs=3)),
        (".x.", DisturbedPairs(left_out=1, pairs=3)),
        ("xx.xx", DisturbedPairs(left_out=2, kept=2, pairs=5)),
        ("xx.x", DisturbedPairs(left_out=2, kept=1, pairs=4)),
    ],
)
def test_disturbed_pairs_are_counted_by_what_became_of_them(marks: str, counted: DisturbedPairs) -> None:
    assert disturbed_pairs(launches(marks), 8) == counted
