"""Decide from A/A sessions how noisy a series is on a machine, and whether its verdicts may vote."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import MOST_PAIRS
from service.domain.values.identity import Side
from service.domain.verdict.inference.estimate import MIN_PAIRS, TRIM, estimate_of, spread_of
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from service.domain.measuring.launch import Launch
    from service.domain.project.policy import Policy
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison

    Values = Mapping[int, Mapping[str, Mapping[str, float]]]  # by pair, benchmark and metric

SESSION_PAIRS: Final = 20  # per calibration: enough to call one of a hundred benchmarks slower
LEAST_SESSIONS: Final = 3  # pairs measured within one hour share its neighbours and its heat
RECALLED: Final = 50  # noise and alarms are judged by the newest sessions, so a repaired machine recovers
MOST_ALARMS: Final = (
    1  # in RECALLED sessions; at 1 % per patch set even one is rare. Before LEAST_SESSIONS none
)
NOISE_LIMIT: Final = 0.015  # a larger spread leaves a change of 3 % undecided within 32 pairs
BEYOND: Final = math.log(1.03)  # the smallest change that must be found
BEYOND_LIMIT: Final = 0.10  # share of pairs beyond it; trimming drops up to 20 % on each side
TRIMMED_MEAN: Final = 1.07  # standard error of a 20 % trimmed mean over that of the mean, normal data
_ERROR: Final = 1e-4  # per look, for one of about ten benchmarks, at the default policy
_FEW: Final = 8  # pairs; with fewer there is nothing to trim
_ALARMS: Final = frozenset({Verdict.SLOWER, Verdict.FASTER})


@dataclass(frozen=True, slots=True)
class Session:
    """One comparison of a program with itself: the log ratios of its pairs, and the verdict on them."""

    logs: tuple[float, ...]
    verdict: Verdict

    @property
    def is_alarm(self) -> bool:
        """Return whether the verdict is a false alarm: both sides are the same program."""
        return self.verdict in _ALARMS

    @property
    def size(self) -> float:
        """Absolute value of the estimated log ratio; 0 with too few pairs for an estimate."""
        return abs(estimate_of(self.logs).centre) if len(self.logs) >= MIN_PAIRS else 0.0


@dataclass(frozen=True, slots=True)
class History:
    """A/A sessions of a series on a machine.

    ``newest`` has at most ``RECALLED`` sessions, newest first; ``sessions``, ``pairs`` and ``alarms`` count
    all that were ever measured.
    """

    newest: tuple[Session, ...] = ()
    sessions: int = 0
    pairs: int = 0
    alarms: int = 0

    @staticmethod
    def of(sessions: Sequence[Session]) -> History:
        """Make a history of all its sessions, newest first."""
        pairs = sum(len(each.logs) for each in sessions)
        alarms = sum(each.is_alarm for each in sessions)
        return History(tuple(sessions[:RECALLED]), len(sessions), pairs, alarms)


@dataclass(frozen=True, slots=True)
class VotingStatus:
    """Decide by a history whether a series may vote.

    ``noise`` is the spread of the pairs' log ratios, 1.4826 · MAD; ``beyond`` is the share of pairs that are
    off by more than 3 %; both are None without pairs. ``pairs_needed`` estimates the pairs that a change of
    3 % takes, None if no policy allows that many. ``alarm_share`` is the Clopper-Pearson 95 % interval of the
    false-alarm rate. ``why_not`` is None if the series may vote. ``largest`` is the largest absolute log
    ratio that a recalled session estimates, 0 without sessions.
    """

    sessions: int
    pairs: int
    alarms: int
    alarm_share: tuple[float, float]
    noise: float | None
    beyond: float | None
    pairs_needed: int | None
    why_not: Reason | None
    largest: float = 0.0

    @property
    def is_measurable(self) -> bool:
        """Return whether the pairs' spread and tails are within the limits."""
        return _unmeasurable(self.noise, self.beyond) is None

    @property
    def may_vote(self) -> bool:
        """Return whether every ``slower`` of this series may vote −1."""
        return self.why_not is None


def voting_status_of(history: History, policy: Policy) -> VotingStatus:
    """Judge a history by a policy; a ``probation`` of 0 lets every series vote."""
    logs = [log for session in history.newest for log in session.logs]
    noise = spread_of(logs) if logs else None
    beyond = sum(abs(log) > BEYOND for log in logs) / len(logs) if logs else None
    return VotingStatus(
        sessions=history.sessions,
        pairs=history.pairs,
        alarms=history.alarms,
        alarm_share=clopper_pearson(history.alarms, history.sessions),
        noise=noise,
        beyond=beyond,
        pairs_needed=None if noise is None else pairs_needed(noise, policy),
        why_not=_why_not(history, policy, noise, beyond) if policy.probation else None,
        largest=max((session.size for session in history.newest), default=0.0),
    )


