from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.launch import Launch
from service.domain.measuring.metric import metric_named
from service.domain.project.policy import Layout, Policy
from service.domain.values.identity import Side
from service.domain.verdict.comparison.link_layout import (
    LOOKS,
    PAIRS,
    VARIANTS,
    confirm,
    left_open,
    pairs_for,
    pairs_short,
    suspects,
)
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict, compare_pairs
from tests.unit.domain.comparisons import reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

POLICY = Policy()
ROW = ComparedRow("bench", "BM_a", metric_named("cpu_time"))
SLOWER = Comparison(ROW, Verdict.SLOWER, pairs=12, ratio=1.03, interval=(1.02, 1.04), base=1.0, patch=1.03)
RATE = SLOWER._replace(row=ROW._replace(metric=metric_named("items_per_second")), ratio=1 / 1.03)
SPREAD = 0.002
NOT_CHECKED = (Reason(ReasonKind.LAYOUT_NOT_CHECKED),)
POSSIBLE = Reason(ReasonKind.LAYOUT_POSSIBLE)


def relinked(
    *ratios: float, row: ComparedRow = ROW, spread: float = SPREAD, seed: int = 1
) -> Iterator[Launch]:
    """The pairs of each variant, patch ÷ base scattered around its ratio."""
    noise = random.Random(seed)  # noqa: S311 - repeatable on purpose
    for variant, ratio in zip(VARIANTS, ratios, strict=False):
        for index in range(PAIRS):
            for side, value in ((Side.BASE, 1.0), (Side.PATCH, ratio * (1 + noise.gauss(0, spread)))):
                values = {row.benchmark: {row.metric.name: value}}
                yield Launch(index, side, row.suite, values, {}, variant=variant)


def pair(variant: int, index: int, ratio: float, *, is_disturbed: bool = False) -> list[Launch]:
    return [
        Launch(
            index,
            side,
            "bench",
            {"BM_a": {"cpu_time": value}},
            {},
            is_disturbed=is_disturbed,
            variant=variant,
        )
        for side, value in ((Side.BASE, 1.0), (Side.PATCH, ratio))
    ]


def faster(ratio: float) -> Comparison:
    interval = (ratio - 0.004, ratio + 0.004)
    return SLOWER._replace(verdict=Verdict.FASTER, ratio=ratio, interval=interval, patch=ratio)


def judged(*ratios: float, found: Comparison = SLOWER, spread: float = SPREAD) -> Comparison:
    return confirm([found], relinked(*ratios, row=found.row, spread=spread), POLICY)[0]


