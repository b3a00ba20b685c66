"""Read one benchmark of a recorded session as a rule does: pairs of one value a side, and their cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from service.domain.measuring.launch_order import threads_of
from service.domain.verdict.calibration.evidence import BEYOND_LIMIT, NOISE_LIMIT
from service.domain.verdict.comparison.counting_pairs import ELSEWHERE_LIMIT, FOREIGN_LIMIT, STEAL_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bench.verdicts.session import Session

MEASURABLE_TAIL: Final = 0.03


@dataclass(frozen=True, slots=True)
class Launching:
    """A way of measuring a launch: so many repetitions, each made of so many recorded ones."""

    repetitions: int
    each: int = 1

    @property
    def recorded(self) -> int:
        """The recorded repetitions that it takes."""
        return self.repetitions * self.each


OF_THREADS: Final = Launching(3, 8)  # as long as what was recorded allows


@dataclass(frozen=True, slots=True)
class Series:
    """One benchmark of one session.

    Args:
        session: its name.
        benchmark: its name.
        values: seconds, the best repetition of each launch: [pair, side].
        seconds: what a pair costs: [pair].
        disturbed: whether other work disturbed a pair: [pair].
        long: the repetitions of one long launch a side: [side, repetition].
        long_seconds: what these cost.
    """

    session: str
    benchmark: str
    values: NDArray[np.float64]
    seconds: NDArray[np.float64]
    disturbed: NDArray[np.bool_]
    long: NDArray[np.float64]
    long_seconds: float

    @property
    def logs(self) -> NDArray[np.float64]:
        """The log ratios of its pairs."""
        found: NDArray[np.float64] = np.log(self.values[:, 1] / self.values[:, 0])
        return found


def series_of(session: Session, launching: Launching) -> tuple[Series, ...]:
    """Every benchmark of a session, measured in that way; those of several threads as the service does it."""
    ways = {False: launching, True: OF_THREADS}
    best = {is_long: _best(session, way) for is_long, way in ways.items()}
    seconds = {is_long: _seconds(session, way).sum(axis=1) for is_long, way in ways.items()}
    disturbed = _is_disturbed(session)
    return tuple(
        Series(
            session=session.name,
            benchmark=name,
            values=best[threads_of(name) > 1][:, :, i],
            seconds=seconds[threads_of(name) > 1][:, i],
            disturbed=disturbed[:, i],
            long=session.long[:, i],
            long_seconds=float(session.long_seconds.sum()) / len(session.benchmarks),
        )
        for i, name in enumerate(session.benchmarks)
    )


def _best(session: Session, launching: Launching) -> NDArray[np.float64]:
    shape = (*session.times.shape[:3], launching.repetitions, launching.each)
    repetitions = session.times[..., : launching.recorded].reshape(shape).mean(axis=-1)
    return np.asarray(repetitions.min(axis=-1))


def measurable(all_series: Sequence[Series]) -> frozenset[str]:
    """The benchmarks whose pairs are quiet enough to be judged by."""
    names = dict.fromkeys(each.benchmark for each in all_series)
    found = {
        name: np.concatenate([s.logs[~s.disturbed] for s in all_series if s.benchmark == name])
        for name in names
    }
    return frozenset(name for name, logs in found.items() if is_measurable(logs))


def calm(all_series: Sequence[Series]) -> frozenset[str]:
    """Those whose spread is within the limit, however many of their pairs lie far off."""
    names = dict.fromkeys(each.benchmark for each in all_series)
    found = {name: np.concatenate([s.logs for s in all_series if s.benchmark == name]) for name in names}
    return frozenset(name for name, logs in found.items() if spread(logs) <= NOISE_LIMIT)


def spread(logs: NDArray[np.float64]) -> float:
    """1.4826 · MAD, which is the standard deviation of normal data."""
    return 1.4826 * float(np.median(np.abs(logs - np.median(logs))))


def is_measurable(logs: NDArray[np.float64]) -> bool:
    """Return whether log ratios of unchanged pairs are quiet enough to be judged."""
    if not len(logs):
        return False
    tail = float((np.abs(logs) > MEASURABLE_TAIL).mean())
    return spread(logs) <= NOISE_LIMIT and tail <= BEYOND_LIMIT


def _seconds(session: Session, launching: Launching) -> NDArray[np.float64]:
    """Add up each benchmark's time: its repetitions, and its part of all that is not repetitions."""
    share = launching.recorded / session.times.shape[-1]
    rest = (session.seconds - session.spent.sum(axis=-1)) / len(session.benchmarks)
    found: NDArray[np.float64] = session.spent * share + rest[..., None]
    return found


def _is_disturbed(session: Session) -> NDArray[np.bool_]:
    is_disturbed = (
        (session.steal > STEAL_LIMIT)
        | (session.foreign > FOREIGN_LIMIT)
        | (session.elsewhere > ELSEWHERE_LIMIT)
    )
    return np.asarray(is_disturbed.any(axis=1))
