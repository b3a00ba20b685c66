from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from service.domain.project.policy import Policy, VoteWhen
from service.domain.verdict.inference.going_on import PairCost, Stages, going_on
from service.domain.verdict.inference.verdict import Comparison, Verdict
from tests.unit.domain.comparisons import SAME, UNMEASURED, row

if TYPE_CHECKING:
    from collections.abc import Sequence

POLICY = Policy()
NEVER = math.inf
KEY = ("suite", "BM_never")


def undecided(name: str, to_any: float, to_slower: float = NEVER) -> Comparison:
    return Comparison(row(name), Verdict.UNDECIDED, 32, more_pairs=to_any, pairs_to_slower=to_slower)


def cost(fixed: float = 0.0, **own: float) -> PairCost:
    return PairCost({"suite": fixed}, {("suite", name): value for name, value in own.items()})


def short(name: str, seconds: float) -> Policy:
    """A policy that gives one benchmark a machine time of its own."""
    return Policy(machine_time_of={name: seconds})


def within_reach(rows: Sequence[Comparison], cost: PairCost, policy: Policy) -> frozenset[tuple[str, str]]:
    """Choose in the second stage, in which the time that is left does not matter."""
    return going_on(rows, 16, Stages(16, 32), cost, 0.0, policy)


def worth_more(
    rows: Sequence[Comparison], cost: PairCost, left: float, policy: Policy
) -> frozenset[tuple[str, str]]:
    """Choose in the third stage."""
    return going_on(rows, 32, Stages(16, 32), cost, left, policy)


def names(chosen: frozenset[tuple[str, str]]) -> set[str]:
    return {name for _, name in chosen}


class TestWithinReach:
    @pytest.mark.parametrize(
        ("found", "is_kept"),
        [
            (undecided("BM_a", 50), True),
            (undecided("BM_a", 70), False),
            (undecided("BM_a", NEVER, 50), True),
            (undecided("BM_a", NEVER, 70), False),
            (undecided("BM_a", NEVER), False),
        ],
    )
    def test_a_benchmark_stays_if_the_machine_time_may_decide_it(
        self, found: Comparison, *, is_kept: bool
    ) -> None:
        assert (("suite", "BM_a") in within_reach([found], cost(BM_a=10.0), POLICY)) is is_kept

    def test_a_benchmark_without_an_estimate_stays(self) -> None:
        assert within_reach([UNMEASURED], PairCost(), POLICY) == {("suite", "BM_never")}

    def test_a_decided_benchmark_goes(self) -> None:
        assert within_reach([SAME], PairCost(), POLICY) == frozenset()

    def test_one_row_that_may_be_decided_keeps_its_benchmark(self) -> None:
        rows = [undecided("BM_a", NEVER), undecided("BM_a", 8)]

        assert within_reach(rows, cost(BM_a=1.0), POLICY) == {("suite", "BM_a")}


class TestWorthMore:
    def test_the_quickest_go_first_as_long_as_the_time_lasts(self) -> None:
        rows = [undecided(name, NEVER, pairs) for name, pairs in (("BM_a", 40), ("BM_b", 8), ("BM_c", 16))]
        each = cost(BM_a=1.0, BM_b=1.0, BM_c=1.0)

        assert names(worth_more(rows, each, 30.0, POLICY)) == {"BM_b", "BM_c"}
        assert names(worth_more(rows, each, 64.0, POLICY)) == {"BM_a", "BM_b", "BM_c"}

    def test_pairs_that_take_long_count_as_many(self) -> None:
        rows = [undecided("BM_slow", NEVER, 8), undecided("BM_quick", NEVER, 40)]
        each = cost(BM_slow=20.0, BM_quick=1.0)

        assert names(worth_more(rows, each, 100.0, POLICY)) == {"BM_quick"}

    def test_the_set_up_of_a_program_is_paid_once_for_all_that_it_measures(self) -> None:
        """40 pairs of 10 s, and of 1 s for each of the two: 8 of them measure both."""
        rows = [undecided("BM_a", NEVER, 40), undecided("BM_b", NEVER, 8)]
        each = cost(10.0, BM_a=1.0, BM_b=1.0)

        assert names(worth_more(rows, each, 447.0, POLICY)) == {"BM_b"}
        assert names(worth_more(rows, each, 448.0, POLICY)) == {"BM_a", "BM_b"}

    def test_one_that_no_number_of_pairs_decides_takes_nothing_from_the_others(self) -> None:
        rows = [undecided("BM_a", NEVER), undecided("BM_b", NEVER, 8)]

        assert names(worth_more(rows, cost(10.0, BM_a=1.0, BM_b=1.0), 600.0, POLICY)) == {"BM_b"}

    def test_a_benchmark_that_can_only_become_the_same_is_worth_no_more(self) -> None:
        assert worth_more([undecided("BM_a", 8)], PairCost(), 600.0, POLICY) == frozenset()

    def test_it_is_worth_more_if_the_policy_withholds_the_vote_for_it(self) -> None:
        policy = Policy(on_undecided=VoteWhen.NONE)

        assert worth_more([undecided("BM_a", 8)], PairCost(), 600.0, policy) == {("suite", "BM_a")}

    @pytest.mark.parametrize("found", [SAME, UNMEASURED])
    def test_a_decided_benchmark_or_one_without_an_estimate_is_worth_no_more(self, found: Comparison) -> None:
        assert worth_more([found], PairCost(), 600.0, POLICY) == frozenset()


