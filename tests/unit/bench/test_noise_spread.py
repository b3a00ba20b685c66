"""Compare the spread of pairs with that of other pairs."""

from __future__ import annotations

import numpy as np
import pytest

from bench.noise.spread import ratio_of, spread


def test_the_spread_of_normal_logs_is_their_standard_deviation() -> None:
    logs = np.random.default_rng(1).normal(0.0, 0.03, 20_000)

    assert spread(logs) == pytest.approx(0.03, rel=0.03)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_the_interval_holds_the_ratio_of_the_spreads(factor: float) -> None:
    rng = np.random.default_rng(2)
    usual = rng.normal(0.0, 0.01, (6, 80))
    found = ratio_of(rng.normal(0.0, 0.01 * factor, (6, 80)), usual, rng)

    assert found.low < factor < found.high
    assert found.value == pytest.approx(factor, rel=0.25)
    assert ("**" in found.text) is (factor != 1.0)
