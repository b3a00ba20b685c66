from __future__ import annotations

import math
import random

import pytest
import scipy

from service.domain.project.policy import MOST_PAIRS, Policy
from service.domain.verdict.calibration.evidence import (
    LEAST_SESSIONS,
    RECALLED,
    SESSION_PAIRS,
    History,
    Session,
    change_found,
    clopper_pearson,
    pairs_needed,
    voting_status_of,
)
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from tests.unit.domain.comparisons import reason as because

POLICY = Policy()


def sessions(
    count: int, spread: float = 0.004, verdict: Verdict = Verdict.SAME, pairs: int = SESSION_PAIRS
) -> list[Session]:
    noise = random.Random(count)  # noqa: S311 - repeatable on purpose
    return [Session(tuple(noise.gauss(0, spread) for _ in range(pairs)), verdict) for _ in range(count)]


def why_not(found: list[Session], policy: Policy = POLICY) -> Reason | None:
    return voting_status_of(History.of(found), policy).why_not


def test_three_sessions_of_the_default_size_end_the_default_probation() -> None:
    assert POLICY.probation <= SESSION_PAIRS * LEAST_SESSIONS
    status = voting_status_of(History.of(sessions(3)), POLICY)
    assert (status.may_vote, status.is_measurable) == (True, True)
    assert (status.pairs, status.sessions, status.alarms) == (60, 3, 0)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([], Reason(ReasonKind.ON_PROBATION, (0, 40, 0, 3))),
        (sessions(1), Reason(ReasonKind.ON_PROBATION, (20, 40, 1, 3))),
        (sessions(2, pairs=32), Reason(ReasonKind.ON_PROBATION, (64, 40, 2, 3))),
        (sessions(3, pairs=8), Reason(ReasonKind.ON_PROBATION, (24, 40, 3, 3))),
        (sessions(1, verdict=Verdict.SLOWER), Reason(ReasonKind.SUSPENDED, (1, 1))),
        (sessions(1) + sessions(1, verdict=Verdict.FASTER), Reason(ReasonKind.SUSPENDED, (1, 2))),
        (sessions(2, verdict=Verdict.SLOWER), Reason(ReasonKind.SUSPENDED, (2, 2))),
        (
            sessions(1, verdict=Verdict.SLOWER) + sessions(47) + sessions(2, verdict=Verdict.FASTER),
            Reason(ReasonKind.SUSPENDED, (3, 50)),
        ),
        (
            [Session((-0.14, 0.0, 0.14), Verdict.UNDECIDED)] * 20,
            because(ReasonKind.NOISY, pytest.approx(0.2076, abs=1e-4)),
        ),
    ],
)
def test_a_series_that_may_not_vote_has_a_reason(found: list[Session], reason: Reason) -> None:
    assert why_not(found) == reason


def test_a_quiet_middle_does_not_hide_wild_tails() -> None:
    tailed = [Session((0.001, -0.001, 0.002, -0.002, 0.0, 0.001, -0.001, 0.05), Verdict.SAME)] * 6
    status = voting_status_of(History.of(tailed), POLICY)
    assert status.noise is not None
    assert status.noise < 0.003
    assert status.why_not == Reason(ReasonKind.FAR_OFF, (0.125,))


def test_one_false_alarm_suspends_nothing() -> None:
    assert why_not(sessions(1, verdict=Verdict.FASTER) + sessions(9)) is None


def test_alarms_older_than_the_memory_are_counted_and_forgiven() -> None:
    found = sessions(RECALLED) + sessions(2, verdict=Verdict.SLOWER)
    status = voting_status_of(History.of(found), POLICY)
    assert status.may_vote
    assert (status.alarms, status.sessions, status.pairs) == (2, 52, 52 * SESSION_PAIRS)


def test_a_repaired_machine_recovers() -> None:
    assert why_not(sessions(RECALLED) + sessions(RECALLED, spread=0.2)) is None


def test_without_probation_everything_votes() -> None:
    alarming = [Session((0.3, -0.3), Verdict.SLOWER)] * 9
    assert [why_not(found, Policy(probation=0)) for found in (alarming, [])] == [None, None]


def test_without_pairs_nothing_is_known() -> None:
    status = voting_status_of(History(), POLICY)
    assert (status.noise, status.beyond, status.pairs_needed) == (None, None, None)
    assert (status.alarm_share, status.is_measurable) == ((0.0, 1.0), False)


@pytest.mark.parametrize(("found", "of"), [(0, 3), (1, 50), (2, 50), (7, 9), (5, 5)])
def test_the_interval_of_alarms_leaves_a_fortieth_on_each_side(found: int, of: int) -> None:
    low, high = clopper_pearson(found, of)
    if found:
        assert scipy.stats.binom.sf(found - 1, of, low) == pytest.approx(0.025)
    if found < of:
        assert scipy.stats.binom.cdf(found, of, high) == pytest.approx(0.025)
    assert (low == 0.0, high == 1.0) == (found == 0, found == of)


def test_the_change_found_is_student_s_half_width_beyond_the_floor() -> None:
    # The trimmed mean of 16 pairs leaves out 3 at each end, and 10 have 9 degrees of freedom.
    half_width = scipy.stats.t.isf(1e-4, 9) * 1.07 * 0.01 / math.sqrt(16)
    assert change_found(0.01, 16, POLICY) == pytest.approx(math.log1p(POLICY.floor) + half_width)


def test_more_noise_takes_more_pairs_and_the_loudest_more_than_any_policy_allows() -> None:
    needed = [pairs_needed(noise, POLICY) for noise in (0.0, 0.005, 0.01, 0.015, 0.3)]
    assert needed[0] == 8
    assert needed[-1] is None
    known = [n for n in needed if n is not None]
    assert known == sorted(known)
    assert known[1] < POLICY.max_pairs


@pytest.mark.parametrize("noise", [0.0, 0.002, 0.0035, 0.0049, 0.007, 0.02, 0.1, 1.0])
@pytest.mark.parametrize("change", [0.005, math.log1p(0.02), 0.2])
def test_the_pairs_needed_are_the_first_that_find_the_change(noise: float, change: float) -> None:
    """One more pair may find less, so that no search by halves alone finds them."""
    first = next((n for n in range(8, MOST_PAIRS + 1) if change_found(noise, n, POLICY) <= change), None)
    assert pairs_needed(noise, POLICY, change) == first
