from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.metric import metric_named
from service.domain.verdict.comparison.work_rate import (
    canonical_metrics,
    derive_from,
    value_per_unit,
    work_change,
)
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict
from tests.unit.domain.comparisons import reason

POSITIVE = st.floats(1e-12, 1e12)


def launch(time: float, items: float, size: float | None = None) -> dict[str, float]:
    """The values of a launch; an iteration takes ``time`` for its items and bytes."""
    found = {"cpu_time": time, "items_per_second": items / time}
    return found if size is None else found | {"bytes_per_second": size / time}


class TestQuestions:
    def test_rates_share_the_verdict_of_the_clock_that_divides_them(self) -> None:
        metrics = ("items_per_second", "real_time", "cpu_time", "bytes_per_second", "hits")

        assert canonical_metrics("BM_a", metrics) == {
            "items_per_second": "cpu_time",
            "real_time": "real_time",
            "cpu_time": "cpu_time",
            "bytes_per_second": "cpu_time",
            "hits": "hits",
        }
        assert canonical_metrics("BM_a/real_time", metrics)["items_per_second"] == "real_time"

    def test_without_the_clock_items_answer_for_bytes(self) -> None:
        metrics = ("bytes_per_second", "items_per_second", "real_time")

        assert canonical_metrics("BM_a", metrics)["bytes_per_second"] == "items_per_second"


class TestWork:
    def test_a_slower_iteration_of_the_same_work_is_no_change_of_work(self) -> None:
        assert work_change("BM_a", [(launch(1.0, 8), launch(1.3, 8))] * 3) is None

    def test_twice_the_items_in_twice_the_time_cost_the_same_each(self) -> None:
        base, patch = launch(1.0, 8), launch(2.0, 16)
        found = work_change("BM_a", [(base, patch)] * 3)

        assert found is not None
        assert found.factor == pytest.approx(2.0)
        assert found.reason == reason(ReasonKind.WORK_CHANGED, "items_per_second", pytest.approx(2.0))
        assert value_per_unit(found.rate, "BM_a", "cpu_time", base) == pytest.approx(1 / 8)
        assert value_per_unit(found.rate, "BM_a", "cpu_time", patch) == pytest.approx(1 / 8)
        assert value_per_unit(found.rate, "BM_a", "real_time", patch | {"real_time": 4.0}) == pytest.approx(
            1 / 4
        )
        assert value_per_unit(found.rate, "BM_a", "items_per_second", patch) == 8.0

    def test_items_tell_the_work_where_there_are_any(self) -> None:
        assert work_change("BM_a", [(launch(1.0, 8, 64), launch(1.0, 8, 32))]) is None

    def test_bytes_tell_it_where_there_are_no_items(self) -> None:
        base, patch = ({"cpu_time": 1.0, "bytes_per_second": size} for size in (64.0, 32.0))
        found = work_change("BM_a", [(base, patch)])

        assert found is not None
        assert found.reason == reason(ReasonKind.WORK_CHANGED, "bytes_per_second", pytest.approx(0.5))

    def test_a_launch_without_the_rate_has_no_time_per_item(self) -> None:
        found = work_change("BM_a", [(launch(1.0, 8), launch(2.0, 16))])

        assert found is not None
        assert value_per_unit(found.rate, "BM_a", "cpu_time", {"cpu_time": 1.0}) is None

    @given(POSITIVE, POSITIVE, POSITIVE)
    def test_rounding_is_no_work(self, items: float, before: float, after: float) -> None:
        assert work_change("BM_a", [(launch(before, items), launch(after, items))]) is None


def test_a_rate_follows_its_time_with_the_reciprocal_ratio() -> None:
    time, rate = (ComparedRow("s", "BM_a", metric_named(name)) for name in ("cpu_time", "items_per_second"))
    canonical = Comparison(time, Verdict.SLOWER, 12, 1.25, (1.2, 1.5), 1.0, 1.25)
    found = derive_from(canonical, rate, [(8.0, 6.4)] * 12)

    assert (found.row, found.verdict, found.pairs) == (rate, Verdict.SLOWER, 12)
    assert found.ratio == pytest.approx(0.8)
    assert found.interval == pytest.approx((1 / 1.5, 1 / 1.2))
    assert (found.base, found.patch) == (8.0, 6.4)
    assert found.worsening == pytest.approx(0.2)
