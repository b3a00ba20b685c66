"""``make bench-power``: power against machine time, and false alarms, before and since measuring goes on.

Before, measuring ended after 32 pairs. The benchmarks of a suite are simulated, one of them slower: on normal
pairs, and on pairs that are drawn from those of recorded sessions in which nothing changed. A pair of the
suite takes 0.3 s, and 0.1 s for each benchmark that is still measured.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bench.verdicts.rules import SHORT
from bench.verdicts.series import series_of
from bench.verdicts.session import load_sessions
from service.domain.inference.estimate import estimate_of
from service.domain.inference.going_on import within_reach, worth_more
from service.domain.inference.interim_looks import BASE_PAIRS, difference_errors, looks, with_shares
from service.domain.inference.metric import metric_named
from service.domain.inference.policy import Policy
from service.domain.inference.verdict import (
    SAME_ERROR,
    ComparedRow,
    Comparison,
    Verdict,
    decide,
    pairs_to_decide,
    pairs_to_slower,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    # The log ratios of one pair of these benchmarks.
    Noise = Callable[[random.Random, Sequence[int]], list[float]]

BENCHMARKS: Final = 12
FAMILY: Final = 15.0  # real time may join each
EFFECTS: Final = (0.02, 0.03, 0.05, 0.10, 0.20)
SPREADS: Final = (0.005, 0.02, 0.05, 0.10)
MINUTES: Final = (1, 3, 10)
POLICY: Final = Policy()
# As many false alarms as a policy may allow, so that simulations can count them.
ALARMING: Final = Policy(false_alarms=0.2)
_METRIC: Final = metric_named("cpu_time")
_ROWS: Final = tuple(ComparedRow("suite", f"BM_{k}", _METRIC) for k in range(BENCHMARKS))
_FIXED, _EACH = 0.3, 0.1  # seconds of a pair
_SCHEDULE: Final = with_shares(looks(POLICY.max_pairs))


@dataclass(frozen=True, slots=True)
class Suite:
    """The end of a suite: the verdict of each benchmark, the pairs, and the seconds that they took."""

    verdicts: tuple[Verdict, ...]
    pairs: int
    seconds: float

    @property
    def is_found(self) -> bool:
        """Return whether the first benchmark, which is the slower one, is called so."""
        return self.verdicts[0] is Verdict.SLOWER

    @property
    def is_alarm(self) -> bool:
        """Return whether any benchmark is called slower."""
        return Verdict.SLOWER in self.verdicts


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of measuring: the policy, the seconds, and whether measuring goes on after 32 pairs."""

    policy: Policy
    budget: float
    goes_on: bool


def normal(spread: float) -> Noise:
    """Normal log ratios."""
    return lambda draw, wanted: [draw.gauss(0.0, spread) for _ in wanted]


def by_order(draw: random.Random, wanted: Sequence[int]) -> list[float]:
    """The side that is launched first is 5 % slower, for all benchmarks of a pair at once."""
    first = draw.choice((-0.05, 0.05))
    return [first + draw.gauss(0.0, 0.005) for _ in wanted]


def by_drift(draw: random.Random, wanted: Sequence[int]) -> list[float]:
    """The machine slows down by 3 % a launch, which hits either side at random."""
    first = draw.choice((-0.03, 0.03))
    return [first + draw.gauss(0.0, 0.01) for _ in wanted]


def by_mode(draw: random.Random, wanted: Sequence[int]) -> list[float]:
    """One side is always in the slow mode when the other is in the fast one, benchmark by benchmark."""
    return [draw.choice((-0.05, 0.05)) for _ in wanted]


def recorded() -> Noise:
    """Log ratios of recorded pairs of one program with itself, the side that is first drawn anew."""
    pools: dict[str, list[float]] = {}
    for session in load_sessions():
        for series in series_of(session, SHORT):
            pools.setdefault(series.benchmark, []).extend(map(float, series.logs[~series.disturbed]))
    chosen = [pools[name] for name in sorted(pools)]
    return lambda draw, wanted: [
        draw.choice((-1.0, 1.0)) * draw.choice(chosen[k % len(chosen)]) for k in wanted
    ]


def measure(effects: Sequence[float], noise: Noise, draw: random.Random, rules: Rules) -> Suite:
    """Measure a suite until all is decided or nothing goes on."""
    logs: list[list[float]] = [[] for _ in effects]
    rows = [Comparison(row, Verdict.UNDECIDED) for row in _ROWS[: len(effects)]]
    errors = _errors(rules.policy.false_alarms)
    wanted, seconds, pairs = list(range(len(rows))), 0.0, 0
    for look in _SCHEDULE:
        taken = (look.pairs - pairs) * (_FIXED + _EACH * len(wanted))
        if seconds + taken > rules.budget or (look.pairs > BASE_PAIRS and not rules.goes_on):
            break
        seconds += taken
        for _ in range(look.pairs - pairs):
            for k, log in zip(wanted, noise(draw, wanted), strict=True):
                logs[k].append(math.log1p(effects[k]) + log)
        pairs = look.pairs
        for k in wanted:
            spent, same = errors.get(pairs, 0.0), look.same * SAME_ERROR
            rows[k] = _judge(rows[k].row, logs[k], rules.policy, spent, same)
        wanted = _next(rows, wanted, pairs, seconds, rules)
        if not wanted:
            break
    return Suite(tuple(row.verdict for row in rows), pairs, seconds)


