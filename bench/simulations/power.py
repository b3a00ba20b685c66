"""``make bench-power``: simulate power against machine time and false alarms, beside a t-test.

A suite of 12 benchmarks is simulated, one of them slower: on normal pairs, on pairs with heavy tails, and on
pairs that are drawn from those of recorded sessions in which nothing changed. A pair of the suite takes 0.3
s, and 0.1 s for each benchmark that it measures. Looks, stages, costs and time limits are those of the
service.

The t-test is Yuen's, as tools that compare means or trimmed means use it: it measures all benchmarks until
the time is used up, on the same pairs, and then decides once.
"""

from __future__ import annotations

import math
import random
import sys
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bench.verdicts.rules import SHORT
from bench.verdicts.series import series_of
from bench.verdicts.session import load_sessions
from service.domain.measuring.machine_time import MachineTime
from service.domain.measuring.metric import metric_named
from service.domain.project.policy import BASE_PAIRS, Policy
from service.domain.values.text import share
from service.domain.verdict.comparison.benchmark import JOIN_SHARE
from service.domain.verdict.inference.estimate import estimate_of
from service.domain.verdict.inference.going_on import PairCost, Stages, going_on
from service.domain.verdict.inference.interim_looks import difference_errors, looks, with_shares
from service.domain.verdict.inference.verdict import (
    SAME_ERROR,
    ComparedRow,
    Comparison,
    Verdict,
    decide,
    first_decisive_look,
    pairs_to_decide,
    pairs_to_slower,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    # The log ratios of one pair of all benchmarks.
    Noise = Callable[[random.Random], list[float]]

BENCHMARKS: Final = 12
FAMILY: Final = 15.0  # real time may join each
EFFECTS: Final = (0.01, 0.02, 0.03, 0.05, 0.10)
SPREADS: Final = (0.005, 0.02, 0.05, 0.10)
MINUTES: Final = (1, 3, 10)
POLICY: Final = Policy()
# As many false alarms as a policy may allow, so that simulations can count them.
ALARMING: Final = Policy(false_alarms=0.2)
_USUAL: Final = 0.025  # of a two-sided test at 5 %, on one side
_METRIC: Final = metric_named("cpu_time")
_ROWS: Final = tuple(ComparedRow("suite", f"BM_{k}", _METRIC) for k in range(BENCHMARKS))
_FIXED, _EACH = 0.3, 0.1  # seconds of a pair
_COST: Final = PairCost({"suite": _FIXED}, {("suite", row.benchmark): _EACH for row in _ROWS})
_SCHEDULE: Final = with_shares(looks(POLICY.max_pairs))


@dataclass(frozen=True, slots=True)
class Suite:
    """The end of a suite: the verdict of each benchmark, the pairs, and the seconds that they took."""

    verdicts: tuple[Verdict, ...]
    pairs: int
    seconds: float

    @property
    def slower(self) -> tuple[bool, ...]:
        """Return whether each benchmark is called slower."""
        return tuple(verdict is Verdict.SLOWER for verdict in self.verdicts)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of measuring: the policy, and the most pairs if they end it before its machine time."""

    policy: Policy
    most: int = POLICY.max_pairs

    @staticmethod
    def of(seconds: float, policy: Policy = POLICY) -> Rules:
        """Return the rules of a policy with that machine time."""
        return Rules(replace(policy, machine_time=seconds))


class Pairs:
    """The log ratios of the pairs of a suite, drawn as they are asked for; each rule reads the same ones."""

    def __init__(self, effects: Sequence[float], noise: Noise, seed: str) -> None:
        self._shifts = [math.log1p(effect) for effect in effects]
        self._noise, self._draw = noise, random.Random(seed)  # noqa: S311 - repeatable on purpose
        self._drawn: list[list[float]] = []

    def __getitem__(self, pair: int) -> Sequence[float]:
        while len(self._drawn) <= pair:
            logs = self._noise(self._draw)
            self._drawn.append([shift + log for shift, log in zip(self._shifts, logs, strict=True)])
        return self._drawn[pair]


def normal(spread: float) -> Noise:
    """Return normal log ratios."""
    return lambda draw: [draw.gauss(0.0, spread) for _ in _ROWS]


def heavy(draw: random.Random) -> list[float]:
    """Draw log ratios that spread by 2 %; a tenth of them lie up to ten times as far off."""
    return [draw.gauss(0.0, 0.02) * (10.0 if draw.random() < 0.1 else 1.0) for _ in _ROWS]


def by_order(draw: random.Random) -> list[float]:
    """Make the side that is launched first 5 % slower, for all benchmarks of a pair at once."""
    first = draw.choice((-0.05, 0.05))
    return [first + draw.gauss(0.0, 0.005) for _ in _ROWS]


def by_drift(draw: random.Random) -> list[float]:
    """Slow the machine down by 3 % a launch, which hits either side at random."""
    first = draw.choice((-0.03, 0.03))
    return [first + draw.gauss(0.0, 0.01) for _ in _ROWS]


def by_mode(draw: random.Random) -> list[float]:
    """Put one side in the slow mode whenever the other is in the fast one, benchmark by benchmark."""
    return [draw.choice((-0.05, 0.05)) for _ in _ROWS]


def by_rare_mode(draw: random.Random) -> list[float]:
    """Make a benchmark 20 % slower in a tenth of the launches; otherwise vary it by 0.2 %."""
    return [0.2 * ((draw.random() < 0.1) - (draw.random() < 0.1)) + draw.gauss(0.0, 0.002) for _ in _ROWS]


def recorded() -> Noise:
    """Draw log ratios of recorded pairs of one program with itself, with a random first side."""
    pools: dict[str, list[float]] = {}
    for session in load_sessions():
        for series in series_of(session, SHORT):
            pools.setdefault(series.benchmark, []).extend(map(float, series.logs[~series.disturbed]))
    chosen = [pools[name] for name in sorted(pools)]
    return lambda draw: [
        draw.choice((-1.0, 1.0)) * draw.choice(chosen[k % len(chosen)]) for k in range(BENCHMARKS)
    ]


def measure(pairs: Pairs, rules: Rules) -> Suite:
    """Measure a suite as :func:`service.steps.measuring.measure.measure` does, without its launches."""
    policy = rules.policy
    errors = _errors(policy.false_alarms)
    stages = Stages(first_decisive_look(policy, FAMILY / JOIN_SHARE), BASE_PAIRS)
    logs: list[list[float]] = [[] for _ in _ROWS]
    rows = [Comparison(row, Verdict.UNDECIDED) for row in _ROWS]
    wanted, seconds, count = list(range(BENCHMARKS)), 0.0, 0
    for look in _SCHEDULE:
        while count < look.pairs:
            time_left = MachineTime(policy.machine_time, seconds, 0.0)
            if time_left.is_overdrawn or (count >= stages.decisive and time_left.left < 0):
                return _end(rows, count, seconds)
            for k in wanted:
                logs[k].append(pairs[count][k])
            seconds += _FIXED + _EACH * len(wanted)
            count += 1
        for k in wanted:
            rows[k] = _judge(rows[k], logs[k], errors, policy)
        left = policy.machine_time - seconds
        chosen = going_on(rows, count, stages, _COST, left, policy)
        wanted = [k for k, row in enumerate(_ROWS) if ("suite", row.benchmark) in chosen]
        if not wanted or count >= rules.most:
            break
    return _end(rows, count, seconds)


def _end(rows: Sequence[Comparison], count: int, seconds: float) -> Suite:
    return Suite(tuple(row.verdict for row in rows), count, seconds)


def _judge(row: Comparison, logs: Sequence[float], errors: Mapping[int, float], policy: Policy) -> Comparison:
    """Take the looks at a row that its own pairs have reached; it may have paused."""
    for look in _SCHEDULE:
        if not row.pairs < look.pairs <= len(logs):
            continue
        found = estimate_of(logs[: look.pairs])
        spent, same = errors.get(look.pairs, 0.0), look.same * SAME_ERROR
        verdict = decide(found, _METRIC, policy, spent, same)
        row = Comparison(row.row, verdict, look.pairs)
        if verdict.is_decided:
            return row
        row = row._replace(
            more_pairs=pairs_to_decide(found, policy, FAMILY),
            pairs_to_slower=pairs_to_slower(found, row.row, policy, FAMILY),
        )
    return row


@lru_cache
def _errors(false_alarms: float) -> Mapping[int, float]:
    return difference_errors(_SCHEDULE, false_alarms / 2 / FAMILY)


def trimmed_t(pairs: Pairs, seconds: float, error: float, floor: float = 0.0) -> tuple[bool, ...]:
    """Test once whether each benchmark is slower, on all pairs that fit the time.

    Args:
        pairs: of the suite.
        seconds: that all pairs together take.
        error: of the one-sided test of a benchmark.
        floor: the slow-down that must be exceeded.
    """
    count = int(seconds / (_FIXED + _EACH * BENCHMARKS))
    found = (estimate_of([pairs[pair][k] for pair in range(count)]) for k in range(BENCHMARKS))
    return tuple(each.bounds(error)[0] > math.log1p(floor) for each in found)


@dataclass(frozen=True, slots=True)
class Trial:
    """One suite: the benchmarks that each rule calls slower, and Benchgate's seconds."""

    ours: tuple[bool, ...]
    t: tuple[bool, ...]  # at 5 %, as usual
    strict_t: tuple[bool, ...]  # at Benchgate's level and floor
    seconds: float


@dataclass(frozen=True, slots=True)
class Cell:
    """The suites of one cell of a table; the first benchmark of each is slower."""

    trials: Sequence[Trial]

    @property
    def seconds(self) -> float:
        """Mean seconds that Benchgate takes for a suite."""
        return sum(trial.seconds for trial in self.trials) / len(self.trials)

    def found(self) -> str:
        """Format, in percent for each rule, the suites with their first benchmark called slower."""
        return self._shares(lambda slower: slower[0])

    def alarms(self) -> str:
        """Format, in percent for each rule, the suites with another benchmark called slower."""
        return self._shares(lambda slower: any(slower[1:]))

    def any_slower(self) -> str:
        """Format, in percent for each rule, the suites with any benchmark called slower."""
        return self._shares(any)

    def _shares(self, counts: Callable[[tuple[bool, ...]], bool]) -> str:
        rules = zip(*((trial.ours, trial.t, trial.strict_t) for trial in self.trials), strict=True)
        return " / ".join(f"{100 * sum(map(counts, rule)) / len(self.trials):.3g}" for rule in rules)


def fill(name: str, effect: float, noise: Noise, rules: Rules, trials: int, *, are_all: bool = False) -> Cell:
    """Simulate suites with the first benchmark slower by ``effect``, or all.

    The ``name`` is a part of the seed: after a change, make the tables of the measurements anew.
    """
    effects = [effect if k == 0 or are_all else 0.0 for k in range(BENCHMARKS)]
    suites = (Pairs(effects, noise, f"{name} {effect} {trial}") for trial in range(trials))
    return Cell([_try(pairs, rules) for pairs in suites])


def _try(pairs: Pairs, rules: Rules) -> Trial:
    policy = rules.policy
    ours = measure(pairs, rules)
    strict = policy.false_alarms / 2 / FAMILY
    return Trial(
        ours.slower,
        trimmed_t(pairs, policy.machine_time, _USUAL),
        trimmed_t(pairs, policy.machine_time, strict, policy.floor),
        ours.seconds,
    )


def _progress(line: str) -> None:
    sys.stderr.write(f"{time.process_time():5.0f} s  {line}\n")


def _tables(trials: int) -> Iterator[str]:
    kinds = {f"normal, spread {share(spread)}": normal(spread) for spread in SPREADS}
    kinds |= {"heavy tails": heavy, "recorded": recorded()}
    longest = f"false alarms, {MINUTES[-1]} min"
    yield f"| pairs | slower by | {' | '.join(f'{each} min' for each in MINUTES)} | {longest} |"
    yield f"|{'---|' * (3 + len(MINUTES))}"
    for name, noise in kinds.items():
        for effect in EFFECTS:
            _progress(f"{name}, slower by {share(effect)}")
            cells = [fill(name, effect, noise, Rules.of(60.0 * each), trials) for each in MINUTES]
            shown = [f"{cell.found()} ({cell.seconds:.0f} s)" for cell in cells]
            yield f"| {name} | {share(effect)} | {' | '.join(shown)} | {cells[-1].alarms()} |"
    yield ""
    yield f"| pairs | all slower by | any called slower | bound |\n|{'---|' * 4}"
    others: dict[str, Noise] = {
        "launch order": by_order,
        "drift": by_drift,
        "opposed modes": by_mode,
        "rare mode": by_rare_mode,
    }
    for name, noise in (kinds | others).items():
        for effect in (0.0, POLICY.floor):
            _progress(f"false alarms: {name}, all slower by {share(effect)}")
            cell = fill(name, effect, noise, Rules.of(600.0, ALARMING), 2 * trials, are_all=True)
            yield f"| {name} | {share(effect)} | {cell.any_slower()} | {50 * ALARMING.false_alarms:.0f} |"


def main() -> int:
    """Print both tables."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for line in _tables(trials):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
