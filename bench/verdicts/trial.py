"""Try rules on recorded sessions: how often they are wrong, what they find, and what that costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from zlib import crc32

import numpy as np

from bench.verdicts.intervals import Share, share_by_cluster
from bench.verdicts.rules import BENCHMARKS, Said
from bench.verdicts.series import series_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench.verdicts.rules import Answer, Rule
    from bench.verdicts.series import Series
    from bench.verdicts.session import Session

EFFECTS: Final = (0.01, 0.02, 0.03, 0.05, 0.10)  # the first is the floor: to call it slower is wrong too
PATCH_SETS: Final = 400  # without an alarm they prove less than 1 % with 95 % confidence: 299 are enough
REDRAWS: Final = 8  # of each session, for power and cost


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of a rule.

    Args:
        rule: its name.
        recorded: unchanged benchmarks called changed, with the launch order that was recorded.
        false: the same, with other launch orders.
        alarmed: patch sets of 100 unchanged benchmarks that it would stop.
        disturbed: patch sets of 100 in which it calls anything changed.
        undecided: unchanged measurable benchmarks that stay undecided.
        found: by effect, the slow-downs of measurable benchmarks that it finds.
        found_calm: the same, of all benchmarks whose pairs spread little, even if many lie far off.
        undecided_calm: unchanged ones of these that stay undecided.
        missed: by effect, those that it calls the same.
        wrong: slow-downs that it calls faster.
        pairs: mean, of an unchanged measurable benchmark.
        seconds: by effect (0: none), mean machine seconds for a measurable benchmark, session by session.
    """

    rule: str
    recorded: Share
    false: Share
    alarmed: Share
    disturbed: Share
    undecided: Share
    found: dict[float, Share]
    found_calm: dict[float, Share]
    undecided_calm: Share
    missed: dict[float, Share]
    wrong: Share
    pairs: float
    seconds: dict[float, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Trial:
    """The sessions and benchmarks that rules are tried on."""

    sessions: Sequence[Session]
    measurable: frozenset[str]
    calm: frozenset[str]
    seed: int = 1

    def run(self, rule: Rule) -> Outcome:
        """Try a rule; every rule sees the same draws."""
        series = {session.name: series_of(session, rule.launching) for session in self.sessions}
        unchanged = self._judge(rule, series, 0.0)
        by_effect = {effect: self._judge(rule, series, effect) for effect in EFFECTS}
        sets = list(self._patch_sets(rule, series))
        quiet = [each for each in unchanged if each.benchmark in self.measurable]
        return Outcome(
            rule=rule.name,
            recorded=_share(self._as_recorded(rule, series), lambda a: a.said.is_alarm),
            false=_share(unchanged, lambda a: a.said.is_alarm),
            alarmed=Share.of(sum(any(a.would_vote for a in each) for each in sets), len(sets)),
            disturbed=Share.of(sum(any(a.said.is_alarm for a in each) for each in sets), len(sets)),
            undecided=_share(quiet, lambda a: a.said is Said.UNDECIDED),
            found={
                effect: _share(self._quiet(judged), lambda a: a.said is Said.SLOWER)
                for effect, judged in by_effect.items()
            },
            found_calm={
                effect: _share(self._calm(judged), lambda a: a.said is Said.SLOWER)
                for effect, judged in by_effect.items()
            },
            undecided_calm=_share(self._calm(unchanged), lambda a: a.said is Said.UNDECIDED),
            missed={
                effect: _share(self._quiet(judged), lambda a: a.said is Said.SAME)
                for effect, judged in by_effect.items()
            },
            wrong=_share(
                [each for judged in by_effect.values() for each in judged], lambda a: a.said is Said.FASTER
            ),
            pairs=float(np.mean([each.answer.pairs for each in quiet])),
            seconds={
                effect: _seconds(self._quiet(judged))
                for effect, judged in ((0.0, unchanged), *by_effect.items())
            },
        )

    def _as_recorded(self, rule: Rule, series: dict[str, tuple[Series, ...]]) -> list[_Judged]:
        return [_Judged(name, s.benchmark, rule.judge(s)) for name, each in series.items() for s in each]

    def _judge(self, rule: Rule, series: dict[str, tuple[Series, ...]], effect: float) -> list[_Judged]:
        found = []
        for name, each in series.items():
            rng = np.random.default_rng([self.seed, crc32(name.encode())])
            for _ in range(REDRAWS):
                found += [
                    _Judged(name, s.benchmark, rule.judge(_slowed(s, effect))) for s in redrawn(each, rng)
                ]
        return found

    def _patch_sets(self, rule: Rule, series: dict[str, tuple[Series, ...]]) -> Iterator[list[Answer]]:
        """Patch sets of unchanged benchmarks: whole sessions, drawn again and again, one after the other."""
        rng = np.random.default_rng([self.seed, 7])
        names = list(series)
        for _ in range(PATCH_SETS):
            answers: list[Answer] = []
            while len(answers) < BENCHMARKS:
                drawn = redrawn(series[names[rng.integers(len(names))]], rng)
                answers += [rule.judge(each) for each in drawn]
            yield answers[:BENCHMARKS]

    def _calm(self, judged: Sequence[_Judged]) -> list[_Judged]:
        return [each for each in judged if each.benchmark in self.calm]

    def _quiet(self, judged: Sequence[_Judged]) -> list[_Judged]:
        return [each for each in judged if each.benchmark in self.measurable]


@dataclass(frozen=True, slots=True)
class _Judged:
    session: str
    benchmark: str
    answer: Answer


def redrawn(series: Sequence[Series], rng: np.random.Generator) -> list[Series]:
    """Redraw a session: another start, and another random launch order.

    Both sides are the same program, so another order within a pair would have exchanged their values. One
    start and one draw per pair serve all benchmarks, as in a build. For a rule that rests on the launch
    order, a redraw of unchanged benchmarks tests its arithmetic, not the machine; for the others both.
    """
    pairs = len(series[0].values)
    start = rng.integers(pairs)
    order = (start + np.arange(pairs)) % pairs
    is_swapped = rng.random(pairs) < 0.5
    turn = -1 if rng.random() < 0.5 else 1
    return [
        replace(
            each,
            values=np.where(is_swapped[:, None], each.values[order, ::-1], each.values[order]),
            seconds=each.seconds[order],
            disturbed=each.disturbed[order],
            long=each.long[::turn],
        )
        for each in series
    ]


def _slowed(series: Series, effect: float) -> Series:
    slow = np.array([1.0, 1.0 + effect])
    return replace(series, values=series.values * slow, long=series.long * slow[:, None])


def _share(judged: Sequence[_Judged], is_counted: Callable[[Answer], bool]) -> Share:
    hits: Counter[str] = Counter()
    of: Counter[str] = Counter()
    for each in judged:
        of[each.session] += 1
        hits[each.session] += is_counted(each.answer)
    return share_by_cluster([(hits[name], of[name]) for name in of])


def _seconds(judged: Sequence[_Judged]) -> dict[str, float]:
    names = dict.fromkeys(each.session for each in judged)
    return {
        name: float(np.mean([each.answer.seconds for each in judged if each.session == name]))
        for name in names
    }
