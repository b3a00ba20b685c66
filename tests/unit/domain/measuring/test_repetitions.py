from __future__ import annotations

import math

import pytest

from service.domain.measuring.formats.reader import read_run
from service.domain.measuring.repetitions import (
    LONG,
    SHORT,
    Plan,
    Rehearsed,
    Repetitions,
    plan_repetitions,
    repetitions_of,
)
from service.domain.project.benchmark import Suite
from tests.unit.domain.gbench_files import row, whole

SUITE = Suite("s", "build/s")
EXPLICIT = Suite("s", "build/s", repetitions=5)


def rehearsed(seconds: float, **timed: float) -> Rehearsed:
    """A launch that timed each benchmark for some of its seconds."""
    return Rehearsed(frozenset(timed), timed, seconds)


def long_of(name: str, seconds: float) -> frozenset[str]:
    return plan_repetitions(SUITE, rehearsed(seconds + 0.02, **{name: seconds})).long


def eight(seconds: float, each: float = 0.002, **others: float) -> Rehearsed:
    return rehearsed(seconds, **{f"BM_{number}": each for number in range(8)}, **others)


def test_quick_benchmarks_are_repeated_often_and_shortly() -> None:
    assert long_of("BM_a", 2e-3) == frozenset()
    assert repetitions_of(SUITE, is_long=False) == SHORT


@pytest.mark.parametrize(("name", "seconds"), [("BM_a", 0.5), ("BM_a", 0.011), ("BM_a/threads:2", 1e-5)])
def test_long_or_contending_benchmarks_get_few_long_ones(name: str, seconds: float) -> None:
    assert long_of(name, seconds) == {name}
    assert repetitions_of(SUITE, is_long=True) == LONG


def test_a_rehearsal_tells_what_each_benchmark_was_timed_for() -> None:
    slow, failed = row("BM_a", real_time=1e6, iterations=5, time_unit="ns"), row("BM_b", error_occurred=True)
    run = read_run(whole(slow, failed), source="r")
    found = Rehearsed.of(run, ["BM_a", "BM_b"], 0.105)

    assert found.timed == {"BM_a": pytest.approx(0.005)}
    assert found.untimed == pytest.approx(0.1)


def test_a_programs_own_repetitions_are_timed_too() -> None:
    """Before, all but its last repetition counted as set-up."""
    rows = [row("BM_a/repeats:3", real_time=1e6, repetition_index=k, iterations=100) for k in range(3)]
    found = Rehearsed.of(read_run(whole(*rows), source="r"), ["BM_a/repeats:3"], 0.35)

    assert found.timed == {"BM_a/repeats:3": pytest.approx(0.3)}
    assert found.quickest == ""


