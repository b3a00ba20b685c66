"""``python -m bench.simulations.layout``: simulate −1 of layout and of true slow-downs.

Layout: every link of every side is as likely to favour one side as the other, by a constant effect, and the
programs as built favour the parent. Truth: every link shows the same slow-down, or one that scatters.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.measuring.launch import Launch
from service.domain.measuring.metric import metric_named
from service.domain.project.policy import Policy
from service.domain.values.identity import Side
from service.domain.verdict.comparison.link_layout import VARIANTS, confirm, pairs_for, suspects
from service.domain.verdict.inference.estimate import estimate_of
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict, compare_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

EFFECTS: Final = (0.05, 0.10, 0.20, 0.30)
SPREADS: Final = (0.01, 0.05, 0.10, 0.20, 0.40)
SCATTERS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # of links, as a share of the slow-down
FAMILY: Final = 15.0  # a suite of 12 whose real time may join
POLICY: Final = Policy()
_ROW: Final = ComparedRow("suite", "BM_a", metric_named("cpu_time"))
_OLD_VARIANTS, _OLD_PAIRS, _OLD_SHARE, _OLD_LEVEL = 5, 10, 0.5, 0.25


@dataclass(frozen=True, slots=True)
class Cell:
    """Shares of patch sets: called slower as built, and stopped by the rule before and by the rule now."""

    found: float
    before: float
    now: float


def simulate(
    effect: float, spread: float, *, is_layout: bool, trials: int, pairs: int = 32, scatter: float = 0.0
) -> Cell:
    """Judge patch sets of one benchmark that is slower as built, on normal pairs of that spread.

    ``scatter`` is the standard deviation of links, as a share of the effect, if the slow-down is true.
    """
    noise = random.Random(f"{effect} {spread} {is_layout} {scatter}")  # noqa: S311 - repeatable on purpose
    log = math.log1p(effect)
    found = before = now = 0
    for _ in range(trials):
        row = compare_pairs(_ROW, [1.0] * pairs, _ratios(noise, log, spread, pairs), POLICY, FAMILY)
        if row.verdict is not Verdict.SLOWER:
            continue
        found += 1
        links = [log * (noise.choice((-1, 1)) if is_layout else noise.gauss(1, scatter)) for _ in VARIANTS]
        before += _stops_before(row, links, spread, noise)
        now += _stops_now(row, links, spread, noise)
    return Cell(found / trials, before / trials, now / trials)


def _ratios(noise: random.Random, log: float, spread: float, pairs: int) -> list[float]:
    return [math.exp(noise.gauss(log, spread)) for _ in range(pairs)]


def _stops_before(row: Comparison, links: Sequence[float], spread: float, noise: random.Random) -> bool:
    """Apply the former rule: all of five relinks must be slower at 25 %."""
    if not suspects([row], POLICY):
        return row.worsening >= POLICY.vote_at
    pairs = max(_OLD_PAIRS, math.ceil(_OLD_SHARE * row.pairs))
    logs = [[noise.gauss(link, spread) for _ in range(pairs)] for link in links[:_OLD_VARIANTS]]
    estimates = [estimate_of(each) for each in logs]
    return all(e.bounds(_OLD_LEVEL)[0] > 0 and e.centre > math.log1p(POLICY.floor) for e in estimates)


def _stops_now(row: Comparison, links: Sequence[float], spread: float, noise: random.Random) -> bool:
    if row.worsening < POLICY.vote_at:
        return False
    launches = [
        Launch(pair, side, "suite", {"BM_a": {"cpu_time": value}}, {}, variant=variant)
        for variant, link in zip(VARIANTS, links, strict=True)
        if suspects([row], POLICY)
        for pair, ratio in enumerate(_ratios(noise, link, spread, pairs_for(row)))
        for side, value in ((Side.BASE, 1.0), (Side.PATCH, ratio))
    ]
    return confirm([row], launches, POLICY)[0].verdict is Verdict.SLOWER


def main() -> int:
    """Print all tables, in percent of the patch sets."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for is_layout, title in ((True, "layout alone"), (False, "a true slow-down")):
        _head(title, "spread")
        for effect in EFFECTS:
            for spread in SPREADS:
                cell = simulate(effect, spread, is_layout=is_layout, trials=trials)
                _line(effect, spread, cell)
    _head("a true slow-down, pairs spread by 1 %", "scatter of links")
    for effect in EFFECTS[:2]:
        for scatter in SCATTERS:
            cell = simulate(effect, 0.01, is_layout=False, trials=trials, scatter=scatter)
            _line(effect, scatter, cell)
    return 0


def _head(title: str, varied: str) -> None:
    sys.stdout.write(
        f"\n| {title} | {varied} | slower as built | -1 before | -1 now |\n|---|---|---|---|---|\n"
    )


def _line(effect: float, varied: float, cell: Cell) -> None:
    shares = " | ".join(f"{100 * each:.1f}" for each in (cell.found, cell.before, cell.now))
    sys.stdout.write(f"| {effect:.0%} | {varied:.0%} | {shares} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