def pairs_needed(noise: float, policy: Policy, change: float = BEYOND) -> int | None:
    """Estimate the pairs that find a change with a power of 50 %; None above :data:`MOST_PAIRS`.

    The first n at which the half-width of Student's t on a 20 % trimmed mean of normal pairs with standard
    deviation ``noise`` fits between the policy's floor and ``change``, a log ratio, by default that of 3 %.
    """
    room = change - math.log1p(policy.floor)
    if not noise:
        return _FEW if room >= 0 else None
    found = _FEW + bisect_left(_least_reaches(), -room / noise)
    return found if found <= MOST_PAIRS else None


def change_found(noise: float, pairs: int, policy: Policy) -> float:
    """Estimate the log ratio that ``pairs`` pairs, eight or more, find with a power of 50 %."""
    return math.log1p(policy.floor) + noise * _reach(pairs)


@lru_cache(maxsize=1)
def _least_reaches() -> Sequence[float]:
    """List the least reach of at most n pairs, for each n that counts; negative, so that they rise.

    One more pair may widen the interval: it can take two degrees of freedom by trimming.
    """
    reaches = (_reach(pairs) for pairs in range(_FEW, MOST_PAIRS + 1))
    return [-reach for reach in accumulate(reaches, min)]


@lru_cache(maxsize=MOST_PAIRS)
def _reach(pairs: int) -> float:
    """Half-width of Student's t on the trimmed mean of pairs with the standard deviation 1."""
    from scipy.special import stdtrit  # noqa: PLC0415 - takes longer to load than most commands run

    degrees = pairs - 2 * int(TRIM * pairs) - 1
    return float(-stdtrit(degrees, _ERROR)) * TRIMMED_MEAN / math.sqrt(pairs)


def clopper_pearson(found: int, of: int, tail: float = 0.025) -> tuple[float, float]:
    """Compute the exact confidence interval of a binomial proportion, by default that of 95 %.

    Each end misses with probability ``tail``.

    Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26, 1934, by quantiles of the beta distribution.
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - as above

    low = float(betaincinv(found, of - found + 1, tail)) if found else 0.0
    high = float(betaincinv(found + 1, of - found, 1 - tail)) if found < of else 1.0
    return low, high


def _why_not(history: History, policy: Policy, noise: float | None, beyond: float | None) -> Reason | None:
    alarms = sum(session.is_alarm for session in history.newest)
    is_young = history.pairs < policy.probation or history.sessions < LEAST_SESSIONS
    if alarms > (0 if is_young else MOST_ALARMS):
        return Reason(ReasonKind.SUSPENDED, (alarms, len(history.newest)))
    if is_young:
        facts = (history.pairs, policy.probation, history.sessions, LEAST_SESSIONS)
        return Reason(ReasonKind.ON_PROBATION, facts)
    return _unmeasurable(noise, beyond)


def _unmeasurable(noise: float | None, beyond: float | None) -> Reason | None:
    if noise is None or beyond is None:
        return Reason(ReasonKind.NO_EVIDENCE)
    if noise > NOISE_LIMIT:
        return Reason(ReasonKind.NOISY, (noise,))
    return Reason(ReasonKind.FAR_OFF, (beyond,)) if beyond > BEYOND_LIMIT else None


_GIVEN: Final = frozenset({Verdict.SLOWER, Verdict.FASTER, Verdict.SAME, Verdict.UNDECIDED})


def sessions_of(
    rows: Iterable[Comparison], launches: Iterable[Launch], suites: Collection[str]
) -> dict[ComparedRow, Session]:
    """Make a session of each row of these suites that has enough pairs for a verdict.

    ``rows`` compare the same launches as if the programs were different.
    """
    values: defaultdict[tuple[str, Side], dict[int, Mapping[str, Mapping[str, float]]]] = defaultdict(dict)
    for launch in launches:
        values[launch.suite, launch.side][launch.pair] = launch.values
    found: dict[ComparedRow, Session] = {}
    for row in rows:
        suite = row.row.suite
        if suite in suites and row.verdict in _GIVEN:
            logs = tuple(_log_ratios(row.row, values[suite, Side.BASE], values[suite, Side.PATCH]))
            if len(logs) >= MIN_PAIRS:
                found[row.row] = Session(logs, row.verdict)
    return found


def _log_ratios(row: ComparedRow, base: Values, patch: Values) -> Iterator[float]:
    """Yield the log ratio of each pair that has positive values, or equal ones."""
    for pair in sorted(base.keys() & patch.keys()):
        one, other = (side[pair].get(row.benchmark, {}).get(row.metric.name) for side in (base, patch))
        if one is not None and one == other:
            yield 0.0  # includes counters that are zero
        elif one and other and one > 0 and other > 0:
            yield math.log(other) - math.log(one)
