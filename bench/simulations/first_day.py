"""``make bench-first-day``: simulate −1 on a machine without a history, with and without a control.

A suite of 12 benchmarks is measured on a new machine, and judged by the code of the service. The rules:

* *as built*: a slow-down of the programs as built votes.
* *confirmed*: relinked programs must show it, as with ``probation: off``.
* *history*: confirmed, and three sessions of 20 A/A pairs must let it vote, as before there were controls.
* *control*: confirmed, and the parent measured against itself in the same build must not show half of it.

The control has the time that it wants. Where a title says so, it has half of the machine time, here that of
32 pairs of all benchmarks.

A machine adds noise to each pair. It may also make the patch's side slower by a constant factor, whatever
runs there, or each copy of a program by a factor of its own, as for programs that are too large to be copied
for each pair.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.simulations.power import (
    ALARMING,
    BENCHMARKS,
    FAMILY,
    POLICY,
    by_drift,
    by_mode,
    by_order,
    heavy,
    normal,
    recorded,
)
from service.domain.measuring.launch import Launch
from service.domain.measuring.metric import metric_named
from service.domain.project.policy import BASE_PAIRS
from service.domain.runs.pair_cost import worst_in
from service.domain.values.identity import Side
from service.domain.values.text import share
from service.domain.verdict.calibration.control import Control, control_pairs, pairs_wanted, withheld_rows
from service.domain.verdict.calibration.evidence import (
    LEAST_SESSIONS,
    SESSION_PAIRS,
    History,
    Session,
    voting_status_of,
)
from service.domain.verdict.comparison.link_layout import VARIANTS, confirm, pairs_for, suspects
from service.domain.verdict.inference.going_on import PairCost
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict, compare_pairs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from bench.simulations.power import Noise
    from service.domain.project.policy import Policy

RULES: Final = ("as built", "confirmed", "history", "control")
OWN: Final = (0.01, 0.02, 0.03, 0.05, 0.10)
SPREADS: Final = (0.005, 0.02, 0.05)
# Seconds of the parent's launch: of the program, and of each benchmark. As in the simulation of power.
PARENT: Final = PairCost({"suite": 0.15}, {("suite", f"BM_{k}"): 0.05 for k in range(BENCHMARKS)}, {})
HALF: Final = 0.5 * BASE_PAIRS * len(Side) * (0.15 + 0.05 * BENCHMARKS)
COPIES: Final = 0.025  # measured of programs that stay in place
TRUE: Final = 0.05
_ROWS: Final = tuple(ComparedRow("suite", f"BM_{k}", metric_named("cpu_time")) for k in range(BENCHMARKS))


@dataclass(frozen=True, slots=True)
class Machine:
    """A new machine: the noise of its pairs, and differences that it makes of one program (log scale).

    ``own`` is that of the patch's side; ``copies`` is the standard deviation of those of two copies.
    """

    noise: Noise
    own: float = 0.0
    copies: float = 0.0


@dataclass(slots=True)
class Build:
    """A patch set's build on a machine; ``effects`` are the true slow-downs, as log ratios."""

    machine: Machine
    effects: Sequence[float]
    policy: Policy
    draw: random.Random
    seconds: float = math.inf  # of the control

    def votes(self) -> frozenset[str]:
        """Return the rules under which at least one benchmark votes −1."""
        rows = {k: row for k, row in enumerate(self._as_built()) if self._is_found(row)}
        confirmed: dict[int, Comparison] = {}
        for k, row in rows.items():
            (found,) = confirm([row], list(self._relinks(k, row)), self.policy)
            if self._is_found(found):
                confirmed[k] = found
        by_history, by_control = len(self._by_history(confirmed)), len(self._by_control(confirmed))
        counts = (len(rows), len(confirmed), len(confirmed) - by_history, len(confirmed) - by_control)
        return frozenset(rule for rule, count in zip(RULES, counts, strict=True) if count)

    def _is_found(self, row: Comparison) -> bool:
        return row.verdict is Verdict.SLOWER and row.worsening >= self.policy.vote_at

    def _as_built(self) -> Iterator[Comparison]:
        copies = [self._copies() for _ in _ROWS]
        pairs = [self.machine.noise(self.draw) for _ in range(BASE_PAIRS)]
        for k, row in enumerate(_ROWS):
            shift = self.effects[k] + self.machine.own + copies[k]
            yield self._compare(row, [shift + logs[k] for logs in pairs])

    def _relinks(self, k: int, row: Comparison) -> Iterator[Launch]:
        if not suspects([row], self.policy):
            return
        for variant in VARIANTS:
            for pair, log in enumerate(self._logs(k, self.effects[k], pairs_for(row))):
                for side, value in ((Side.BASE, 1.0), (Side.PATCH, math.exp(log))):
                    yield Launch(
                        pair, side, "suite", {row.row.benchmark: {"cpu_time": value}}, {}, variant=variant
                    )

    def _by_history(self, rows: Mapping[int, Comparison]) -> Collection[ComparedRow]:
        """Return those that three sessions withhold."""
        sessions = {
            row: [self._session(k, SESSION_PAIRS) for _ in range(LEAST_SESSIONS)] for k, row in rows.items()
        }
        statuses = {row: voting_status_of(History.of(found), self.policy) for row, found in sessions.items()}
        return withheld_rows(statuses, {})

    def _by_control(self, rows: Mapping[int, Comparison]) -> Collection[ComparedRow]:
        """Return those that controls withhold, without any session."""
        pairs = {row: control_pairs(row) for row in rows.values()}
        timely = set(worst_in(self.seconds, pairs, PARENT))
        controls = {row.row: self._control(k, row) for k, row in rows.items() if row in timely}
        none = voting_status_of(History(), self.policy)
        return withheld_rows(dict.fromkeys(rows.values(), none), controls)

    def _control(self, k: int, row: Comparison) -> Control:
        shift = self.machine.own + self._copies()
        logs = [shift + self.machine.noise(self.draw)[k] for _ in range(control_pairs(row))]
        while True:
            session = Session(tuple(logs), self._compare(_ROWS[k], logs).verdict)
            control = Control(session, is_kept_in_place=self.machine.copies > 0)
            missing = pairs_wanted(row, control) - len(logs)
            if missing <= 0:
                return control
            logs += [shift + self.machine.noise(self.draw)[k] for _ in range(missing)]

    def _session(self, k: int, pairs: int) -> Session:
        logs = self._logs(k, 0.0, pairs)
        return Session(tuple(logs), self._compare(_ROWS[k], logs).verdict)

    def _logs(self, k: int, effect: float, pairs: int) -> list[float]:
        """Draw pairs of new copies of both sides."""
        shift = effect + self.machine.own + self._copies()
        return [shift + self.machine.noise(self.draw)[k] for _ in range(pairs)]

    def _copies(self) -> float:
        return self.draw.gauss(0.0, self.machine.copies) if self.machine.copies else 0.0

    def _compare(self, row: ComparedRow, logs: Sequence[float]) -> Comparison:
        return compare_pairs(row, [1.0] * len(logs), list(map(math.exp, logs)), self.policy, FAMILY)


