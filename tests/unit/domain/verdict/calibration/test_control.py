"""Decide by the build's control and the machine's history whether a slower row may vote −1."""

from __future__ import annotations

import math
import random

import pytest
import scipy

from service.domain.measuring.launch import Launch
from service.domain.project.policy import MOST_PAIRS, Policy
from service.domain.values.identity import Side
from service.domain.verdict.calibration.control import (
    ERROR,
    FAR,
    FAR_SHARE,
    LEAST_PAIRS,
    REACH,
    UNCERTAIN,
    Control,
    control_pairs,
    missing_in_control,
    pairs_wanted,
    why_withheld,
    withheld_rows,
)
from service.domain.verdict.calibration.evidence import (
    SESSION_PAIRS,
    History,
    Session,
    VotingStatus,
    voting_status_of,
)
from service.domain.verdict.inference.estimate import estimate_of
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from tests.unit.domain.comparisons import row
from tests.unit.domain.verdict.calibration.test_evidence import sessions

POLICY = Policy()
NEW, ALARMED, NOISY, PROVEN = (
    voting_status_of(History.of(found), POLICY)
    for found in (
        [],
        [Session((0.05,) * SESSION_PAIRS, Verdict.SLOWER)] * 2 + sessions(20),
        sessions(9, spread=0.05),
        sessions(9),
    )
)
CONFIRMED = (Reason(ReasonKind.LAYOUT_CONFIRMED, (1.05,) * 7),)


def control(centre: float = 0.0, pairs: int = 20, *, kept: bool = False, spread: float = 0.004) -> Control:
    noise = random.Random(pairs)  # noqa: S311 - repeatable on purpose
    logs = [noise.gauss(0, spread) for _ in range(pairs)]
    middle = sum(logs) / pairs
    verdict = Verdict.SLOWER if centre > 0.02 else Verdict.FASTER if centre < -0.02 else Verdict.SAME
    return Control(Session(tuple(log - middle + centre for log in logs), verdict), kept)


def slower(low: float, high: float, metric: str = "cpu_time", pairs: int = 20) -> Comparison:
    ratio = math.sqrt(low * high)
    return Comparison(row("BM_a", metric), Verdict.SLOWER, pairs, ratio, (low, high))


FIVE = slower(1.045, 1.055)
MODES = (-0.05,) * 11 + (0.05,) * 9  # their MAD sees one mode only


