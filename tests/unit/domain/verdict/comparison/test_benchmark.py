"""Rows of a benchmark's metrics, over whole launches as they are read from files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from service.domain.measuring.formats.reader import read_run
from service.domain.measuring.launch import read_launch
from service.domain.measuring.listing import Listing
from service.domain.project.benchmark import Suite
from service.domain.project.policy import Policy
from service.domain.values.identity import Side
from service.domain.verdict.comparison.suite import compare_suites, family_size, looks_of
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from tests.unit.domain.comparisons import reason
from tests.unit.domain.gbench_files import row, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.measuring.launch import Launch

POLICY = Policy()
PLAIN = Suite("s", "build/s")
BOTH = Listing("s", ("BM_a",), ("BM_a",))


def asking(*metrics: str, higher: Sequence[str] = ()) -> Suite:
    return Suite("s", "build/s", metrics=metrics, higher_is_better=tuple(higher))


def launches(
    suite: Suite,
    base: Callable[[float], dict[str, Any]],
    patch: Callable[[float], dict[str, Any]],
    pairs: int = 32,
) -> list[Launch]:
    """Pairs of one benchmark; a side's row is made from a time with a little noise."""
    rng = np.random.default_rng(5)
    return [
        read_launch(pair, side, suite, read_run(whole(row(**make(noise))), source="x"))
        for pair in range(pairs)
        for side, make in ((Side.BASE, base), (Side.PATCH, patch))
        for noise in [float(np.exp(rng.normal(0, 0.002)))]
    ]


def compared(suite: Suite, found: Sequence[Launch]) -> dict[str, Comparison]:
    return {each.row.metric.name: each for each in compare_suites([suite], [BOTH], found, POLICY)}


def busy(level: float, items: float = 0) -> Callable[[float], dict[str, Any]]:
    def make(noise: float) -> dict[str, Any]:
        cpu = 100.0 * level * noise
        rates = {"items_per_second": items * 1e9 / cpu} if items else {}
        return {"real_time": cpu * 1.01, "cpu_time": cpu, **rates}

    return make


def waiting(real: float) -> Callable[[float], dict[str, Any]]:
    return lambda noise: {"real_time": 100.0 * real * noise, "cpu_time": 100.0 * noise}


class TestRealTime:
    def test_a_benchmark_that_computes_has_one_row(self) -> None:
        assert set(compared(PLAIN, launches(PLAIN, busy(1.0), busy(1.1)))) == {"cpu_time"}

    def test_sleeping_that_cpu_time_misses_is_found_in_a_row_of_its_own(self) -> None:
        found = compared(PLAIN, launches(PLAIN, waiting(3.0), waiting(3.3)))

        assert found["cpu_time"].verdict is Verdict.SAME
        assert found["real_time"].verdict is Verdict.SLOWER
        longer = reason(ReasonKind.REAL_TIME_LONGER, pytest.approx(3.3), 0)
        assert found["real_time"].reasons[-1] == longer

    def test_a_suite_that_names_its_metrics_gets_those(self) -> None:
        suite = asking("cpu_time")

        assert set(compared(suite, launches(suite, waiting(3.0), waiting(3.3)))) == {"cpu_time"}

    @pytest.mark.parametrize("later", [waiting(1.0), waiting(9.0)])
    def test_joining_is_decided_at_the_first_look_alone(
        self, later: Callable[[float], dict[str, Any]]
    ) -> None:
        first = launches(PLAIN, waiting(3.0), waiting(3.0), 3)
        more = [each for each in launches(PLAIN, later, later, 12) if each.pair >= 3]

        assert "real_time" in compared(PLAIN, [*first, *more])
        assert "real_time" not in compared(PLAIN, first[:4])

    def test_the_row_that_may_join_is_counted_before_the_first_launch(self) -> None:
        listing = Listing("s", ("a", "b/real_time"), ("a", "b/real_time"))

        assert family_size([PLAIN], [listing]) == 1.25 + 1
        assert family_size([PLAIN], [listing], joins=False) == 1 + 1
        assert family_size([asking("cpu_time")], [listing]) == 1 + 1


