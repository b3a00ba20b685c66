"""``python -m bench.changes [DIRECTORY…] [--otava PYTHON]``: compare the detector with Apache Otava.

A directory is a set of series, each a CSV file with the column ``value``, the oldest first. If it has
``paired``, that is ln(commit ÷ its parent) as measured in pairs; otherwise a measurement is simulated.
``change`` is 1 where people saw a change.
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from bench.timing import met, say, say_load
from service.domain.verdict.trend.change_points import FEWEST, find_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Values = Sequence[float] | NDArray[np.float64]
    Found = tuple[tuple[int, float], ...]  # positions with ln(behind ÷ before)
    Find = Callable[[Sequence[Values]], tuple[float, list[Found]]]

NEAR: Final = 2  # proposals at most this many positions apart count as one
FLOOR: Final = 0.01  # a smaller step is none: the policy's default floor
ERROR: Final = 0.005  # standard error of a simulated measurement in pairs
SPREADS_OF_MEDIAN: Final = 1.4826  # standard deviation of normal noise ÷ median distance
SURE: Final = 1.96
AROUND: Final = 20  # values on each side that tell how large a real step was
SIMULATED: Final = 200
SERIES, POINTS = 50, 400
SIZES: Final = (20, 40, 60, 100, POINTS)
BEHIND: Final = (5, 7, 10, 20)
BEHIND_STEPS: Final = (0.03, 0.05, 0.1)
SECONDS_GOAL: Final = 0.4
STEPS: Final = (0.015, 0.03)
SPREAD: Final = 0.01
# Runs in Otava's interpreter: series come in; seconds, and positions and log steps of each go out. Otava has
# raw values and its defaults, and our floor.
_OTAVA: Final = """
import json, math, sys, time
from otava.analysis import compute_change_points
series, floor = json.load(sys.stdin)
compute_change_points(series[0][:60], 50, 0.001, floor)
begun, found = time.process_time(), []
for values in series:
    steps, _ = compute_change_points(values, 50, 0.001, floor)
    found.append([[int(each.index), math.log(each.stats.mean_2 / each.stats.mean_1)] for each in steps])
