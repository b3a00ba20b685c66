from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.verdict.inference.interim_looks import difference_errors, looks, with_shares


def test_the_looks_of_the_default_budget() -> None:
    assert looks(32) == (5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32)
    assert looks(200)[-9:] == (32, 40, 50, 64, 80, 100, 126, 158, 198)


@given(st.integers(1, 2000), st.integers(1, 2000))
def test_a_larger_budget_only_adds_looks(one: int, other: int) -> None:
    few, many = sorted((one, other))

    assert looks(many)[: len(looks(few))] == looks(few)
    if len(looks(few)) > 1:
        assert with_shares(looks(many))[: len(looks(few))] == with_shares(looks(few))


@pytest.mark.parametrize("pairs", [3, 32, 1000])
def test_no_budget_spends_more_than_the_whole_error(pairs: int) -> None:
    found = with_shares(looks(pairs))

    assert sum(look.same for look in found) <= 1 + 1e-12
    assert sum(look.difference for look in found) <= 1 + 1e-12


def test_a_single_look_may_spend_all() -> None:
    (look,) = with_shares((13,))

    assert (look.pairs, look.same, look.difference) == (13, 1.0, 1.0)


@given(st.floats(1e-9, 0.2), st.integers(3, 300))
def test_a_difference_spends_its_error_only_at_looks_that_can_prove_it(error: float, pairs: int) -> None:
    found = difference_errors(with_shares(looks(pairs)), error)

    assert sum(found.values()) <= error * (1 + 1e-9)
    assert all(2.0**-n <= spent for n, spent in found.items())


def test_later_looks_get_the_error_that_early_ones_cannot_use() -> None:
    """A hundred benchmarks: after 16 pairs 2⁻¹⁶ is still more than the looks up to there may spend."""
    found = difference_errors(with_shares(looks(32)), 0.005 / 100)

    assert min(found) == 18
    assert sum(found.values()) == pytest.approx(0.9 * 0.005 / 100)
