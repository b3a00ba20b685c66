from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from service.domain.verdict.comparison.benchmark import name_scatter
from service.domain.verdict.inference.reasons import ReasonKind, has_kind
from service.domain.verdict.inference.verdict import Verdict
from tests.unit.domain.comparisons import FASTER, SAME, UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.verdict.inference.verdict import Comparison

PAIRS = 32


def times(spread: float, seed: int, slow: Sequence[int] = (), by: float = 2.0) -> list[float | None]:
    noise = np.random.default_rng(seed).normal(0, spread, PAIRS)
    return [100 * math.exp(x) * (by if pair in slow else 1.0) for pair, x in enumerate(noise)]


def is_of_patch(found: Comparison) -> bool:
    return has_kind(found.reasons, {ReasonKind.ONLY_PATCH_SCATTERS})


@pytest.mark.parametrize("slow", [range(0, PAIRS, 2), range(11), range(21)])
def test_a_patch_slow_in_some_launches_is_the_cause(slow: Sequence[int]) -> None:
    found = name_scatter(UNDECIDED, times(0.01, 1), times(0.01, 2, slow))

    assert is_of_patch(found)
    assert found.verdict is Verdict.UNDECIDED
    assert found.reasons[0] == UNDECIDED.reasons[0]


@pytest.mark.parametrize(("pairs", "is_certain"), [(16, False), (32, True)])
def test_a_row_with_too_few_pairs_says_that_more_may_show_it(pairs: int, *, is_certain: bool) -> None:
    """Two of five launches of the patch are slow."""
    patch = times(0.01, 2, [pair for pair in range(PAIRS) if pair % 5 < 2])

    found = name_scatter(UNDECIDED, times(0.01, 1)[:pairs], patch[:pairs])

    assert (is_of_patch(found), found.may_only_patch_scatter) == (is_certain, not is_certain)


def test_the_reason_names_how_much_more_the_patch_scatters() -> None:
    found = name_scatter(UNDECIDED, [99.0, 101.0] * 8, [90.0, 110.0] * 8)

    assert list(found.reasons[-1].facts) == [pytest.approx(10, rel=0.02)]


def test_a_parent_that_does_not_scatter_at_all_is_no_error() -> None:
    found = name_scatter(UNDECIDED, [100.0] * 16, [100.0, 200.0] * 8)

    assert found.reasons[-1].facts == (math.inf,)


@pytest.mark.parametrize(
    ("base", "patch"),
    [
        (times(0.2, 1), times(0.2, 2)),
        (times(0.01, 1, range(0, PAIRS, 2)), times(0.01, 2)),  # the parent
        (times(0.01, 1), times(0.01, 2, range(4))),  # a few launches may be slow by chance
        (times(0.010, 1), times(0.015, 2)),
        ([100.0] * PAIRS, [130.0] * PAIRS),
        ([None] * PAIRS, [100.0] * PAIRS),
        ([0.0, 100.0], [100.0, -1.0]),
    ],
)
def test_another_scatter_is_not(base: Sequence[float | None], patch: Sequence[float | None]) -> None:
    assert name_scatter(UNDECIDED, base, patch).reasons == UNDECIDED.reasons


@pytest.mark.parametrize("spread", [0.010, 0.015])
def test_a_patch_that_scatters_hardly_more_needs_no_more_pairs(spread: float) -> None:
    assert name_scatter(UNDECIDED, times(0.010, 1), times(spread, 2)) == UNDECIDED


@pytest.mark.parametrize("decided", [SAME, FASTER])
def test_a_decided_row_stays_as_it_is(decided: Comparison) -> None:
    assert name_scatter(decided, times(0.01, 1), times(0.01, 2, range(0, PAIRS, 2))) == decided


@pytest.mark.simulation
@pytest.mark.parametrize("degrees", [1, 2, 5, 30])
def test_sides_that_scatter_alike_are_seldom_named_whatever_the_noise(degrees: int) -> None:
    """Of 4,000 rows with noise that has tails as heavy as those of Student's t."""
    noise = np.random.default_rng(11).standard_t(degrees, (4000, 2, PAIRS))
    named = sum(
        is_of_patch(name_scatter(UNDECIDED, list(np.exp(1e-4 * row[0])), list(np.exp(1e-4 * row[1]))))
        for row in noise
    )

    assert named <= 4000 / 231