def _judge(row: ComparedRow, logs: Sequence[float], policy: Policy, spent: float, same: float) -> Comparison:
    found = estimate_of(logs)
    verdict = decide(found, row.metric, policy, spent, same)
    if verdict.is_decided:
        return Comparison(row, verdict)
    return Comparison(
        row,
        verdict,
        more_pairs=pairs_to_decide(found, policy, FAMILY),
        pairs_to_slower=pairs_to_slower(found, row, policy, FAMILY),
    )


def _next(
    rows: Sequence[Comparison], wanted: Sequence[int], pairs: int, seconds: float, rules: Rules
) -> list[int]:
    """The benchmarks of the next pair."""
    left = [k for k in wanted if not rows[k].verdict.is_decided]
    each = _EACH + _FIXED / max(len(left), 1)
    costs = {(rows[k].row.suite, rows[k].row.benchmark): each for k in left}
    candidates = [rows[k] for k in left]
    if not rules.goes_on or pairs < next(iter(_errors(rules.policy.false_alarms))):
        return left
    if pairs < BASE_PAIRS:
        chosen = within_reach(candidates, costs, rules.policy.machine_time)
    else:
        chosen = worth_more(candidates, costs, rules.budget - seconds, rules.policy)
    return [k for k in left if (rows[k].row.suite, rows[k].row.benchmark) in chosen]


@lru_cache
def _errors(false_alarms: float) -> Mapping[int, float]:
    return difference_errors(_SCHEDULE, false_alarms / 2 / FAMILY)


def cell(effect: float, noise: Noise, rules: Rules, trials: int) -> str:
    """In percent, the slower benchmarks that are found; and the mean seconds."""
    draw = random.Random(f"{effect}")  # noqa: S311 - repeatable on purpose
    effects = (effect, *([0.0] * (BENCHMARKS - 1)))
    found = [measure(effects, noise, draw, rules) for _ in range(trials)]
    hits = sum(each.is_found for each in found)
    mean = sum(each.seconds for each in found) / trials
    return f"{100 * hits / trials:.0f} ({mean:.0f} s)"


def alarms(effect: float, noise: Noise, trials: int, *, goes_on: bool) -> float:
    """The share of suites with a benchmark called slower if all are slower by ``effect``, which is no more
    than the floor; the bound is half of the policy's false alarms.
    """
    draw = random.Random(f"{effect} {goes_on}")  # noqa: S311 - repeatable on purpose
    rules = Rules(ALARMING, 600.0, goes_on)
    found = (measure([effect] * BENCHMARKS, noise, draw, rules) for _ in range(trials))
    return sum(each.is_alarm for each in found) / trials


def _tables(trials: int) -> Iterator[str]:
    kinds = {f"normal, {spread:.1%}": normal(spread) for spread in SPREADS} | {"recorded": recorded()}
    columns = ["32 pairs", *(f"{each} min" for each in MINUTES)]
    yield f"| pairs | slower by | {' | '.join(columns)} |"
    yield f"|{'---|' * (2 + len(columns))}"
    for name, noise in kinds.items():
        for effect in EFFECTS:
            before = Rules(POLICY, 600.0, goes_on=False)
            now = [Rules(POLICY, 60.0 * each, goes_on=True) for each in MINUTES]
            cells = [cell(effect, noise, rules, trials) for rules in (before, *now)]
            yield f"| {name} | {effect:.0%} | {' | '.join(cells)} |"
    yield ""
    yield f"| pairs | all slower by | alarms of suites: 32 pairs | 10 min | bound |\n|{'---|' * 5}"
    others: dict[str, Noise] = {"launch order": by_order, "drift": by_drift, "opposed modes": by_mode}
    for name, noise in (kinds | others).items():
        for effect in (0.0, POLICY.floor):
            shares = [alarms(effect, noise, 4 * trials, goes_on=goes_on) for goes_on in (False, True)]
            cells = [f"{100 * share:.1f} %" for share in shares]
            yield f"| {name} | {effect:.0%} | {' | '.join(cells)} | {ALARMING.false_alarms / 2:.0%} |"


def main() -> int:
    """Print both tables."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    for line in _tables(trials):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
