"""Evidence of A/A sessions about a series on a machine: its noise, and whether its verdicts may vote."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import MOST_PAIRS
from service.domain.values.identity import Side
from service.domain.verdict.inference.estimate import MIN_PAIRS, TRIM, estimate_of, spread_of
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from service.domain.measuring.launch import Launch
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison

    Values = Mapping[int, Mapping[str, Mapping[str, float]]]  # by pair, benchmark and metric
    from collections.abc import Sequence

    from service.domain.project.policy import Policy


SESSION_PAIRS: Final = 20  # of one calibration: enough to call one of a hundred benchmarks slower, were it so
LEAST_SESSIONS: Final = 3  # pairs of one hour share its neighbours and its heat
RECALLED: Final = 50  # newest sessions, by which noise and alarms are judged: a repaired machine recovers
MOST_ALARMS: Final = 1  # in as many sessions; at 1 % per patch set even one is rare
NOISE_LIMIT: Final = 0.015  # a spread above it leaves a change of 3 % undecided within 32 pairs
BEYOND: Final = math.log(1.03)  # as far off as the smallest change that must be found
BEYOND_LIMIT: Final = 0.10  # share of pairs that may lie there; the trimming takes up to 20 % a side
# A slow-down that is surely larger votes without a history: no machine was ever seen to make it by itself.
FAR: Final = math.log(1.25)
FAR_SHARE: Final = 3.0  # times the largest estimate that the machine's own sessions of the series show
_TRIMMED_MEAN: Final = 1.07  # standard error of a 20 % trimmed mean over that of the mean, normal data
_ERROR: Final = 1e-4  # of one look at one of some ten benchmarks, at the default policy
_FEW: Final = 8  # pairs; of fewer there is nothing to trim
_OF_NOISE: Final = frozenset({ReasonKind.NOISY, ReasonKind.FAR_OFF})
_ALARMS: Final = frozenset({Verdict.SLOWER, Verdict.FASTER})


@dataclass(frozen=True, slots=True)
class Session:
    """One comparison of a program with itself: the log ratios of its pairs and the rule's verdict."""

    logs: tuple[float, ...]
    verdict: Verdict

    @property
    def is_alarm(self) -> bool:
        """Return whether the rule reported a difference, which is false: both sides are one program."""
        return self.verdict in _ALARMS

    @property
    def size(self) -> float:
        """The size of the log ratio that it estimates; 0 if it is too short for an estimate."""
        return abs(estimate_of(self.logs).centre) if len(self.logs) >= MIN_PAIRS else 0.0


@dataclass(frozen=True, slots=True)
class History:
    """All A/A sessions of a series on a machine.

    ``newest`` are the last ones, newest first, at most ``RECALLED``; ``sessions``, ``pairs`` and
    ``alarms`` count all that there ever were.
    """

    newest: tuple[Session, ...] = ()
    sessions: int = 0
    pairs: int = 0
    alarms: int = 0

    @staticmethod
    def of(sessions: Sequence[Session]) -> History:
        """The history that these sessions are the whole of, newest first."""
        pairs = sum(len(each.logs) for each in sessions)
        alarms = sum(each.is_alarm for each in sessions)
        return History(tuple(sessions[:RECALLED]), len(sessions), pairs, alarms)


@dataclass(frozen=True, slots=True)
class VotingStatus:
    """The meaning of a history.

    ``noise`` is the spread of the pairs' log ratios, 1.4826 · MAD, and ``beyond`` the share of them
    further off than 3 %; both None without pairs. ``pairs_needed`` is about how many pairs a change of
    3 % takes, None if no policy allows so many. ``alarm_share`` is the Clopper-Pearson 95 % interval
    of the share of false alarms. ``why_not`` is None if the series may vote. ``largest`` is the size of the
    largest log ratio that a recalled session estimates, 0 without sessions.
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


def why_withheld(status: VotingStatus, row: Comparison) -> Reason | None:
    """Find why a slower row may not vote −1, given the history of its series; None if it may.

    A history shows which differences the machine makes by itself. One that is far beyond these needs none:
    the nearest end of its interval is at least :data:`FAR`, and :data:`FAR_SHARE` times the largest estimate
    of a session. After enough sessions without repeated alarms the latter is enough, however far pairs vary.
    Layout is no matter of history: relinks confirmed the row, or it is larger than layout.
    """
    if status.why_not is None:
        return None
    # Noise costs power, which the pairs make up for; it is no reason to distrust what they prove.
    least = 0.0 if status.why_not.kind in _OF_NOISE else FAR
    is_far = row.nearest >= max(least, FAR_SHARE * status.largest)
    return None if is_far and row.nearest > 0 else status.why_not


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


def pairs_needed(noise: float, policy: Policy) -> int | None:
    """About how many pairs find a change of 3 % half of the time; None for more than :data:`MOST_PAIRS`.

    The first n for which Student's t on a 20 % trimmed mean of normal pairs with that standard deviation
    reaches from 3 % down to the policy's floor.
    """
    return next((n for n in range(_FEW, MOST_PAIRS + 1) if change_found(noise, n, policy) <= BEYOND), None)


def change_found(noise: float, pairs: int, policy: Policy) -> float:
    """About the log ratio that so many pairs, eight or more, find half of the time."""
    from scipy.special import stdtrit  # noqa: PLC0415 - takes longer to load than most commands run

    degrees = pairs - 2 * int(TRIM * pairs) - 1
    reach = float(-stdtrit(degrees, _ERROR)) * _TRIMMED_MEAN * noise / math.sqrt(pairs)
    return math.log1p(policy.floor) + reach


def clopper_pearson(found: int, of: int, tail: float = 0.025) -> tuple[float, float]:
    """The exact interval of a share of which ``found`` of ``of`` trials are known, by default that of 95 %.

    Each end misses with probability ``tail``.

    Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26, 1934, by the quantiles of the beta distribution.
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - as above

    low = float(betaincinv(found, of - found + 1, tail)) if found else 0.0
    high = float(betaincinv(found + 1, of - found, 1 - tail)) if found < of else 1.0
    return low, high


def _why_not(history: History, policy: Policy, noise: float | None, beyond: float | None) -> Reason | None:
    alarms = sum(session.is_alarm for session in history.newest)
    if alarms > MOST_ALARMS:
        return Reason(ReasonKind.SUSPENDED, (alarms, len(history.newest)))
    if history.pairs < policy.probation or history.sessions < LEAST_SESSIONS:
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
    """Find the session of each row of these suites; rows too short for a verdict are none.

    ``rows`` compare the same launches, without knowing that the programs are the same.
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
    """The log ratios of the pairs with values above zero on both sides, or equal ones."""
    for pair in sorted(base.keys() & patch.keys()):
        one, other = (side[pair].get(row.benchmark, {}).get(row.metric.name) for side in (base, patch))
        if one is not None and one == other:
            yield 0.0  # also of counters that are zero
        elif one and other and one > 0 and other > 0:
            yield math.log(other) - math.log(one)
