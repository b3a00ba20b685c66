"""Rules that are tried against each other: ours, and those of the tools that people use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import scipy
from scipy.special import stdtrit

from bench.verdicts.series import Launching, Series
from service.domain.measuring.metric import metric_named
from service.domain.project.policy import Policy
from service.domain.verdict.comparison.benchmark import JOIN_SHARE
from service.domain.verdict.comparison.counting_pairs import allowance
from service.domain.verdict.inference.estimate import estimate_of
from service.domain.verdict.inference.verdict import ComparedRow, Verdict, compare_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

BENCHMARKS: Final = 100  # of a patch set
_FAMILY: Final = BENCHMARKS * (1 + JOIN_SHARE)  # as many hypotheses as the service counts for them
POLICY: Final = Policy()
SHORT: Final = Launching(20)  # of 2 ms each
CUSTOMARY: Final = Launching(3, 8)  # of 16 ms each
_ROW: Final = ComparedRow("suite", "benchmark", metric_named("cpu_time"))


class Said(Enum):
    """The possible verdicts of a rule on a benchmark."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    UNDECIDED = "undecided"

    @property
    def is_alarm(self) -> bool:
        """Return whether the rule calls the benchmark changed."""
        return self in {Said.SLOWER, Said.FASTER}


@dataclass(frozen=True, slots=True)
class Answer:
    """A rule's verdict, the pairs and seconds that it took, and the estimated slow-down of the patch."""

    said: Said
    pairs: int
    seconds: float
    worsening: float

    @property
    def would_vote(self) -> bool:
        """Return whether the rule would stop a patch set."""
        return self.said is Said.SLOWER and self.worsening >= POLICY.vote_at


class Rule(Protocol):
    """Something that decides, from measurements, whether a benchmark changed."""

    @property
    def name(self) -> str:
        """As the tables call it."""

    @property
    def launching(self) -> Launching:
        """The way in which its launches are measured."""

    def judge(self, series: Series) -> Answer:
        """Judge a benchmark."""


@dataclass(frozen=True, slots=True)
class Ours:
    """The rule that votes: the service's own code."""

    launching: Launching = SHORT
    repeats: bool = True
    name: str = "Benchgate"

    def judge(self, series: Series) -> Answer:
        counting = _counting(series) if self.repeats else np.arange(len(series.values))
        chosen = counting[: POLICY.base_pairs]
        base, patch = series.values[chosen].T
        found = compare_pairs(_ROW, base.tolist(), patch.tolist(), POLICY, _FAMILY)
        said = Said(found.verdict.value) if found.verdict is not Verdict.UNDECIDED else Said.UNDECIDED
        last = int(chosen[found.pairs - 1])
        return Answer(said, found.pairs, float(series.seconds[: last + 1].sum()), found.worsening)


@dataclass(frozen=True, slots=True)
class TrimmedT:
    """Yuen's interval beyond 1 % at 3·10⁻⁴ after 8, 12, 16, … pairs; "same" by a 90 % interval within 3 %."""

    launching: Launching = CUSTOMARY
    name: str = "trimmed t, every 4 pairs"
    error: float = 3e-4
    repeats: bool = False

    def judge(self, series: Series) -> Answer:
        said, n = Said.UNDECIDED, 0
        counting = _counting(series) if self.repeats else np.arange(len(series.values))
        logs = series.logs[counting]
        for n in range(8, POLICY.base_pairs + 1, 4):
            found = estimate_of(logs[:n].tolist())
            said = self._say(found.centre, found.error, found.degrees)
            if said is not Said.UNDECIDED:
                break
        last = int(counting[n - 1])
        return Answer(said, n, float(series.seconds[: last + 1].sum()), found.ratio - 1)

    def _say(self, centre: float, error: float, degrees: int) -> Said:
        reach = -float(stdtrit(degrees, self.error)) * error
        floor, same = math.log1p(POLICY.floor), math.log1p(POLICY.same_within)
        if centre - reach > floor:
            return Said.SLOWER
        if centre + reach < -floor:
            return Said.FASTER
        near = -float(stdtrit(degrees, 0.05)) * error
        return Said.SAME if -same < centre - near and centre + near < same else Said.UNDECIDED