class TestControl:
    @pytest.mark.parametrize("status", [NEW, NOISY, PROVEN])
    def test_a_clean_one_lets_a_slow_down_vote_whatever_the_history_lacks(self, status: VotingStatus) -> None:
        assert why_withheld(status, FIVE, control()) is None

    def test_one_that_leaves_open_what_the_machine_does_stands_in_for_no_history(self) -> None:
        loud = Control(Session(MODES, Verdict.UNDECIDED))

        assert not loud.explains(FIVE)
        assert why_withheld(NEW, FIVE, loud) == Reason(ReasonKind.OPEN_CONTROL, loud.facts)
        assert why_withheld(PROVEN, FIVE, loud) is None

    def test_one_that_is_too_wide_gets_at_most_twice_its_pairs_whatever_its_centre(self) -> None:
        for shift in (0.0, 0.04):
            loud = Control(Session(tuple(log + shift for log in MODES), Verdict.UNDECIDED))
            assert control_pairs(FIVE, loud) == 20
            assert pairs_wanted(FIVE, loud) == 40

    def test_one_that_is_narrow_enough_gets_no_more(self) -> None:
        assert pairs_wanted(FIVE, control()) == control_pairs(FIVE, control()) == 20

    def test_one_whose_interval_ends_where_that_of_the_slow_down_does_excludes_nothing(self) -> None:
        modes = Control(Session((-0.05, 0.05) * 14, Verdict.UNDECIDED))
        end = estimate_of(modes.session.logs).interval(UNCERTAIN)[1]

        assert not modes.excludes(slower(math.exp(end), 1.1))
        assert modes.excludes(slower(math.exp(end + 0.001), 1.1))

    @pytest.mark.parametrize(("centre", "excludes"), [(0.0, True), (-0.046, False)])
    def test_of_a_rate_the_lower_end_counts(self, centre: float, *, excludes: bool) -> None:
        rate = slower(1 / 1.055, 1 / 1.045, "items_per_second")

        assert control(centre).excludes(rate) is excludes

    def test_repeated_alarms_outweigh_a_clean_one(self) -> None:
        assert why_withheld(ALARMED, FIVE, control()) == ALARMED.why_not
        assert why_withheld(ALARMED, slower(1.3, 1.4), control()) is None

    @pytest.mark.parametrize("status", [NEW, NOISY, PROVEN, ALARMED])
    def test_one_that_shows_half_of_the_slow_down_withholds_it_whatever_the_history(
        self, status: VotingStatus
    ) -> None:
        found = why_withheld(status, FIVE, control(0.023))

        assert found is not None
        assert found.kind is ReasonKind.OWN_DIFFERENCE
        assert found.facts[0] == pytest.approx(math.exp(0.023), abs=0.002)
        assert found.facts[3] == 20

    def test_one_that_shows_less_than_half_leaves_it_to_the_patch(self) -> None:
        assert why_withheld(NEW, FIVE, control(0.018)) is None

    def test_a_rate_is_explained_if_it_falls(self) -> None:
        rate = slower(1 / 1.055, 1 / 1.045, "items_per_second")

        assert control(-0.023).explains(rate)
        assert not control(0.023).explains(rate)

    def test_one_with_a_false_alarm_stands_in_for_no_history(self) -> None:
        faster = control(-0.03)
        found = why_withheld(NEW, FIVE, faster)

        assert found is not None
        assert found.kind is ReasonKind.OWN_DIFFERENCE
        assert why_withheld(PROVEN, FIVE, faster) is None
        assert why_withheld(NEW, slower(1.24, 1.3), faster) is not None
        assert why_withheld(NEW, slower(1.26, 1.3), faster) is None

    def test_far_beyond_is_three_times_what_it_shows_whatever_its_verdict(self) -> None:
        loud = Control(Session((0.45, -0.15, 0.35, -0.05, 0.15, 0.25, 0.05, 0.2), Verdict.UNDECIDED))

        assert why_withheld(NEW, slower(1.27, 1.4), loud) == NEW.why_not
        assert why_withheld(NEW, slower(1.7, 1.8), loud) is None

    def test_it_takes_three_quarters_of_the_pairs_and_eight(self) -> None:
        assert why_withheld(NEW, FIVE, control(pairs=14)) == NEW.why_not
        assert why_withheld(NEW, FIVE, control(pairs=15)) is None
        few = slower(1.045, 1.055, pairs=6)
        assert why_withheld(NEW, few, control(pairs=LEAST_PAIRS - 1)) == NEW.why_not
        assert why_withheld(NEW, few, control(pairs=LEAST_PAIRS)) is None

    def test_if_one_is_not_clean_none_stands_in_for_a_history(self) -> None:
        """Else each benchmark of a machine that favours a side would have its chance."""
        other = FIVE._replace(row=row("BM_b"))
        controls = {FIVE.row: control(), other.row: control(0.03)}
        found = withheld_rows({FIVE: NEW, other: NEW}, controls)

        assert {row.benchmark: each.kind for row, each in found.items()} == {
            "BM_a": ReasonKind.OTHER_CONTROL,
            "BM_b": ReasonKind.OWN_DIFFERENCE,
        }
        assert withheld_rows({FIVE: PROVEN, other: PROVEN}, controls).keys() == {other.row}
        assert withheld_rows({FIVE: NEW, other: NEW}, dict.fromkeys(controls, control())) == {}

    @pytest.mark.parametrize(
        ("against", "rows", "are_condemned"), [(3, 2, True), (4, 2, False), (3, 9, False)]
    )
    def test_one_of_many_may_look_unclean_by_chance(
        self, against: int, rows: int, *, are_condemned: bool
    ) -> None:
        """3 of 20 pairs against it have p = 1/548, 4 have 1/116: alone, each explains its own row."""
        logs = (*(0.03 + 0.0001 * k for k in range(20 - against)), *[-0.04] * against)
        slow = [FIVE._replace(row=row(f"BM_{k}")) for k in range(rows)]
        controls = {each.row: control() for each in slow}
        controls[slow[0].row] = Control(Session(logs, Verdict.SAME))
        found = withheld_rows(dict.fromkeys(slow, NEW), controls)

        assert found[slow[0].row].kind is ReasonKind.OWN_DIFFERENCE
        assert len(found) == (rows if are_condemned else 1)

    def test_loud_pairs_get_enough_to_find_the_near_end_of_the_interval(self) -> None:
        near = math.log(1.045)

        assert control_pairs(FIVE._replace(spread=near / 2)) == 20
        assert control_pairs(FIVE._replace(spread=2 * near)) == math.ceil((2 * REACH) ** 2)
        assert control_pairs(FIVE._replace(spread=100.0)) == MOST_PAIRS
        loud = control(spread=0.1)
        assert control_pairs(FIVE, loud) > 20
        assert why_withheld(NEW, FIVE, loud) == NEW.why_not  # it would hide such a difference

    def test_a_program_kept_in_place_must_be_confirmed_on_relinks_too(self) -> None:
        assert why_withheld(NEW, FIVE, control(kept=True)) == NEW.why_not
        assert why_withheld(NEW, FIVE._replace(reasons=CONFIRMED), control(kept=True)) is None
        assert why_withheld(PROVEN, FIVE, control(kept=True)) is None

    def test_each_slow_down_gets_as_many_pairs_as_found_it(self) -> None:
        """Others may have become slower since the control was measured."""
        early, late = FIVE, slower(1.02, 1.03)._replace(row=row("BM_b"), pairs=12)
        launches = [
            Launch(pair, side, "suite", {"BM_a": {"cpu_time": 1.0}}, {})
            for pair in range(19)
            for side in Side
        ]

        pairs = {each: control_pairs(each) for each in (early, late)}
        assert missing_in_control(pairs, launches) == {early: 1, late: 12}
        done = [Launch(19, Side.BASE, "suite", {}, {"BM_a": "not this time"})]
        assert missing_in_control(pairs, [*launches, *done]) == {late: 12}