class TestSuspects:
    @pytest.mark.parametrize(
        "found",
        [
            SLOWER._replace(verdict=Verdict.UNDECIDED),
            SLOWER._replace(verdict=Verdict.FASTER, ratio=0.99, interval=(0.985, 0.995)),
            SLOWER._replace(ratio=2.1, interval=(2.0, 2.2)),
            RATE._replace(ratio=1 / 2.1, interval=(1 / 2.2, 1 / 2.0)),
            SLOWER._replace(ratio=1.019),
            SLOWER._replace(row=ROW._replace(metric=metric_named("max_bytes_used"))),
        ],
        ids=[
            "undecided",
            "a little faster",
            "as large as no layout",
            "a rate",
            "too small to vote",
            "memory",
        ],
    )
    def test_rows_that_layout_cannot_explain_or_that_do_not_vote_are_none(self, found: Comparison) -> None:
        assert suspects([found], POLICY) == ()

    @pytest.mark.parametrize(
        "found",
        [
            SLOWER,
            RATE,
            SLOWER._replace(verdict=Verdict.FASTER, ratio=0.97, interval=(0.96, 0.98)),
            SLOWER._replace(ratio=1.02),
            SLOWER._replace(ratio=1.258, interval=(1.08, 1.575)),
            SLOWER._replace(ratio=2.4, interval=(1.99, 3.0)),
            RATE._replace(ratio=1 / 2.4, interval=(1 / 3.0, 1 / 1.99)),
            SLOWER._replace(ratio=1.9, interval=(0.9, 4.0)),
            SLOWER._replace(ratio=1.9, interval=None),
        ],
    )
    def test_a_change_that_may_be_small_is_one(self, found: Comparison) -> None:
        assert suspects([found], POLICY) == (found,)

    @pytest.mark.parametrize(
        ("added", "expected"),
        [
            (0.03, ()),
            (0.016, ()),
            (0.014, (SLOWER,)),
            (0.0, (SLOWER,)),
            (-0.03, (SLOWER,)),
            (None, (SLOWER,)),
        ],
    )
    def test_instructions_that_make_half_of_it_need_no_relink(
        self, added: float | None, expected: Sequence[Comparison]
    ) -> None:
        assert suspects([SLOWER], POLICY, lambda _: added) == expected

    def test_instructions_of_an_iteration_tell_nothing_of_the_time_per_item(self) -> None:
        found = SLOWER._replace(per="items_per_second")
        assert suspects([found], POLICY, lambda _: 0.5) == (found,)

    def test_one_below_the_size_that_votes_for_its_benchmark_is_none(self) -> None:
        assert suspects([SLOWER], replace(POLICY, vote_at_of={SLOWER.row.benchmark: 0.4})) == ()

    def test_a_project_may_turn_it_off(self) -> None:
        assert suspects([SLOWER], replace(POLICY, layout=Layout.OFF)) == ()


