from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.formats.reader import read_run
from service.domain.measuring.launch import Launch, Preempted, read_launch
from service.domain.measuring.listing import Listing
from service.domain.project.benchmark import Suite
from service.domain.project.policy import Policy
from service.domain.values.identity import Side
from service.domain.verdict.comparison.suite import compare_suites, family_size, undecided_benchmarks
from service.domain.verdict.inference.reasons import OF_PATCH, Reason, ReasonKind, has_kind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from tests.unit.domain.gbench_files import REPEATED, row, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SUITE = Suite("s", "build/s")
POLICY = Policy()


def launches(
    base: Mapping[str, float | None],
    patch: Mapping[str, float | None],
    pairs: int = 12,
    errors: Mapping[Side, Mapping[str, str]] | None = None,
) -> list[Launch]:
    """The same values in every pair; None: not reported."""
    return [
        Launch(
            pair,
            side,
            "s",
            {name: {"cpu_time": value} for name, value in values.items() if value is not None},
            (errors or {}).get(side, {}),
        )
        for pair in range(pairs)
        for side, values in ((Side.BASE, base), (Side.PATCH, patch))
    ]


BOTH = Listing("s", ("a",), ("a",))


def failing(found: Sequence[Launch], side: Side, pairs: set[int]) -> list[Launch]:
    """The same launches; these report an error."""
    return [
        replace(each, values={}, errors={"a": "no space"})
        if each.side is side and each.pair in pairs
        else each
        for each in found
    ]


def compared(found: Sequence[Launch], listing: Listing) -> dict[str, Comparison]:
    return {each.row.benchmark: each for each in compare_suites([SUITE], [listing], found, POLICY)}


class TestReadingALaunch:
    def test_a_launch_gives_its_best_repetition(self) -> None:
        output = whole(*(row("BM_a", repetition_index=k, cpu_time=t) for k, t in enumerate((3.0, 1.0, 2.0))))
        found = read_launch(4, Side.PATCH, SUITE, read_run(output, source="x"))

        assert (found.pair, found.side, found.suite) == (4, Side.PATCH, "s")
        assert found.values["BM_a"]["cpu_time"] == pytest.approx(1e-9)

    def test_the_best_rate_is_the_highest(self) -> None:
        rows = [row("BM_a", repetition_index=k, items_per_second=v) for k, v in enumerate((1e6, 3e6, 2e6))]
        suite = Suite("s", "build/s", metrics=("items_per_second", "cpu_time"))

        found = read_launch(0, Side.BASE, suite, read_run(whole(*rows), source="x"))

        assert found.values["BM_a"]["items_per_second"] == 3e6

    def test_both_times_are_read_whatever_the_clock(self) -> None:
        found = read_launch(0, Side.BASE, SUITE, read_run(whole(row("a"), row("b/real_time")), source="x"))

        times = {"cpu_time": pytest.approx(100e-9), "real_time": pytest.approx(120e-9)}
        assert found.values == {"a": times, "b/real_time": times}
        assert found.real_per_cpu == {"a": pytest.approx(1.2)}

    @pytest.mark.parametrize(
        ("preempted", "expected"),
        [
            (None, 3.0),
            (Preempted(3, others=0.5), 3.0),
            (Preempted(2, others=0.5), 1.5),
            (Preempted(2, others=0.9), 1.0),
            (Preempted(0, others=0.0), 3.0),
        ],
    )
    def test_the_time_of_others_is_left_out_of_a_launch_with_fewer_waits_than_repetitions(
        self, preempted: Preempted | None, expected: float
    ) -> None:
        rows = [row("a", repetition_index=k, real_time=300.0, cpu_time=100.0) for k in range(3)]

        found = read_launch(0, Side.BASE, SUITE, read_run(whole(*rows), source="x"), preempted=preempted)

        assert found.real_per_cpu == {"a": pytest.approx(expected)}

    def test_differences_between_repetitions_are_known(self) -> None:
        rows = [row("a", repetition_index=k, cpu_time=value, hits=3) for k, value in enumerate((1.0, 2.0))]
        suite = Suite("s", "build/s", metrics=("hits",))

        found = read_launch(0, Side.BASE, suite, read_run(whole(*rows), source="x"))

        assert found.varying == {("a", "cpu_time")}

    def test_failures_are_kept_with_their_words(self) -> None:
        found = read_launch(0, Side.BASE, SUITE, read_run(REPEATED, source="x"))

        assert found.errors["BM_error"] == "no such file second line"
        assert "BM_error" not in found.values
        assert "cpu_time" in found.values["BM_push/64"]

    def test_a_metric_that_a_benchmark_lacks_is_absent(self) -> None:
        suite = Suite("s", "build/s", metrics=("items_per_second",))

        found = read_launch(0, Side.BASE, suite, read_run(whole(row()), source="x"))

        assert "items_per_second" not in found.values["BM_a"]