@pytest.mark.simulation
class TestError:
    """Each trial has its own noise."""

    TRIALS = 400

    @pytest.mark.parametrize("shape", ["normal", "opposed modes"])
    def test_chance_explains_a_slow_down_as_seldom_as_promised(self, shape: str) -> None:
        """Of a row that is barely slower, so that only the test of ranks stands against it."""
        noise = random.Random(shape)  # noqa: S311 - repeatable on purpose
        draw = {"normal": lambda: noise.gauss(0, 0.05), "opposed modes": lambda: noise.choice((-0.05, 0.05))}
        barely = slower(1.0001, 1.5)
        found = sum(
            Control(Session(tuple(draw[shape]() for _ in range(20)), Verdict.SAME)).explains(barely)
            for _ in range(self.TRIALS)
        )

        assert found <= scipy.stats.binom.ppf(0.9999, self.TRIALS, ERROR)

    @pytest.mark.parametrize("spread", [0.03, 0.05])
    def test_a_difference_as_large_as_the_near_end_is_found_in_19_of_20(self, spread: float) -> None:
        """The least that a constant difference of the sides is, if it alone made a row slower."""
        noise = random.Random(f"near {spread}")  # noqa: S311 - repeatable on purpose
        found = slower(1.03, 1.1, pairs=14)._replace(spread=spread)
        pairs, trials = control_pairs(found), 600
        missed = sum(
            not Control(
                Session(tuple(noise.gauss(found.nearest, spread) for _ in range(pairs)), Verdict.SAME)
            ).explains(found)
            for _ in range(trials)
        )

        assert missed <= scipy.stats.binom.ppf(0.999, trials, 0.05)


class TestHistory:
    """A slower row of a series that may not vote yet, in a build without a control."""

    @pytest.mark.parametrize(
        ("low", "high", "may_vote"),
        [(1.45, 1.55, True), (1.25, 1.9, True), (1.249, 1.9, False), (1.02, 3.0, False)],
    )
    def test_a_slow_down_of_certainly_25_percent_needs_no_history(
        self, low: float, high: float, *, may_vote: bool
    ) -> None:
        status = voting_status_of(History(), POLICY)
        reason = why_withheld(status, slower(low, high))

        assert reason == (None if may_vote else status.why_not)

    def test_a_rate_that_falls_counts_by_its_nearest_end_too(self) -> None:
        status = voting_status_of(History(), POLICY)

        assert why_withheld(status, slower(1 / 1.9, 1 / 1.26)) is None
        assert why_withheld(status, slower(1 / 1.9, 1 / 1.24)) == status.why_not

    def test_a_machine_that_showed_differences_of_its_own_needs_three_times_as_much(self) -> None:
        odd = [Session((0.1,) * SESSION_PAIRS, Verdict.SLOWER)] * 2
        status = voting_status_of(History.of(odd), POLICY)

        assert status.largest == pytest.approx(0.1)
        assert why_withheld(status, slower(math.exp(0.29), 2.0)) == Reason(ReasonKind.SUSPENDED, (2, 2))
        assert why_withheld(status, slower(math.exp(0.31), 2.0)) is None

    def test_noise_alone_withholds_nothing_that_is_far_beyond_the_sessions(self) -> None:
        status = voting_status_of(History.of(sessions(9, spread=0.05)), POLICY)
        far = math.exp(FAR_SHARE * status.largest)

        assert status.why_not is not None
        assert status.why_not.kind is ReasonKind.NOISY
        assert far < math.exp(FAR)
        assert why_withheld(status, slower(1.001 * far, 2.0)) is None
        assert why_withheld(status, slower(0.999 * far, 2.0)) == status.why_not

    def test_a_row_without_an_interval_waits_on_a_noisy_machine_too(self) -> None:
        status = voting_status_of(History.of(sessions(9, spread=0.05)), POLICY)

        assert why_withheld(status, Comparison(row("BM_a"), Verdict.SLOWER, 12, 9.0)) == status.why_not

    def test_a_row_without_an_interval_waits(self) -> None:
        status = voting_status_of(History(), POLICY)
        found = Comparison(row("BM_a"), Verdict.SLOWER, 12, 9.0)

        assert why_withheld(status, found) == status.why_not

    def test_a_series_that_may_vote_votes_whatever_the_size(self) -> None:
        status = voting_status_of(History.of(sessions(3)), POLICY)

        assert why_withheld(status, slower(1.02, 1.03)) is None