@dataclass(frozen=True, slots=True)
class Perfherder:
    """Mozilla's compare view: means differ by 2 % or more, and Welch's t is at least 5."""

    launches: int | None = None  # None: the repetitions of one long launch a side
    launching: Launching = CUSTOMARY

    @property
    def name(self) -> str:
        return "Perfherder's rule, " + (f"{self.launches} pairs" if self.launches else "1 long launch")

    def judge(self, series: Series) -> Answer:
        base, patch, pairs, seconds = _sides(series, self.launches)
        error = math.sqrt(base.var(ddof=1) / len(base) + patch.var(ddof=1) / len(patch))
        ratio = float(patch.mean() / base.mean())
        is_sure = abs(patch.mean() - base.mean()) >= 5 * error and max(ratio, 1 / ratio) >= 1.02
        return Answer(_direction(ratio) if is_sure else Said.SAME, pairs, seconds, ratio - 1)


@dataclass(frozen=True, slots=True)
class CompareScript:
    """Google Benchmark's compare.py: Mann and Whitney's U test over repetitions, at 0.05."""

    launching: Launching = CUSTOMARY
    name: str = "compare.py (U test), 1 long launch"

    def judge(self, series: Series) -> Answer:
        base, patch, pairs, seconds = _sides(series, None)
        chance = scipy.stats.mannwhitneyu(patch, base, alternative="two-sided").pvalue
        ratio = float(np.median(patch) / np.median(base))
        return Answer(_direction(ratio) if chance < 0.05 else Said.SAME, pairs, seconds, ratio - 1)


@dataclass(frozen=True, slots=True)
class Lnt:
    """LLVM's LNT: minima differ by 1 % and by 2.576 standard deviations, and a U test agrees at 0.05."""

    launching: Launching = CUSTOMARY
    name: str = "LNT without its absolute floors, 1 long launch"

    def judge(self, series: Series) -> Answer:
        base, patch, pairs, seconds = _sides(series, None)
        nearest = base[np.argmin(np.abs(patch.min() - base))]
        delta = float(patch.min() - nearest)
        is_sure = (
            abs(delta / nearest) >= 0.01
            and scipy.stats.mannwhitneyu(patch, base, alternative="two-sided").pvalue < 0.05
            and abs(delta) > 2.576 * patch.std(ddof=1)
        )
        ratio = 1 + delta / float(nearest)
        return Answer(_direction(ratio) if is_sure else Said.SAME, pairs, seconds, ratio - 1)


@dataclass(frozen=True, slots=True)
class OursOnOneLaunch:
    """The rule that votes, given what people give the others: one long launch a side."""

    launching: Launching = CUSTOMARY
    name: str = "Benchgate, 1 long launch"

    def judge(self, series: Series) -> Answer:
        base, patch, pairs, seconds = _sides(series, None)
        found = compare_pairs(_ROW, [base.min()], [patch.min()], POLICY, _FAMILY, (1,))
        return Answer(Said(found.verdict.value), pairs, seconds, found.worsening)


RULES: Final[tuple[Rule, ...]] = (
    Ours(),
    TrimmedT(),
    TrimmedT(SHORT, "the same on short repetitions, disturbed pairs repeated", repeats=True),
    Perfherder(16),
    CompareScript(),
    Lnt(),
    Perfherder(),
    OursOnOneLaunch(),
)


def _counting(series: Series) -> NDArray[np.int_]:
    """The pairs that count: disturbed ones are repeated until the allowance is used up."""
    is_left_out = series.disturbed & (np.cumsum(series.disturbed) <= allowance(POLICY.base_pairs))
    return np.flatnonzero(~is_left_out)


def _sides(
    series: Series, launches: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, float]:
    if launches is None:
        return series.long[0], series.long[1], 1, series.long_seconds
    base, patch = series.values[:launches].T
    return base, patch, launches, float(series.seconds[:launches].sum())


def _direction(ratio: float) -> Said:
    return Said.SLOWER if ratio > 1 else Said.FASTER