class TestFamily:
    def test_every_metric_of_what_both_sides_list_counts(self) -> None:
        suites = [SUITE, Suite("t", "build/t", metrics=("real_time", "cpu_time", "c"))]
        listings = [Listing("s", ("a", "b"), ("b", "c")), Listing("t", ("x", "y"), ("y", "x", "z"))]

        assert family_size(suites, listings) == pytest.approx(1.25 + 2 * (2 + 1.05))

    def test_common_benchmarks_keep_the_patchs_order(self) -> None:
        assert Listing("s", ("a", "b", "c"), ("c", "x", "a")).common == ("c", "a")

    def test_a_suite_names_the_metrics_or_each_benchmark_does(self) -> None:
        names = ("BM_a/real_time",)
        listing = Listing("s", names, names)
        for suite, metric in ((SUITE, "real_time"), (Suite("s", "p", metrics=("m",)), "m")):
            rows = compare_suites([suite], [listing], [], POLICY)
            assert [row.row.metric.name for row in rows] == [metric]


class TestComparing:
    def test_a_benchmark_on_one_side_only_is_new_or_removed(self) -> None:
        found = compared([], Listing("s", ("a", "b"), ("b", "c")))

        assert {name: each.verdict for name, each in found.items()} == {
            "b": Verdict.UNDECIDED,
            "c": Verdict.NEW,
            "a": Verdict.REMOVED,
        }

    def test_a_benchmark_that_fails_in_the_patch_is_broken_with_its_words(self) -> None:
        listing = Listing("s", ("a",), ("a",))
        found = compared(launches({"a": 1.0}, {}, errors={Side.PATCH: {"a": "no space"}}), listing)["a"]

        assert (found.verdict, found.reasons) == (
            Verdict.BROKEN,
            (Reason(ReasonKind.FAILS, ("no space",)),),
        )

    def test_intermittent_failures_of_the_patch_alone_leave_it_undecided_at_its_own_fault(self) -> None:
        row = compared(failing(launches({"a": 1.0}, {"a": 1.0}, 16), Side.PATCH, {3, 7}), BOTH)["a"]

        assert row.verdict is Verdict.UNDECIDED
        assert row.reasons[0] == Reason(ReasonKind.ONLY_PATCH_FAILS, (2, 16, "no space"))
        assert has_kind(row.reasons, OF_PATCH)

    def test_intermittent_failures_of_the_parent_leave_the_other_pairs_to_judge(self) -> None:
        found = failing(launches({"a": 1.0}, {"a": 1.0}, 16), Side.BASE, {3, 7})

        assert compared(found, BOTH)["a"].verdict is Verdict.SAME

    def test_intermittent_failures_on_both_sides_are_blamed_on_nobody(self) -> None:
        found = failing(launches({"a": 1.0}, {"a": 1.0}, 16), Side.BASE, {3})
        row = compared(failing(found, Side.PATCH, {4, 7}), BOTH)["a"]

        assert row.verdict is Verdict.UNDECIDED
        assert row.reasons[0] == Reason(ReasonKind.FAILS_SOMETIMES, ("patch", 2, 16, "no space"))
        assert not has_kind(row.reasons, OF_PATCH)

    def test_a_slow_down_of_the_launches_that_did_measure_stands(self) -> None:
        found = failing(launches({"a": 1.0}, {"a": 2.0}, 16), Side.PATCH, {0})

        assert compared(found, BOTH)["a"].verdict is Verdict.SLOWER

    @pytest.mark.parametrize(("failed", "verdict"), [(12, Verdict.UNDECIDED), (13, Verdict.BROKEN)])
    def test_thirteen_pairs_that_only_the_patch_fails_are_no_chance(
        self, failed: int, verdict: Verdict
    ) -> None:
        found = failing(launches({"a": 1.0}, {"a": 1.0}, 16), Side.PATCH, set(range(failed)))

        assert compared(found, BOTH)["a"].verdict is verdict

    def test_a_parent_that_failed_once_excuses_no_patch_that_always_fails(self) -> None:
        found = failing(launches({"a": 1.0}, {"a": 1.0}, 16), Side.BASE, {0})

        assert compared(failing(found, Side.PATCH, set(range(16))), BOTH)["a"].verdict is Verdict.BROKEN

    def test_a_verdict_of_the_pairs_before_the_first_failure_is_final(self) -> None:
        found = failing(launches({"a": 1.0}, {"a": 1.0}, 16), Side.PATCH, {5, 6})

        assert compared(found, BOTH)["a"].verdict is Verdict.SAME

    def test_eight_parent_launches_with_a_metric_do_not_prove_that_the_patch_lost_it(self) -> None:
        found = [
            replace(each, values={"a": {"cpu_time": 1.0} if each.pair % 2 == 0 else {}})
            if each.side is Side.BASE
            else replace(each, values={"a": {}})
            for each in launches({"a": 1.0}, {"a": 1.0}, 16)
        ]

        row = compared(found, Listing("s", ("a",), ("a",)))["a"]
        assert row.verdict is Verdict.UNDECIDED
        assert row.reasons == (Reason(ReasonKind.ONLY_PATCH_FAILS, (8, 16)),)

    def test_a_benchmark_that_fails_in_the_parent_alone_is_new(self) -> None:
        found = compared(launches({}, {"a": 1.0}, errors={Side.BASE: {"a": "no file"}}), BOTH)["a"]

        reason = Reason(ReasonKind.FAILS_IN_BASE, ("no file",))
        assert (found.verdict, found.reasons) == (Verdict.NEW, (reason,))

    @pytest.mark.parametrize(("pairs", "verdict"), [(4, Verdict.UNDECIDED), (5, Verdict.FAILING)])
    def test_a_benchmark_that_fails_on_both_sides_is_neither_new_nor_broken(
        self, pairs: int, verdict: Verdict
    ) -> None:
        errors = {Side.PATCH: {"a": "no space"}, Side.BASE: {"a": "no file"}}
        found = compared(launches({}, {}, pairs, errors=errors), BOTH)["a"]

        assert found.verdict is verdict
        if verdict is Verdict.FAILING:
            assert found.reasons == (Reason(ReasonKind.FAILS_ON_BOTH, ("no space",)),)

    def test_a_metric_that_neither_side_ever_reports_is_failing(self) -> None:
        found = compared(launches({"b": 1.0}, {"b": 1.0}, 5), Listing("s", ("a", "b"), ("a", "b")))["a"]

        assert (found.verdict, found.reasons) == (
            Verdict.FAILING,
            (Reason(ReasonKind.FAILS_ON_BOTH),),
        )

    def test_a_metric_that_the_patch_lost_is_broken_and_not_merely_undecided(self) -> None:
        found = compared(launches({"a": 1.0}, {"a": None}, 5), Listing("s", ("a",), ("a",)))["a"]

        reason = Reason(ReasonKind.NOT_IN_PATCH, ("CPU time",))
        assert (found.verdict, found.reasons) == (Verdict.BROKEN, (reason,))

    def test_a_metric_that_only_the_patch_reports_is_new(self) -> None:
        found = compared(launches({"a": None}, {"a": 1.0}, 5), Listing("s", ("a",), ("a",)))["a"]

        reason = Reason(ReasonKind.NOT_IN_BASE, ("CPU time",))
        assert (found.verdict, found.reasons) == (Verdict.NEW, (reason,))

    @pytest.mark.parametrize(
        ("base", "patch", "reason"),
        [
            ({"a": 1.0}, {"a": None}, Reason(ReasonKind.ONLY_PATCH_FAILS, (4, 4))),
            ({"a": None}, {"a": 1.0}, Reason(ReasonKind.NOT_IN_BASE, ("CPU time",))),
        ],
    )
    def test_four_launches_may_miss_a_metric_by_chance(
        self, base: dict[str, float | None], patch: dict[str, float | None], reason: Reason
    ) -> None:
        row = compared(launches(base, patch, 4), Listing("s", ("a",), ("a",)))["a"]

        assert (row.verdict, row.reasons) == (Verdict.UNDECIDED, (reason,))

    @pytest.mark.parametrize(
        ("pairs", "side", "verdict"),
        [
            (4, Side.PATCH, Verdict.UNDECIDED),
            (5, Side.PATCH, Verdict.BROKEN),
            (4, Side.BASE, Verdict.UNDECIDED),
            (5, Side.BASE, Verdict.NEW),
        ],
    )
    def test_four_launches_may_all_fail_by_chance(self, pairs: int, side: Side, verdict: Verdict) -> None:
        """Jobs with counters look after two pairs: what fails in half of its launches must not end there."""
        failing = launches({"a": 1.0}, {"a": 1.0}, pairs)
        found = [
            replace(each, values={}, errors={"a": "no space"}) if each.side is side else each
            for each in failing
        ]

        assert compared(found, Listing("s", ("a",), ("a",)))["a"].verdict is verdict

    def test_rows_come_in_the_patchs_order_with_removed_ones_last(self) -> None:
        rows = compare_suites([SUITE], [Listing("s", ("z", "a", "b"), ("b", "n", "a"))], [], POLICY)

        assert [each.row.benchmark for each in rows] == ["b", "n", "a", "z"]

    def test_an_early_decided_benchmark_keeps_its_verdict_beside_longer_ones(self) -> None:
        early = launches({"a": 1.0, "b": 1.0}, {"a": 1.5, "b": 1.0})
        late = [
            Launch(each.pair + 12, each.side, "s", {"b": each.values["b"]}, {})
            for each in early
            for _ in (0,)
        ]
        listing = Listing("s", ("a", "b"), ("a", "b"))

        assert compared([*early, *late], listing)["a"] == compared(early, listing)["a"]

    def test_a_name_listed_twice_gets_one_comparison(self) -> None:
        rows = compare_suites([SUITE], [Listing("s", ("a", "a"), ("a", "a"))], [], POLICY)

        assert len(rows) == 1


def test_only_undecided_benchmarks_of_the_suite_are_measured_on() -> None:
    listing = Listing("s", ("a", "b", "gone"), ("a", "b", "new"))
    rows = compare_suites([SUITE], [listing], launches({"a": 1.0, "b": 1.0}, {"a": 1.5, "b": 1.0}, 2), POLICY)

    assert undecided_benchmarks(rows, "s") == ("a", "b")
    assert undecided_benchmarks(rows, "t") == ()
    rows = compare_suites([SUITE], [listing], launches({"a": 1.0, "b": 1.0}, {"a": 1.5, "b": 1.0}, 8), POLICY)
    assert undecided_benchmarks(rows, "s") == ("a",)