class TestConfirm:
    def test_slower_in_seven_relinks_stays_slower(self) -> None:
        ratios = (1.031, 1.02, 1.041, 1.05, 1.03, 1.02, 1.03)
        found = judged(*ratios, spread=0.0)

        assert found.verdict is Verdict.SLOWER
        assert found.reasons == (reason(ReasonKind.LAYOUT_CONFIRMED, *map(pytest.approx, ratios)),)

    @pytest.mark.parametrize(
        "exceptions",
        [(0.8,), (1.005,), (1.009, 0.8), (1.002, 0.98), (1.008, 1.004, 1.002)],
        ids=["any one", "one a little", "the smallest and any", "two small ones", "the three smallest"],
    )
    @pytest.mark.parametrize("where", [0, 3, 6])
    def test_all_but_one_of_twelve_or_a_few_small_ones_suffice(
        self, exceptions: Sequence[float], where: int
    ) -> None:
        ratios = [1.05] * (12 - len(exceptions))
        ratios[where:where] = exceptions
        found = judged(*ratios)

        assert found.verdict is Verdict.SLOWER
        assert len(found.reasons[0].facts) == 12

    @pytest.mark.parametrize(
        ("ratios", "relinks"),
        [
            ((1.0,) * 12, 4),
            ((1.005,) * 12, 4),
            ((1.05, 0.8, 0.8) + (1.05,) * 9, 5),
            ((1.05, 1.0, 1.05, 0.8, 1.05, 1.05, 0.8), 7),
            ((0.8,) + (1.05,) * 10 + (0.7,), 12),
        ],
    )
    def test_a_change_that_twelve_can_no_longer_confirm_is_taken_back(
        self, ratios: Sequence[float], relinks: int
    ) -> None:
        found = judged(*ratios)
        (refuted,) = found.reasons

        assert found.verdict is Verdict.UNDECIDED
        assert refuted.kind is ReasonKind.LAYOUT_REFUTED
        assert len(refuted.facts) == 1 + relinks

    def test_a_change_left_open_by_seven_takes_twelve(self) -> None:
        assert judged(1.05, 0.8, *[1.05] * 5).reasons == NOT_CHECKED
        assert judged(1.05, 0.8, *[1.05] * 9).reasons == NOT_CHECKED
        assert judged(1.05, 0.8, *[1.05] * 10).verdict is Verdict.SLOWER

    @pytest.mark.parametrize("variant", [1, 4])
    def test_relinks_of_perhaps_other_code_excuse_nothing(self, variant: int) -> None:
        launches = list(relinked(1.02, 0.9, 0.95, 0.93, spread=0.0))
        by_build = [replace(each, is_built_again=each.variant == variant) for each in launches]
        of_base = [replace(each, is_built_again=each.side is Side.BASE) for each in launches]
        kinds = [confirm([SLOWER], each, POLICY)[0].reasons[0].kind for each in (by_build, of_base)]

        assert kinds == [ReasonKind.LAYOUT_BUILT_AGAIN, ReasonKind.LAYOUT_REFUTED]

    def test_relinks_of_perhaps_other_code_confirm_and_refute_gains(self) -> None:
        slow, fast = (
            [replace(each, is_built_again=True) for each in relinked(*[ratio] * 7)] for ratio in (1.05, 1.0)
        )

        assert confirm([SLOWER], slow, POLICY)[0].verdict is Verdict.SLOWER
        (refuted,) = confirm([faster(0.97)], fast, POLICY)[0].reasons
        assert refuted.kind is ReasonKind.LAYOUT_REFUTED_GAIN

    def test_the_reason_names_the_ratios(self) -> None:
        (refuted,) = judged(1.02, 0.9, 0.95, 0.93, spread=0.0).reasons

        assert refuted == reason(ReasonKind.LAYOUT_REFUTED, 1, *map(pytest.approx, (1.02, 0.9, 0.95, 0.93)))

    @pytest.mark.parametrize(
        ("ratio", "added", "reasons"),
        [
            (0.97, None, (POSSIBLE,)),
            (0.97, 0.0, (POSSIBLE,)),
            (0.985, None, (POSSIBLE,)),
            (0.97, -0.02, ()),
            (0.4, None, ()),
        ],
    )
    def test_an_unchecked_gain_stays_and_names_layout_as_a_possible_cause(
        self, ratio: float, added: float | None, reasons: tuple[Reason, ...]
    ) -> None:
        found = faster(ratio)

        assert confirm([found], [], POLICY, lambda _: added) == (found._replace(reasons=reasons),)
        assert confirm([found], [], replace(POLICY, layout=Layout.OFF)) == (found,)

    def test_a_slow_down_too_small_to_vote_names_layout_as_a_possible_cause(self) -> None:
        found = SLOWER._replace(ratio=1.015, interval=(1.011, 1.019))

        assert confirm([found], [], POLICY) == (found._replace(reasons=(POSSIBLE,)),)

    @pytest.mark.parametrize(
        ("ratios", "verdict", "kind"),
        [
            ((0.95,) * 7, Verdict.FASTER, ReasonKind.LAYOUT_CONFIRMED),
            ((0.95, 1.2) + (0.95,) * 10, Verdict.FASTER, ReasonKind.LAYOUT_CONFIRMED),
            ((1.05,) * 7, Verdict.UNDECIDED, ReasonKind.LAYOUT_REFUTED_GAIN),
            ((1.0,) * 7, Verdict.UNDECIDED, ReasonKind.LAYOUT_REFUTED_GAIN),
        ],
    )
    def test_a_gain_is_confirmed_downwards(
        self, ratios: Sequence[float], verdict: Verdict, kind: ReasonKind
    ) -> None:
        found = judged(*ratios, found=faster(0.95))

        assert found.verdict is verdict
        assert [each.kind for each in found.reasons] == [kind]

    def test_a_refuted_gain_says_how_many_relinks_are_faster(self) -> None:
        (refuted,) = judged(0.98, 1.1, 1.05, 1.07, found=faster(0.95), spread=0.0).reasons

        assert refuted.facts == pytest.approx((1, 0.98, 1.1, 1.05, 1.07))

    @pytest.mark.parametrize(("seconds", "verdict"), [(2.0, Verdict.UNDECIDED), (2.06, Verdict.SLOWER)])
    def test_relinks_are_judged_per_item_where_the_programs_as_built_were(
        self, seconds: float, verdict: Verdict
    ) -> None:
        """The patch's iteration does twice the items."""
        launches = [
            Launch(index, side, "bench", {"BM_a": values}, {}, variant=variant)
            for variant in VARIANTS
            for index in range(PAIRS)
            for side, values in (
                (Side.BASE, {"cpu_time": 1.0, "items_per_second": 8.0}),
                (Side.PATCH, {"cpu_time": seconds, "items_per_second": 16 / seconds}),
            )
        ]
        found = SLOWER._replace(per="items_per_second")

        assert confirm([found], launches, POLICY)[0].verdict is verdict

    def test_the_measurement_of_the_programs_as_built_stays_beside_it(self) -> None:
        found = judged(*[1.0] * 7)

        assert found._replace(verdict=SLOWER.verdict, reasons=()) == SLOWER

    @pytest.mark.parametrize(
        ("ratio", "verdict"),
        [(1 / 1.03, Verdict.SLOWER), (1.0, Verdict.UNDECIDED), (1.03, Verdict.UNDECIDED)],
    )
    def test_a_rate_is_slower_downwards(self, ratio: float, verdict: Verdict) -> None:
        assert judged(*[ratio] * 7, found=RATE).verdict is verdict

    def test_a_row_without_a_pair_of_some_relink_never_votes(self) -> None:
        launches = [each for each in relinked(*[1.05] * 7) if (each.variant, each.pair) != (3, 4)]
        found = confirm([SLOWER], launches, POLICY)[0]

        assert (found.verdict, found.reasons) == (Verdict.UNDECIDED, NOT_CHECKED)

    def test_a_benchmark_short_of_pairs_is_not_launched_on_later_relinks(self) -> None:
        """Otherwise a benchmark with results that depend on its speed would choose the relinks that count."""
        launches = [each for each in relinked(*[1.0] * 7) if each.variant != 1]

        assert confirm([SLOWER], launches, POLICY)[0].reasons == NOT_CHECKED
        assert pairs_short([SLOWER], {2: [each for each in launches if each.variant == 2]}, 3, POLICY) == {}
        assert left_open([SLOWER], {}, POLICY) == ("BM_a",)

    def test_a_benchmark_with_many_pairs_takes_a_quarter_of_them_per_relink(self) -> None:
        assert [pairs_for(SLOWER._replace(pairs=n)) for n in (12, 20, 32, 97)] == [8, 8, 8, 25]

    def test_a_change_without_relinks_never_votes(self) -> None:
        assert confirm([SLOWER], [], POLICY)[0].verdict is Verdict.UNDECIDED

    def test_without_confirmation_the_programs_are_believed_as_they_are_linked(self) -> None:
        assert confirm([SLOWER], [], replace(POLICY, layout=Layout.OFF)) == (SLOWER,)

    def test_a_disturbed_pair_is_left_out_where_it_was_measured_again(self) -> None:
        """A pair in which other work met the patch makes no slow-down, nor hides one."""
        first = [each for each in relinked(*[1.03] * 7) if (each.variant, each.pair) not in {(2, 0), (2, 1)}]
        disturbed = [*pair(2, 0, 0.5, is_disturbed=True), *pair(2, 1, 0.5, is_disturbed=True)]
        again = [*pair(2, PAIRS, 1.03), *pair(2, PAIRS + 1, 1.03)]

        assert confirm([SLOWER], [*disturbed, *first], POLICY)[0].reasons == NOT_CHECKED
        found = confirm([SLOWER], [*disturbed, *first, *again], POLICY)[0]
        assert found.verdict is Verdict.SLOWER
        assert found.reasons[0].facts[1] == pytest.approx(1.03, abs=0.005)

    def test_no_more_than_a_quarter_of_the_pairs_is_left_out(self) -> None:
        launches = [replace(each, is_disturbed=True) for each in relinked(*[1.03] * 7)]
        more = [
            each for v in VARIANTS for k in (PAIRS, PAIRS + 1) for each in pair(v, k, 1.03, is_disturbed=True)
        ]

        assert pairs_short([SLOWER], {1: [each for each in launches if each.variant == 1]}, 1, POLICY) != {}
        assert confirm([SLOWER], [*launches, *more], POLICY)[0].verdict is Verdict.SLOWER

    def test_pairs_beyond_the_number_change_nothing(self) -> None:
        more = [
            Launch(PAIRS + k, side, "bench", {"BM_a": {"cpu_time": value}}, {}, variant=1)
            for k in range(PAIRS)
            for side, value in ((Side.BASE, 2.0), (Side.PATCH, 1.0))
        ]

        assert confirm([SLOWER], [*more, *relinked(*[1.03] * 7)], POLICY)[0].verdict is Verdict.SLOWER

    @pytest.mark.parametrize("verdict", [each for each in Verdict if each is not Verdict.SLOWER])
    def test_it_never_raises_an_alarm(self, verdict: Verdict) -> None:
        found = SLOWER._replace(verdict=verdict)

        assert judged(*[1.05] * 7, found=found).verdict is not Verdict.SLOWER

    def test_a_true_slow_down_is_seldom_lost(self) -> None:
        """3 % on pairs that spread by 1.5 %, as much as is called measurable."""
        kept = sum(
            confirm([SLOWER], relinked(*[1.03] * 12, spread=0.015, seed=seed), POLICY)[0].verdict
            is Verdict.SLOWER
            for seed in range(300)
        )

        assert kept >= 294

    @pytest.mark.simulation
    def test_layout_alone_passes_at_most_one_time_in_64(self) -> None:
        """Each link of each side costs something of its own, far more than the noise of pairs."""
        links = random.Random(7)  # noqa: S311 - repeatable on purpose
        passed = sum(
            judged(*(1.01 * math.exp(links.gauss(0, 0.05)) for _ in VARIANTS)).verdict is Verdict.SLOWER
            for _ in range(2000)
        )

        assert 10 < passed < 50  # 27 are expected; 50 in 1 of 10,000 such simulations

    def test_pairs_like_those_of_a_bitmap_library_wait_for_relinks(self) -> None:
        """A wide interval and a large estimate of a function that only moved in machine code."""
        noise = random.Random(21)  # noqa: S311 - repeatable on purpose
        logs = [math.log(1.26) + 0.24 * noise.gauss(0, 1) for _ in range(32)]
        found = compare_pairs(ROW, [1.0] * 32, list(map(math.exp, logs)), POLICY, 20)

        assert found.verdict is Verdict.SLOWER
        assert found.worsening > 0.25
        assert found.nearest < math.log(1.15)
        assert suspects([found], POLICY) == (found,)
        assert confirm([found], [], POLICY)[0].reasons == NOT_CHECKED


class TestPairsShort:
    def test_benchmarks_short_of_pairs_are_named_by_suite(self) -> None:
        first = [each for each in relinked(*[1.05] * 7) if each.variant == 1]
        other = SLOWER._replace(row=ROW._replace(benchmark="BM_b"))

        assert pairs_short([SLOWER, other], {1: first}, 1, POLICY) == {"bench": ("BM_b",)}
        assert pairs_short([SLOWER, other], {1: first[1:]}, 1, POLICY) == {"bench": ("BM_a", "BM_b")}

    def test_decided_benchmarks_are_launched_no_more(self) -> None:
        by_variant = {v: [each for each in relinked(*[1.05] * 7) if each.variant == v] for v in VARIANTS}

        assert all(pairs_short([SLOWER], by_variant, each, POLICY) == {} for each in VARIANTS)
        assert left_open([SLOWER], by_variant, POLICY) == ()
        assert sum(LOOKS.values()) == 1 / 64