class TestRates:
    def test_time_and_rates_are_one_hypothesis_with_one_verdict(self) -> None:
        suite = asking("items_per_second", "cpu_time")
        found = compared(suite, launches(suite, busy(1.0, 8), busy(1.1, 8)))
        time, rate = found["cpu_time"], found["items_per_second"]

        assert family_size([suite], [BOTH]) == 1
        assert list(found) == ["items_per_second", "cpu_time"]
        assert (rate.verdict, rate.pairs) == (time.verdict, time.pairs) == (Verdict.SLOWER, time.pairs)
        assert rate.ratio == pytest.approx(1 / (time.ratio or 0))
        assert rate.reasons == ()

    @pytest.mark.parametrize("suite", [PLAIN, asking("cpu_time", "items_per_second")])
    def test_a_patch_that_does_more_per_iteration_is_not_slower(self, suite: Suite) -> None:
        found = compared(suite, launches(suite, busy(1.0, 8), busy(2.5, 20)))

        assert {each.verdict for each in found.values()} == {Verdict.SAME}
        changed = reason(ReasonKind.WORK_CHANGED, "items_per_second", pytest.approx(2.5))
        assert found["cpu_time"].reasons == (changed,)

    def test_dearer_items_make_a_patch_slower_though_its_iterations_are_quicker(self) -> None:
        found = compared(PLAIN, launches(PLAIN, busy(1.0, 8), busy(0.6, 4)))["cpu_time"]

        assert found.verdict is Verdict.SLOWER
        assert found.ratio == pytest.approx(1.2, abs=0.01)

    def test_a_rate_alone_decides_itself(self) -> None:
        suite = asking("items_per_second")
        found = compared(suite, launches(suite, busy(1.0, 8), busy(2.0, 8)))["items_per_second"]

        assert (found.verdict, found.reasons) == (Verdict.SLOWER, ())

    def test_a_suite_that_names_only_the_time_gets_the_time(self) -> None:
        suite = asking("cpu_time")
        found = compared(suite, launches(suite, busy(1.0, 8), busy(2.0, 16)))["cpu_time"]

        assert found.verdict is Verdict.SLOWER


class TestCounters:
    def test_counters_that_repeat_are_decided_after_two_pairs(self) -> None:
        suite = asking("hits")
        same = lambda _: {"hits": 64.0}  # noqa: E731
        found = compared(suite, launches(suite, same, same, 2))["hits"]

        assert (found.verdict, found.pairs) == (Verdict.SAME, 2)
        assert looks_of([suite], [BOTH], POLICY, POLICY.max_pairs)[0] == 2

    def test_a_time_is_never_taken_for_exact(self) -> None:
        suite = asking("cpu_time")
        same = lambda _: {"cpu_time": 100.0}  # noqa: E731

        assert compared(suite, launches(suite, same, same, 2))["cpu_time"].verdict is Verdict.UNDECIDED
        assert 2 not in looks_of([suite], [BOTH], POLICY, POLICY.max_pairs)

    def test_counters_with_unequal_repetitions_go_through_the_pairs(self) -> None:
        suite = asking("hits")
        output = whole(*(row(repetition_index=k, hits=value) for k, value in enumerate((64.0, 65.0))))
        found = [read_launch(n, side, suite, read_run(output, source="x")) for n in range(2) for side in Side]

        assert compared(suite, found)["hits"].verdict is Verdict.UNDECIDED

    def test_a_counter_that_grew_is_worse(self) -> None:
        suite = asking("hits")
        found = compared(suite, launches(suite, lambda _: {"hits": 64.0}, lambda _: {"hits": 96.0}))["hits"]

        assert (found.verdict, found.ratio, found.interval) == (Verdict.SLOWER, 1.5, (1.5, 1.5))

    def test_a_verdict_is_final(self) -> None:
        suite = asking("hits", "cpu_time", "items_per_second")
        everything = launches(
            suite,
            lambda noise: busy(1.0, 8)(noise) | {"hits": 64.0},
            lambda noise: busy(1.04, 9)(noise) | {"hits": 96.0},
        )
        late = compared(suite, everything)
        for pairs in range(1, 33):
            for metric, early in compared(suite, everything[: 2 * pairs]).items():
                assert early == late[metric] or not early.verdict.is_decided


class TestUnusableRows:
    def test_a_time_of_zero_in_every_launch_of_the_patch_is_broken(self) -> None:
        found = compared(PLAIN, launches(PLAIN, busy(1.0), lambda _: {"cpu_time": 0.0}))["cpu_time"]

        assert found.verdict is Verdict.BROKEN
        assert found.reasons == (Reason(ReasonKind.UNUSABLE, ("patch", "its cpu_time is not above 0")),)
