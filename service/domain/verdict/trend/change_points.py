"""Find changes of the level in values that were not measured in pairs, such as imported history.

A change found here has not the error rate of a verdict: it is a reason to measure two commits in pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Span = tuple[int, int]

FEWEST: Final = 60  # values: of 20 that jump between two levels, ten times as many proposals are false
_BESIDE: Final = 5  # values on each side of a change: fewer are often outliers that came together
_LEAST: Final = 0.01  # a smaller step is below the policy's default floor, so pairs would not confirm it
_SMALLEST_SPREAD: Final = 0.001  # most clocks and counters repeat no better; equal values have a spread of 0
_OUTLIER: Final = 3.0  # spreads: a value further from the level says no more than one at this distance
_PENALTY: Final = 3.0  # times ln(values), in squared spreads: one outlier pays for no change, nor do three
_CHANCE: Final = 0.01  # a change must have a smaller p value times the number of positions
_NEAR: Final = 50  # values on each side that judge a change: further ones have drifted
_FINENESS: Final = 4  # levels tried for each spread: the best misses by an eighth, 2 % of one value's loss
_LEVELS: Final = 400  # at most: a series that wanders is tried on coarser levels
_SPREADS_OF_MEDIAN: Final = 1.4826  # standard deviation of normal noise ÷ median distance
_MOST_ALIKE: Final = 0.8  # autocorrelation above it is a level that wanders, not noise
_FEW: Final = 20  # values that count as independent beforehand: one step makes a short series look alike
_KEPT: Final = 0.8
_KEPT_SQUARE: Final = 0.4377  # mean square of the smallest 80 % of normal noise ÷ that of all
_UPPER: Final = 0.975


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A step of the level: ``at`` is the position of the first value behind it.

    ``log`` is ln(level behind ÷ level before), with its 95 % interval. ``chance`` is the nominal p value
    times the number of positions, below 1 %; like the interval, it ignores that the place was chosen.
    """

    at: int
    log: float
    low: float
    high: float
    chance: float


def find_changes(logs: Sequence[float] | Floats, fewest: int = FEWEST) -> tuple[ChangePoint, ...]:
    """Find the steps in logarithms of positive values, in the order of their commits.

    A series of fewer values than ``fewest`` has none.

    The levels and steps between them minimise a loss that is quadratic near the level and constant for
    outliers, plus a penalty for each step (Fearnhead and Rigaill, "Changepoint detection in the presence of
    outliers", JASA 114, 2019), here over a grid of levels, in O(values · levels). The
    estimate of the autocorrelation follows Chakar and others, "A robust approach for estimating change-points
    in the mean of an AR(1) process", Bernoulli 23, 2017, with trimmed squares for medians, which vary less;
    raising the penalty by it is ours. Each step is then tested against the noise around it; what a
    straight line explains better is drift.

    Raises:
        ValueError: a value is not finite.
    """
    values = np.asarray(logs, dtype=float)
    if not np.isfinite(values).all():
        raise ValueError("change points need finite values")
    if len(values) < max(fewest, 2 * _BESIDE):
        return ()
    spread, alike = _noise(values)
    inflation = (1 + alike) / (1 - alike)
    return _tested(values, _segmented(values, spread, inflation), inflation)


def _noise(values: Floats) -> tuple[float, float]:
    """Return the spread around the level and the autocorrelation, by differences, which ignore steps."""
    near, far = (_trimmed_square(values[lag:] - values[:-lag]) for lag in (1, 2))
    alike = min(max(far / near - 1, 0.0), _MOST_ALIKE) if near > 0 else 0.0
    alike *= len(values) / (len(values) + _FEW)
    return max((near / (2 * (1 - alike))) ** 0.5, _SMALLEST_SPREAD), alike


def _trimmed_square(differences: Floats) -> float:
    """Return the mean square without the largest fifth: each step or outlier is in two differences."""
    kept = max(int(_KEPT * len(differences)), 1)
    return float(np.partition(differences**2, kept - 1)[:kept].mean()) / _KEPT_SQUARE


