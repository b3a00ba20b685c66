from __future__ import annotations

import pytest

from service.domain.measuring.launch import real_per_cpu
from service.domain.measuring.metric import may_join
from service.domain.verdict.comparison.benchmark import why_real_time_joins
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from tests.unit.domain.comparisons import reason

OLD: dict[str, str] = {}
NEW: dict[str, str] = {"library_version": "v1.9.4"}


class TestQuotient:
    @pytest.mark.parametrize(
        ("name", "threads", "real", "cpu", "context"),
        [
            ("BM_a", 1, 3.0, 3.0, OLD),
            ("BM_a/threads:4", 4, 1.0, 4.0, OLD),
            ("BM_a/threads:4", 4, 4.0, 4.0, NEW),
            ("BM_a/process_time/threads:4", 4, 1.0, 4.0, OLD),
            ("BM_a/process_time/threads:4", 4, 4.0, 16.0, NEW),
        ],
    )
    def test_threads_that_compute_all_the_time_have_one_in_every_version(
        self, name: str, threads: int, real: float, cpu: float, context: dict[str, str]
    ) -> None:
        assert real_per_cpu(name, threads, real, cpu, context) == 1.0

    def test_the_recorded_two_threads_of_version_1_7_are_busy(self) -> None:
        found = real_per_cpu("BM_spin/real_time/threads:2", 2, 0.0271304649, 0.0541945369, OLD)

        assert found == pytest.approx(1.0, abs=0.01)


class TestJoining:
    @pytest.mark.parametrize(
        ("name", "may"),
        [
            ("BM_a", True),
            ("BM_a/process_time", True),
            ("BM_a/real_time", False),
            ("BM_a/process_time/real_time", False),
            ("BM_a/manual_time", False),
        ],
    )
    def test_real_time_may_join_only_cpu_time(self, name: str, may: bool) -> None:  # noqa: FBT001
        assert may_join(name) is may

    def test_a_benchmark_that_computes_is_judged_by_cpu_time_alone(self) -> None:
        assert why_real_time_joins("BM_a", [1.0, 1.19, 1.0], [1.02, 1.0, 1.0]) is None
        assert why_real_time_joins("BM_a", [], []) is None

    @pytest.mark.parametrize(("base", "patch"), [(1.21, 1.21), (1.0, 3.0), (3.0, 1.0)])
    def test_waiting_on_either_side_joins(self, base: float, patch: float) -> None:
        expected = Reason(ReasonKind.REAL_TIME_LONGER, (max(base, patch), 0))
        assert why_real_time_joins("BM_a", [base] * 3, [patch] * 3) == expected

    def test_one_wild_launch_joins_nothing(self) -> None:
        assert why_real_time_joins("BM_a", [1.0, 9.0, 1.0], [1.0, 1.0, 1.0]) is None

    def test_a_quotient_that_moved_joins_though_it_is_small(self) -> None:
        found = why_real_time_joins("BM_a", [1.0] * 3, [1.06] * 3)

        assert found == reason(ReasonKind.REAL_TIME_MOVED, pytest.approx(1.06), 0)
        assert why_real_time_joins("BM_a", [1.0] * 3, [1.049] * 3) is None

    def test_a_process_clock_that_sees_more_threads_joins_and_says_what_it_cannot_see(self) -> None:
        found = why_real_time_joins("BM_a/process_time", [0.25] * 3, [0.5] * 3)

        assert found == Reason(ReasonKind.REAL_TIME_MOVED, (2.0, 1))