class TestStages:
    ROWS = (undecided("BM_never", NEVER), undecided("BM_same", 8), undecided("BM_slower", NEVER, 8), SAME)
    COST = cost(BM_never=1.0, BM_same=1.0, BM_slower=1.0)

    @pytest.mark.parametrize(
        ("pairs", "expected"),
        [
            (15, {"BM_never", "BM_same", "BM_slower"}),
            (16, {"BM_same", "BM_slower"}),
            (31, {"BM_same", "BM_slower"}),
            (32, {"BM_slower"}),
        ],
    )
    def test_each_stage_has_its_rule(self, pairs: int, expected: set[str]) -> None:
        assert names(going_on(self.ROWS, pairs, Stages(16, 32), self.COST, 600.0, POLICY)) == expected


class TestOwnMachineTime:
    """A benchmark that takes ten seconds a pair."""

    def after(self, taken: float) -> PairCost:
        each = cost(BM_a=10.0, BM_b=10.0)
        return PairCost(each.fixed, each.own, dict.fromkeys(each.own, taken))

    @pytest.mark.parametrize(
        ("pairs", "taken", "is_kept"), [(12, 119.0, True), (13, 0.0, False), (1, 120.0, False)]
    )
    def test_a_benchmark_stays_if_all_of_it_may_decide_it_and_some_is_left(
        self, pairs: int, taken: float, *, is_kept: bool
    ) -> None:
        rows = [undecided(name, pairs) for name in ("BM_a", "BM_b")]
        chosen = names(within_reach(rows, self.after(taken), short("BM_a", 120.0)))

        assert chosen == {"BM_b"} | ({"BM_a"} if is_kept else set())

    @pytest.mark.parametrize(("pairs", "expected"), [(60, {"BM_a"}), (61, set())])
    def test_it_does_not_end_what_may_show_that_only_the_patch_scatters(
        self, pairs: int, expected: set[str]
    ) -> None:
        """Otherwise a patch could choose to end as undecided, which may be a +1."""
        found = undecided("BM_a", pairs)._replace(may_only_patch_scatter=True)

        assert names(within_reach([found], self.after(120.0), short("BM_a", 120.0))) == expected

    def test_a_longer_one_adds_nothing_to_the_machine_time(self) -> None:
        assert within_reach([undecided("BM_a", 61)], self.after(0.0), short("BM_a", 1200.0)) == frozenset()

    def test_a_benchmark_without_an_estimate_stays_until_it_is_used_up(self) -> None:
        policy = short("BM_never", 120.0)

        assert names(within_reach([UNMEASURED], PairCost(), policy)) == {"BM_never"}
        assert within_reach([UNMEASURED], PairCost(taken={KEY: 120.0}), policy) == frozenset()

    @pytest.mark.parametrize(("taken", "expected"), [(40.0, {"BM_a", "BM_b"}), (41.0, {"BM_b"})])
    def test_it_is_worth_more_only_within_what_is_left(self, taken: float, expected: set[str]) -> None:
        rows = [undecided("BM_a", NEVER, 8), undecided("BM_b", NEVER, 40)]

        assert names(worth_more(rows, self.after(taken), 600.0, short("BM_a", 120.0))) == expected

    def test_a_dropped_one_leaves_its_time_to_the_others(self) -> None:
        rows = [undecided("BM_a", NEVER, 8), undecided("BM_b", NEVER, 8)]

        assert names(worth_more(rows, self.after(120.0), 80.0, short("BM_a", 120.0))) == {"BM_b"}

    @pytest.mark.parametrize(("pairs", "expected"), [(15, {"BM_a"}), (16, set()), (32, set())])
    def test_it_ends_nothing_before_the_first_look_that_can_find_a_difference(
        self, pairs: int, expected: set[str]
    ) -> None:
        """With fewer pairs no slow-down could vote, and the benchmark would be measured for nothing."""
        rows = [undecided("BM_a", 8, 8)]
        chosen = going_on(rows, pairs, Stages(16, 32), self.after(160.0), 600.0, short("BM_a", 120.0))

        assert names(chosen) == expected

    def test_an_entry_gives_each_benchmark_that_it_covers_all_of_it(self) -> None:
        rows = [undecided(name, 8) for name in ("BM_a/8", "BM_a/64")]
        each = PairCost(taken={("suite", "BM_a/8"): 119.0, ("suite", "BM_a/64"): 119.0})

        assert names(within_reach(rows, each, short("BM_a", 120.0))) == {"BM_a/8", "BM_a/64"}


class TestPairCost:
    def test_a_pair_costs_what_its_suites_and_benchmarks_take(self) -> None:
        each = PairCost({"a": 3.0, "b": 1.0}, {("a", "BM_a"): 0.5, ("b", "BM_b"): 0.25})

        assert each.whole == 4.75
        assert each.alone(("a", "BM_a")) == 3.5

    def test_the_cost_of_a_benchmark_that_never_ran_is_not_known(self) -> None:
        assert PairCost({"a": 3.0}).alone(("a", "BM_a")) == 0.0
