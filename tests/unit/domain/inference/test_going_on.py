from __future__ import annotations

import math

import pytest

from service.domain.inference.going_on import within_reach, worth_more
from service.domain.inference.policy import Policy, VoteWhen
from service.domain.inference.verdict import Comparison, Verdict
from tests.unit.domain.comparisons import SAME, UNMEASURED, row

POLICY = Policy()
NEVER = math.inf


def undecided(name: str, to_any: float, to_slower: float = NEVER) -> Comparison:
    return Comparison(row(name), Verdict.UNDECIDED, 32, more_pairs=to_any, pairs_to_slower=to_slower)


def seconds(**each: float) -> dict[tuple[str, str], float]:
    return {("suite", name): value for name, value in each.items()}


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
        assert (("suite", "BM_a") in within_reach([found], seconds(BM_a=10.0), 600.0)) is is_kept

    def test_what_has_no_estimate_stays(self) -> None:
        assert within_reach([UNMEASURED], {}, 600.0) == {("suite", "BM_never")}

    def test_what_is_decided_goes(self) -> None:
        assert within_reach([SAME], {}, 600.0) == frozenset()

    def test_one_row_that_may_be_decided_keeps_its_benchmark(self) -> None:
        rows = [undecided("BM_a", NEVER), undecided("BM_a", 8)]

        assert within_reach(rows, seconds(BM_a=1.0), 600.0) == {("suite", "BM_a")}


class TestWorthMore:
    def test_the_quickest_go_first_as_long_as_the_time_lasts(self) -> None:
        rows = [undecided(name, NEVER, pairs) for name, pairs in (("BM_a", 40), ("BM_b", 8), ("BM_c", 16))]
        each = seconds(BM_a=1.0, BM_b=1.0, BM_c=1.0)

        assert worth_more(rows, each, 30.0, POLICY) == {("suite", "BM_b"), ("suite", "BM_c")}
        assert worth_more(rows, each, 64.0, POLICY) == set(each)

    def test_pairs_that_take_long_count_as_many(self) -> None:
        rows = [undecided("BM_slow", NEVER, 8), undecided("BM_quick", NEVER, 40)]
        each = seconds(BM_slow=20.0, BM_quick=1.0)

        assert worth_more(rows, each, 100.0, POLICY) == {("suite", "BM_quick")}

    def test_what_can_only_become_the_same_is_worth_no_more(self) -> None:
        assert worth_more([undecided("BM_a", 8)], {}, 600.0, POLICY) == frozenset()

    def test_it_is_worth_more_if_the_policy_withholds_the_vote_for_it(self) -> None:
        policy = Policy(on_undecided=VoteWhen.NONE)

        assert worth_more([undecided("BM_a", 8)], {}, 600.0, policy) == {("suite", "BM_a")}

    @pytest.mark.parametrize("found", [SAME, UNMEASURED])
    def test_what_is_decided_or_has_no_estimate_is_worth_no_more(self, found: Comparison) -> None:
        assert worth_more([found], {}, 600.0, POLICY) == frozenset()
