from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.launch_order import (
    MAX_CHARACTERS,
    MAX_NAMES,
    environment_pad,
    filter_for,
    groups_of,
    side_order,
)
from service.domain.values.identity import Side
from service.domain.verdict.comparison.link_layout import VARIANTS

NAMES = st.lists(st.text("abBM_/:-<>,.*+?()[]{}|\\^$ é", min_size=1, max_size=12), min_size=1, max_size=8)


def test_the_order_of_a_pair_is_fixed_by_seed_and_number() -> None:
    assert side_order("seed", 7) == side_order("seed", 7)
    assert {side_order("seed", k) for k in range(20)} == {(Side.BASE, Side.PATCH), (Side.PATCH, Side.BASE)}


def test_variants_have_draws_of_their_own() -> None:
    orders = {tuple(side_order("seed", k, variant) for k in range(20)) for variant in (0, *VARIANTS)}
    pads = {tuple(environment_pad("seed", k, variant) for k in range(20)) for variant in (0, *VARIANTS)}

    assert (len(orders), len(pads)) == (1 + len(VARIANTS),) * 2


def test_both_orders_are_equally_likely() -> None:
    heads = sum(side_order(f"seed {s}", k)[0] is Side.BASE for s in range(100) for k in range(100))

    assert abs(heads - 5000) < 4 * 50  # four standard deviations


def test_orders_of_different_seeds_do_not_follow_each_other() -> None:
    same = sum(side_order("a", k) == side_order("b", k) for k in range(10_000))

    assert abs(same - 5000) < 4 * 50


@given(NAMES, NAMES)
def test_a_filter_runs_exactly_the_names_it_was_given(names: list[str], others: list[str]) -> None:
    pattern = filter_for(names)

    assert {name for name in {*names, *others} if re.search(pattern, name)} == set(names)


def test_characters_unknown_to_libbenchmarks_expressions_are_not_escaped() -> None:
    """It takes POSIX extended expressions, and refuses an escaped hyphen, slash, closing bracket or brace.

    Before, no benchmark of a group ran if the name of one had a ``]``.
    """
    assert filter_for(["BM<int[3]>{x}"]) == r"^(BM<int\[3]>\{x})$"
    assert filter_for(["a-b/c:4 <x, y>"]) == "^(a-b/c:4 <x, y>)$"
    assert filter_for(["b", "a.c", "b"]) == r"^(a\.c|b)$"


@given(st.lists(st.text(max_size=3), max_size=8))
def test_groups_hold_every_name_once_whatever_the_order(names: list[str]) -> None:
    assert sorted(name for group in groups_of(names) for name in group) == sorted(set(names))
    assert groups_of(names) == groups_of(reversed(names))


def test_a_group_has_no_more_names_than_a_launch_can_take() -> None:
    groups = groups_of(f"BM_{k}" for k in range(2 * MAX_NAMES + 1))

    assert [len(group) for group in groups] == [MAX_NAMES, MAX_NAMES, 1]


@pytest.mark.parametrize("character", [".", "é", "x"])
def test_a_groups_filter_fits_on_a_command_line(character: str) -> None:
    groups = groups_of(f"{k:03}" + character * 1000 for k in range(90))

    assert len(groups) == (2 if character == "x" else 3)
    assert all(len(filter_for(group).encode()) <= MAX_CHARACTERS for group in groups)


@given(st.text(), st.integers(0, 1000))
def test_a_pad_keeps_the_stack_aligned_and_stays_within_a_page(seed: str, pair: int) -> None:
    pad = environment_pad(seed, pair)
    assert pad % 16 == 0
    assert 0 <= pad < 4096


def test_pads_of_many_pairs_cover_the_page() -> None:
    assert len({environment_pad("seed", pair) for pair in range(2000)}) == 256