class TestSetUp:
    def test_a_long_set_up_per_repetition_means_few_repetitions(self) -> None:
        together, alone = eight(4.0), rehearsed(0.55, BM_0=0.002)
        plan = plan_repetitions(SUITE, together, alone)

        assert plan.long == together.ran
        assert plan.set_up == pytest.approx(0.057, abs=0.001)
        assert plan.multiple == 1

    def test_a_lone_benchmark_that_sets_up_for_long_gets_long_ones(self) -> None:
        lone = rehearsed(9.0, BM_a=0.002)

        assert lone.quickest == ""
        assert plan_repetitions(SUITE, lone) == Plan(frozenset({"BM_a"}))

    def test_a_program_that_sets_up_for_long_gets_more_short_ones(self) -> None:
        """17 s per launch: eight benchmarks take 0.3 s of it, and five times as many repetitions 1.6 s."""
        plan = plan_repetitions(SUITE, eight(17.0), rehearsed(16.98, BM_0=0.002))

        assert (plan.long, plan.multiple) == (frozenset(), 5)
        assert plan.set_up == pytest.approx(16.976, abs=0.002)
        assert repetitions_of(SUITE, is_long=False, multiple=5).count == 100

    @pytest.mark.parametrize(("set_up", "multiple"), [(1.0, 1), (1.6, 2), (3.0, 3), (60.0, 5)])
    def test_they_add_at_most_a_quarter_of_the_set_up(self, set_up: float, multiple: int) -> None:
        plan = plan_repetitions(SUITE, eight(set_up + 0.016), rehearsed(set_up + 0.002, BM_0=0.002))

        assert plan.multiple == multiple
        assert (multiple - 1) * 8 * SHORT.count * 0.002 <= set_up / 4

    @pytest.mark.parametrize(("timeout", "multiple"), [(300.0, 4), (62.0, 2), (56.0, 1), (30.0, 1), (1.0, 1)])
    def test_they_never_take_a_launch_near_its_time_limit(self, timeout: float, multiple: int) -> None:
        """Before, a launch of 28 s became one of 34 s, which a limit of 30 s ended in every pair."""
        names = {f"BM_{number}": 0.002 for number in range(50)}
        suite = Suite("s", "build/s", timeout=timeout)
        plan = plan_repetitions(suite, rehearsed(26.1, **names), rehearsed(26.002, BM_0=0.002))

        assert plan.multiple == multiple

    def test_a_suite_that_asks_for_a_number_gets_no_more(self) -> None:
        plan = plan_repetitions(EXPLICIT, eight(17.0), rehearsed(16.98, BM_0=0.002))

        assert plan.multiple == 1

    def test_times_that_a_program_invents_change_no_more_than_its_own_plan(self) -> None:
        plan = plan_repetitions(SUITE, eight(17.0, BM_odd=math.inf), rehearsed(16.98, BM_0=0.002))

        assert plan == Plan(frozenset({"BM_odd"}))

    def test_it_is_set_up_once_if_some_benchmarks_take_long(self) -> None:
        """A launch for the short ones and one for the long one would set up twice."""
        alone = rehearsed(9.002, BM_0=0.002)

        assert plan_repetitions(SUITE, eight(9.516, BM_slow=0.5), alone).long == {
            "BM_slow",
            *(f"BM_{number}" for number in range(8)),
        }
        quick = rehearsed(0.302, BM_0=0.002)
        assert plan_repetitions(SUITE, eight(0.816, BM_slow=0.5), quick).long == {"BM_slow"}

    def test_each_group_of_benchmarks_sets_up(self) -> None:
        together = eight(9.016) | rehearsed(9.01, BM_8=0.002, BM_9=0.002)
        plan = plan_repetitions(SUITE, together, rehearsed(9.002, BM_0=0.002))

        assert plan.set_up == pytest.approx(9.0, abs=0.01)
        assert plan.long == frozenset()

    @pytest.mark.parametrize(
        ("found", "quickest"),
        [(eight(0.1), ""), (eight(1.0, BM_quick=0.001), "BM_quick"), (Rehearsed(launches=0), "")],
    )
    def test_the_quickest_is_asked_if_the_program_may_set_up_for_long(
        self, found: Rehearsed, quickest: str
    ) -> None:
        assert found.quickest == quickest

    def test_nothing_that_ran_needs_no_plan(self) -> None:
        assert plan_repetitions(SUITE, Rehearsed(seconds=3.0)) == Plan()


@pytest.mark.parametrize("is_long", [False, True])
def test_a_suites_setting_holds_for_all(is_long: bool) -> None:  # noqa: FBT001
    asked = Suite("s", "build/s", repetitions=5, min_time=0.1)

    assert repetitions_of(asked, is_long=is_long) == Repetitions(5, 0.1)
    assert repetitions_of(asked, is_long=is_long, multiple=3) == Repetitions(5, 0.1)
    assert repetitions_of(EXPLICIT, is_long=is_long) == Repetitions(5, LONG.min_time)


@pytest.mark.parametrize(("long", "seconds"), [((), 20 * 0.01 + 0.1), (("BM_a",), 3 * 0.05 + 3 * 0.1)])
def test_a_launch_that_counts_repeats_what_was_timed(long: tuple[str, ...], seconds: float) -> None:
    """Its share of the rest is paid once, or with each long repetition."""
    each = 0.05 if long else 0.01
    assert rehearsed(each + 0.202, BM_a=each, BM_b=0.002).seconds_of(SUITE, "BM_a", long) == pytest.approx(
        seconds
    )
