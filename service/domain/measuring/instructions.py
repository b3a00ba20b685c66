"""Whether a patch changed the instructions of a benchmark, from counts that must repeat exactly enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from service.domain.identity import Side
from service.domain.inference.metric import Better, Metric
from service.domain.inference.verdict import ComparedRow, Comparison, Verdict
from service.domain.measuring.callgrind import Trial
from service.domain.text import plain, signed_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

LAUNCHES: Final = 2  # of each side: one cannot show that it repeats
AGREEMENT: Final = 0.001  # two launches of one program that execute the same work differ by far less
BLIND: Final = "instructions do not see contention or cache misses"
METRIC: Final = Metric("instructions", "", Better.LOWER)
# Instructions of a trial in which the few hundred of starting the clock are lost, and the few thousand that
# only a first iteration needs.
LONG: Final = 1_000_000
_TRIED: Final = 2  # of the longest trials; what repeats in none of them does not repeat
_MAX_COUNT: Final = 10**18
_ROUNDING: Final = 1e-12  # the last digits of a quotient of floats must not decide


@dataclass(frozen=True, slots=True)
class Counted:
    """What counting one benchmark on one side gave.

    ``launches`` holds the timed loops of each launch; ``why`` says why there are none.
    """

    launches: tuple[tuple[Trial, ...], ...] = ()
    why: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """As JSON can hold it."""
        launches = [[(each.iterations, each.instructions) for each in trials] for trials in self.launches]
        return {"why": self.why, "launches": launches}

    @staticmethod
    def from_mapping(found: object) -> Counted:
        """What :meth:`to_mapping` made; anything else was not counted."""
        try:
            launches = found["launches"]  # type: ignore[index]
            why = found["why"]  # type: ignore[index]
            trials = tuple(tuple(Trial(_count(n, 1), _count(ir)) for n, ir in each) for each in launches)
        except (TypeError, ValueError, KeyError):
            return Counted(why="its record cannot be read")
        return Counted(trials, str(why))


def compare_instructions(
    suite: str, benchmark: str, base: Counted | None, patch: Counted | None, floor: float
) -> Comparison:
    """Instructions per iteration of both sides, compared exactly.

    Counts that repeat need no interval: a difference within :data:`AGREEMENT` is none, and one within
    ``floor`` is too small to matter. Counts that do not repeat, or were not taken, leave the row
    undecided with the reason.
    """
    row = ComparedRow(suite, benchmark, METRIC)
    why, found = _settled(base, patch)
    if found is None:
        return Comparison(row, Verdict.UNDECIDED, reason=why)
    before, after = found
    if before == after:
        return Comparison(row, Verdict.SAME, 0, 1.0, (1.0, 1.0), before, after, BLIND)
    if min(before, after) <= 0:
        reason = "a side executes no instruction, so there is no ratio to judge"
        return Comparison(row, Verdict.UNDECIDED, 0, None, None, before, after, reason)
    ratio = after / before
    return Comparison(row, _verdict(ratio, floor), 0, ratio, (ratio, ratio), before, after, BLIND)


def added_instructions(base: Counted | None, patch: Counted | None) -> float | None:
    """By which share of the base's the instructions of an iteration grew; None: not known."""
    _, found = _settled(base, patch)
    if found is None or min(found) <= 0:
        return None
    before, after = found
    return after / before - 1


def causes_of(rows: Sequence[Comparison], *, is_advisory: bool) -> tuple[str, ...]:
    """What a message says of the instructions of a build: one sentence, or none without rows."""
    if not rows:
        return ()
    by_verdict = {v: [row for row in rows if row.verdict is v] for v in Verdict}
    parts = [
        *_most(sorted(by_verdict[Verdict.SLOWER], key=lambda row: -row.worsening), "more"),
        *_most(sorted(by_verdict[Verdict.FASTER], key=lambda row: row.worsening), "fewer"),
        *([f"{len(same)} as many as before"] if (same := by_verdict[Verdict.SAME]) else []),
        *_not_counted(by_verdict[Verdict.UNDECIDED]),
    ]
    standing = "advisory" if is_advisory else "voting"
    return (f"instructions ({standing}, {len(rows)} in all): {'; '.join(parts)}; {BLIND}",)


def _most(chosen: Sequence[Comparison], word: str) -> list[str]:
    if not chosen:
        return []
    first = chosen[0]
    size = "" if first.ratio is None else f" {signed_percent(first.ratio)}"
    return [f"{len(chosen)} {word}, first {plain(first.row.benchmark)}{size}"]


def _not_counted(chosen: Sequence[Comparison]) -> list[str]:
    if not chosen:
        return []
    return [f"{len(chosen)} not known: {plain(chosen[0].row.benchmark)}: {plain(chosen[0].reason)}"]


def _verdict(ratio: float, floor: float) -> Verdict:
    if abs(math.log(ratio)) <= math.log1p(floor) + _ROUNDING or _agree((1.0, ratio)):
        return Verdict.SAME
    return Verdict.SLOWER if ratio > 1 else Verdict.FASTER


def _settled(base: Counted | None, patch: Counted | None) -> tuple[str, tuple[float, float] | None]:
    """Instructions per iteration of both sides where each repeats, or why there are none.

    Loops of equal length are looked at first, the longest before the others: work that changes as a loop
    goes on is then equal too. Failing that, work that is the same after different numbers of iterations
    does not depend on them.
    """
    sides = [side for side in (base, patch) if side is not None]
    if reason := next((side.why for side in sides if side.why), ""):
        return f"not counted: {reason}", None
    if len(sides) < len(Side) or any(
        len(side.launches) < LAUNCHES or not all(side.launches) for side in sides
    ):
        return "not counted", None
    rates = [[_rates(trials) for trials in side.launches] for side in sides]
    common = set.intersection(*(set(launch) for side in rates for launch in side))
    chosen = [[[launch[n] for launch in side] for side in rates] for n in sorted(common)[: -_TRIED - 1 : -1]]
    if all(len({trials[-1].iterations for trials in side.launches}) > 1 for side in sides):
        chosen.append([[_rate(trials[-1]) for trials in side.launches] for side in sides])
    for before, after in chosen:
        if _agree(before) and _agree(after):
            return "", (fmean(before), fmean(after))
    return "not deterministic: two launches of one program did not execute the same", None


def _rates(trials: Sequence[Trial]) -> dict[int, float]:
    """Instructions per iteration by the number of iterations, of the long trials and the last."""
    return {
        each.iterations: _rate(each)
        for number, each in enumerate(trials, 1)
        if each.instructions >= LONG or number == len(trials)
    }


def _rate(trial: Trial) -> float:
    return trial.instructions / trial.iterations


def _agree(counts: Sequence[float]) -> bool:
    return max(counts) <= min(counts) * (1 + AGREEMENT + _ROUNDING)


def _count(value: object, at_least: int = 0) -> int:
    if type(value) is not int or not at_least <= value <= _MAX_COUNT:
        raise ValueError(value)
    return value