def simulate(
    name: str,
    machine: Machine,
    patch_sets: int,
    slower: float = 0.0,
    policy: Policy = POLICY,
    *,
    are_all: bool = False,
    seconds: float = math.inf,
) -> dict[str, float]:
    """Compute the share of patch sets with a −1 by each rule.

    Args:
        name: a part of the seed.
        machine: measures them all, each as its first.
        patch_sets: their number.
        slower: the slow-down of the first benchmark.
        policy: of the job.
        are_all: all benchmarks are slower by as much.
        seconds: that the control may take.
    """
    effects = [math.log1p(slower) if k == 0 or are_all else 0.0 for k in range(BENCHMARKS)]
    found = dict.fromkeys(RULES, 0)
    for number in range(patch_sets):
        draw = random.Random(f"{name} {slower} {number}")  # noqa: S311 - repeatable on purpose
        for rule in Build(machine, effects, policy, draw, seconds).votes():
            found[rule] += 1
    return {rule: count / patch_sets for rule, count in found.items()}


def _noises() -> dict[str, Noise]:
    return {f"normal, spread {share(spread)}": normal(spread) for spread in SPREADS} | {
        "heavy tails": heavy,
        "launch order": by_order,
        "drift": by_drift,
        "opposed modes": by_mode,
        "recorded": recorded(),
    }