def _segmented(values: Floats, spread: float, inflation: float) -> list[int]:
    """Return the positions of the first values behind each step of the best path through the levels."""
    fineness = spread / _FINENESS
    grid = np.unique(np.round(values / fineness))
    while len(grid) > _LEVELS:
        fineness *= 2
        grid = np.unique(np.round(values / fineness))
    losses = np.minimum(((values[:, None] - grid * fineness) / spread) ** 2, _OUTLIER**2)
    penalty = _PENALTY * inflation * np.log(len(values))
    total = losses[0].copy()
    came = np.empty(losses.shape, dtype=bool)  # whether the best path to a level came from another one
    best = np.empty(len(values), dtype=int)
    for position in range(1, len(values)):
        best[position] = total.argmin()
        least = total[best[position]] + penalty
        np.greater(total, least, out=came[position])
        np.minimum(total, least, out=total)
        total += losses[position]
    level, steps = int(total.argmin()), []
    for position in range(len(values) - 1, 0, -1):
        if came[position, level]:
            steps.append(position)
            level = int(best[position])
    return steps[::-1]


def _tested(values: Floats, steps: list[int], inflation: float) -> tuple[ChangePoint, ...]:
    """Drop the weakest step until all stand out; each is judged between its neighbours."""
    found: dict[int, ChangePoint] = {}

    def judge(place: int) -> None:
        if 0 <= place < len(steps):
            at = steps[place]
            start = max(steps[place - 1] if place else 0, at - _NEAR)
            end = min(steps[place + 1] if place + 1 < len(steps) else len(values), at + _NEAR)
            found[at] = _judged(values, (start, end), at, inflation)

    for place in range(len(steps)):
        judge(place)
    while steps:
        weakest = max(steps, key=lambda at: (found[at].chance, -abs(found[at].log)))
        if found[weakest].chance < _CHANCE:
            break
        place = steps.index(weakest)
        del steps[place]
        judge(place - 1)
        judge(place)
    return tuple(found[at] for at in steps)


def _judged(values: Floats, span: Span, at: int, inflation: float) -> ChangePoint:
    """Compare the values of ``span`` before and behind ``at``, by Student's t with their common spread."""
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - loads SciPy

    before, behind = _clipped(values[span[0] : at]), _clipped(values[at : span[1]])
    log = float(behind.mean() - before.mean())
    freedom = len(before) + len(behind) - 2
    if min(len(before), len(behind)) < _BESIDE:
        return ChangePoint(at, log, log, log, 1.0)
    squares = float(((before - before.mean()) ** 2).sum() + ((behind - behind.mean()) ** 2).sum())
    sizes = inflation * (1 / len(before) + 1 / len(behind))
    error = (max(squares / freedom, _SMALLEST_SPREAD**2) * sizes) ** 0.5
    reach = float(stdtrit(freedom, _UPPER)) * error
    is_drift = _line_misfit(np.concatenate((before, behind))) < squares
    is_small = abs(log) < _LEAST
    chance = min(2 * float(stdtr(freedom, -abs(log) / error)) * len(values), 1.0)
    return ChangePoint(at, log, log - reach, log + reach, 1.0 if is_drift or is_small else chance)


def _clipped(values: Floats) -> Floats:
    """Move outliers to the distance at which they stop to count."""
    middle = _middle(values)
    reach = _OUTLIER * max(_SPREADS_OF_MEDIAN * _middle(np.abs(values - middle)), _SMALLEST_SPREAD)
    return np.minimum(np.maximum(values, middle - reach), middle + reach)


def _middle(values: Floats) -> float:
    """Return the median; of two middle values the larger one, which is all that this needs."""
    half = len(values) // 2
    return float(np.partition(values, half)[half])


def _line_misfit(values: Floats) -> float:
    """Return the sum of squares around the best straight line."""
    place = np.arange(len(values)) - (len(values) - 1) / 2
    centred = values - values.mean()
    return float((centred**2).sum() - (place @ centred) ** 2 / (place @ place))