json.dump([time.process_time() - begun, found], sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A series: its values, and by position what pairs measured and where people saw a change."""

    name: str
    values: tuple[float, ...]
    paired: dict[int, float]
    marked: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Detector:
    """``find`` returns the seconds that it took and the proposals of each series."""

    name: str
    find: Find


def ours(series: Sequence[Values]) -> tuple[float, list[Found]]:
    """Run the detector on series of positive values."""
    return _ours(series, FEWEST)


def ours_at_any_length(series: Sequence[Values]) -> tuple[float, list[Found]]:
    """Run the detector also where it is silent because a series is short."""
    return _ours(series, 0)


def _ours(series: Sequence[Values], fewest: int) -> tuple[float, list[Found]]:
    find_changes([0.0] * FEWEST + [1.0] * FEWEST)  # loads what it needs
    begun = process_time()
    found = [tuple((each.at, each.log) for each in find_changes(np.log(values), fewest)) for values in series]
    return process_time() - begun, found


def otava(python: Path) -> Find:
    """Return what runs Otava in its own interpreter."""

    def find(series: Sequence[Values]) -> tuple[float, list[Found]]:
        given = json.dumps([[list(map(float, values)) for values in series], FLOOR])
        ran = subprocess.run([python, "-c", _OTAVA], input=given, capture_output=True, text=True, check=True)
        seconds, found = json.loads(ran.stdout)
        return seconds, [tuple((at, log) for at, log in each) for each in found]

    return find


@click.command()
@click.argument("directories", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--otava", "python", type=click.Path(exists=True, path_type=Path), help="Otava's interpreter.")
def main(directories: Sequence[Path], python: Path | None) -> None:
    """Compare on simulated noise and steps, on the sets, and by time."""
    say_load("before")
    detectors = [Detector("Benchgate", ours), *([Detector("Otava", otava(python))] if python else [])]
    for points in SIZES:
        short = [Detector("any length", ours_at_any_length)] if points < FEWEST else []
        _simulate([*detectors, *short], points)
    _wait()
    for each in directories:
        _compare(each.name, read_set(each), detectors)
    _time(detectors)


def read_set(directory: Path) -> list[Recorded]:
    """Read the series of a directory; values that are not above 0 are left out."""
    return [_read(path) for path in sorted(directory.glob("*.csv"))]


def _read(path: Path) -> Recorded:
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if float(row["value"]) > 0]
    paired = {at: float(row["paired"]) for at, row in enumerate(rows) if row.get("paired")}
    marked = frozenset(at for at, row in enumerate(rows) if row.get("change") == "1")
    has_marks = bool(rows) and "change" in rows[0]
    return Recorded(
        path.stem, tuple(float(row["value"]) for row in rows), paired, marked if has_marks else None
    )


def matched(found: Iterable[int], others: Iterable[int], near: int = NEAR) -> int:
    """Count the positions with a partner among the others; each has one partner at most."""
    free, count = sorted(others), 0
    for at in sorted(found):
        partner = next((other for other in free if abs(other - at) <= near), None)
        if partner is not None:
            free.remove(partner)
            count += 1
    return count


def is_confirmed(series: Recorded, at: int, log: float) -> bool:
    """Return whether a measurement in pairs of the commits around a proposal shows its step.

    If pairs were measured, they add up from two commits before to two behind, and the error follows from the
    spread of all of them. Otherwise the step is taken from the values around, and measured with a simulated
    error. The whole interval must be beyond the floor.
    """
    error = ERROR
    if series.paired:
        measured = sum(series.paired.get(place, 0.0) for place in range(at - NEAR, at + NEAR + 1))
        error = error_of_sum(series)
    else:
        before = median(series.values[max(at - AROUND, 0) : at])
        rng = np.random.default_rng(zlib.crc32(f"{series.name}/{at}".encode()))
        measured = math.log(median(series.values[at : at + AROUND]) / before) + rng.normal(0, ERROR)
    return math.copysign(1, log) * measured - SURE * error > FLOOR


def error_of_sum(series: Recorded) -> float:
    """Return the standard error of the summed ratios around a proposal; most ratios have no step."""
    ratios = np.array([*series.paired.values()])
    distance = float(np.median(np.abs(ratios - np.median(ratios))))
    return SPREADS_OF_MEDIAN * distance * math.sqrt(2 * NEAR + 1)


def _compare(name: str, series: Sequence[Recorded], detectors: Sequence[Detector]) -> None:
    values = [each.values for each in series]
    say(f"\n{name}: {len(series)} series, {sum(map(len, values))} values")
    proposals: list[list[Found]] = []
    for detector in detectors:
        seconds, found = detector.find(values)
        proposals.append(found)
        pairs = [(each, at, log) for each, steps in zip(series, found, strict=True) for at, log in steps]
        confirmed = sum(is_confirmed(*each) for each in pairs)
        line = f"  {detector.name}: {len(pairs)} proposals, {confirmed} confirmed, {seconds:.2f} s of CPU"
        say(line + _of_marked(series, found))
    if len(proposals) > 1:
        both = sum(
            matched((at for at, _ in one), (at for at, _ in other))
            for one, other in zip(*proposals, strict=True)
        )
        say(f"  both within {NEAR} positions: {both}")


def _of_marked(series: Sequence[Recorded], found: Sequence[Found]) -> str:
    """Format how many of the changes that people saw were found; empty if the set has none."""
    hits = proposed = known = 0
    for each, steps in zip(series, found, strict=True):
        if each.marked is not None:
            hits += matched((at for at, _ in steps), each.marked)
            proposed += len(steps)
            known += len(each.marked)
    if not known:
        return ""
    precision, recall = hits / max(proposed, 1), hits / known
    score = 2 * hits / (proposed + known)
    return f"; people saw {known}: precision {precision:.2f}, recall {recall:.2f}, F1 {score:.2f}"


def noise(kind: str, seed: int, points: int = POINTS) -> NDArray[np.float64]:
    """Draw the logarithms of a series without a step."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(0, SPREAD, points)
    if kind.startswith("autocorrelation"):
        share = float(kind.rpartition(" ")[2])
        for at in range(1, points):
            plain[at] = share * plain[at - 1] + (1 - share**2) ** 0.5 * plain[at]
    return plain if kind not in _OTHER else _OTHER[kind](rng, plain)


_OTHER: Final[dict[str, Callable[[np.random.Generator, NDArray[np.float64]], NDArray[np.float64]]]] = {
    "heavy tails": lambda rng, plain: rng.standard_t(3, len(plain)) * SPREAD / 3**0.5,
    "one-sided": lambda rng, plain: rng.exponential(SPREAD, len(plain)),
    "5 % outliers": lambda rng, plain: (
        plain + (rng.random(len(plain)) < 0.05) * np.abs(rng.normal(0, 0.2, len(plain)))
    ),
    "two levels 3 % apart": lambda rng, plain: plain / 2 + (rng.random(len(plain)) < 0.4) * 0.03,
    "drift, 5 % a 100": lambda _, plain: plain + 0.0005 * np.arange(len(plain)),
}
NOISES: Final = (
    "normal",
    "heavy tails",
    "one-sided",
    "5 % outliers",
    "two levels 3 % apart",
    "autocorrelation 0.3",
    "autocorrelation 0.6",
    "drift, 5 % a 100",
)


def _simulate(detectors: Sequence[Detector], points: int) -> None:
    series = SIMULATED * POINTS // points  # as many values for each length
    say(f"\nseries of {points} values, {series} for each row: false proposals a 1,000 values and a series;")
    say(f"of a step by {' and '.join(f'{step:.1%}' for step in STEPS)} in the middle, the share found")
    for kind in NOISES:
        for detector in detectors:
            silent = [np.exp(noise(kind, seed, points)) for seed in range(series)]
            false = sum(len(each) for each in detector.find(silent)[1]) / series
            shares = [_share_found(detector, kind, step, points, points // 2) for step in STEPS]
            figures = "  ".join(f"{share:.2f}" for share in shares)
            say(f"  {kind:<22} {detector.name:<10} {false / points * 1000:6.3f}  {false:6.4f}  {figures}")


def _wait() -> None:
    """Print the share of steps that are found when few values are behind them."""
    say(
        f"\nseries of 100 values, {SIMULATED} for each cell: share found with {BEHIND} values behind the step"
    )
    for kind in NOISES:
        for step in BEHIND_STEPS:
            shares = [_share_found(Detector("", ours), kind, step, 100, 100 - behind) for behind in BEHIND]
            say(f"  {kind:<22} {step:4.0%}  " + "  ".join(f"{share:.2f}" for share in shares))


def _share_found(detector: Detector, kind: str, step: float, points: int, at: int) -> float:
    shifted = [
        np.exp(noise(kind, SIMULATED + seed, points) + step * (np.arange(points) >= at))
        for seed in range(SIMULATED)
    ]
    hits = (matched((at for at, _ in each), [at], 10) for each in detector.find(shifted)[1])
    return sum(hits) / SIMULATED


def _time(detectors: Sequence[Detector]) -> None:
    series = [noise("normal", seed) for seed in range(SERIES)]
    rng = np.random.default_rng(1)
    for each in series:
        for at in (100, 200, 300):
            each[at:] += rng.choice((-0.05, 0.05))
    values = [np.exp(each) for each in series]
    say(f"\n{SERIES} series of {POINTS} values with three steps each")
    for detector in detectors:
        seconds, found = min((detector.find(values) for _ in range(3)), key=lambda each: each[0])
        goal = f"; goal ≤ {SECONDS_GOAL} s: {met(seconds <= SECONDS_GOAL)}" if detector.find is ours else ""
        say(f"  {detector.name}: {seconds:.2f} s of CPU, {sum(map(len, found))} proposals{goal}")
    begun = process_time()
    for each in series:
        find_changes(each)
    say(f"  one commit more of a series: {(process_time() - begun) / SERIES * 1e3:.1f} ms (all of it anew)")


if __name__ == "__main__":
    main()