def _line(name: str, patch_sets: int, found: Mapping[str, float]) -> str:
    shares = " | ".join(f"{100 * each:.3g}" for each in found.values())
    return f"| {name} | {patch_sets:,} | {shares} |"


def _head(title: str) -> str:
    return f"\n| {title} | patch sets | {' | '.join(RULES)} |\n|{'---|' * (2 + len(RULES))}"


def _unchanged(patch_sets: int) -> Iterator[str]:
    yield _head("nothing changed")
    noises = _noises()
    total = dict.fromkeys(RULES, 0.0)
    for name, noise in noises.items():
        found = simulate(name, Machine(noise), patch_sets)
        total = {rule: total[rule] + each / len(noises) for rule, each in found.items()}
        yield _line(name, patch_sets, found)
    yield _line("all of these", patch_sets * len(noises), total)


def _own(patch_sets: int) -> Iterator[str]:
    yield _head("the machine makes the patch's side slower")
    for own in OWN:
        for name, noise in _noises().items():
            found = simulate(f"by {share(own)}, {name}", Machine(noise, math.log1p(own)), patch_sets)
            yield _line(f"by {share(own)}, {name}", patch_sets, found)


def _slower(patch_sets: int) -> Iterator[str]:
    noises, copies = _noises(), Machine(normal(0.005), copies=COPIES)
    yield _head(f"one benchmark is {share(TRUE)} slower")
    for name, noise in noises.items():
        yield _line(name, patch_sets, simulate(name, Machine(noise), patch_sets, TRUE))
    yield _line(f"copies differ by {share(COPIES)}", patch_sets, simulate("copies", copies, patch_sets, TRUE))
    for title, seconds in (("", math.inf), (", half of the machine time", HALF)):
        yield _head(f"all {BENCHMARKS} benchmarks are slower{title}")
        for effect in (TRUE, 0.08):
            for spread in SPREADS:
                name = f"by {share(effect)}, spread {share(spread)}"
                machine = Machine(normal(spread))
                found = simulate(name, machine, patch_sets, effect, are_all=True, seconds=seconds)
                yield _line(name, patch_sets, found)


def _others(patch_sets: int) -> Iterator[str]:
    noises, copies = _noises(), Machine(normal(0.005), copies=COPIES)
    yield _head("nothing changed")
    yield _line(f"copies differ by {share(COPIES)}", patch_sets, simulate("copies", copies, patch_sets))
    yield _head(f"all slower by the floor, false alarms {share(ALARMING.false_alarms)}")
    for name in ("normal, spread 2 %", "heavy tails", "launch order"):
        found = simulate(name, Machine(noises[name]), patch_sets, ALARMING.floor, ALARMING, are_all=True)
        yield _line(name, patch_sets, found)


def main() -> int:
    """Print the tables, in percent of the patch sets; the slow-downs get fewer patch sets than the noises."""
    patch_sets = int(sys.argv[1]) if len(sys.argv) > 1 else 1250
    few = max(patch_sets // 10, 1)
    for lines in (_others(few), _own(few), _slower(few), _unchanged(patch_sets)):
        for line in lines:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
