"""Compare one benchmark: a row for each metric, and one for real time if CPU time misses part of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import takewhile
from statistics import median
from typing import TYPE_CHECKING, Final

from service.domain.measuring.metric import RATES, is_process_clock, metric_named, own_clock
from service.domain.values.identity import Side
from service.domain.verdict.comparison.answers import Answers, failures_as_slowest, why_no_answer
from service.domain.verdict.comparison.work_rate import (
    canonical_metrics,
    derive_from,
    value_per_unit,
    work_change,
)
from service.domain.verdict.inference.estimate import MIN_PAIRS
from service.domain.verdict.inference.exact_counters import compare_exactly, exact_looks
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict, compare_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from service.domain.measuring.launch import Launch
    from service.domain.project.policy import Policy
    from service.domain.verdict.comparison.work_rate import WorkChange
    from service.domain.verdict.inference.verdict import Comparison

    Pairs = Sequence[tuple[Launch, Launch]]
    Samples = Sequence[float | None]


JOIN_SHARE: Final = 0.25  # of a benchmark's error, on top of it, for real time that may join and seldom does
_JOINS_ABOVE: Final = 1.2  # real seconds per CPU second: below, rounding and preemption explain them
_JOINS_AFTER: Final = 0.05  # change of that quotient between the sides
# Standard deviations of a sum of random signs: exceeded in about 1 of 2,000 rows, at most in 1 of 231.
_CERTAIN: Final = 3.3
_MUCH: Final = 2.0  # times the parent's scatter: a smaller excess seldom leaves a row undecided


def name_scatter(
    found: Comparison, base: Sequence[float | None], patch: Sequence[float | None]
) -> Comparison:
    """Add a reason to an undecided row if the patch's values scatter far more than the parent's.

    With too few pairs to be certain, the row is marked ``may_only_patch_scatter``.

    Scatter is the distance of a side's log values from their median. If the patch changes nothing, the sides
    of a pair are exchangeable: the signs of the differences of these distances are random, whatever the
    noise, and their sum exceeds z standard deviations with probability exp(−z² ÷ 2) at most (Hoeffding,
    "Probability inequalities for sums of bounded random variables", 1963).

    Args:
        found: the comparison of the row.
        base: the parent's values; element k belongs to pair k. A pair without a ratio is left out.
        patch: those of the patch.
    """
    pairs = [
        (math.log(b), math.log(p))
        for b, p in zip(base, patch, strict=True)
        if b is not None and p is not None and b > 0 and p > 0
    ]
    if found.verdict is not Verdict.UNDECIDED or not pairs:
        return found
    ours, theirs = (_distances([pair[side] for pair in pairs]) for side in (1, 0))
    more = [p - b for b, p in zip(theirs, ours, strict=True)]
    if sum(more) <= 0 or sum(ours) < _MUCH * sum(theirs):
        return found
    if sum(more) <= _CERTAIN * math.sqrt(sum(each**2 for each in more)):
        return found._replace(may_only_patch_scatter=True)
    times = sum(ours) / sum(theirs) if sum(theirs) else math.inf
    return found._replace(reasons=(*found.reasons, Reason(ReasonKind.ONLY_PATCH_SCATTERS, (times,))))


def _distances(values: Sequence[float]) -> list[float]:
    middle = median(values)
    return [abs(value - middle) for value in values]


@dataclass(frozen=True, slots=True)
class Rule:
    """Parameters of the decision on rows."""

    policy: Policy
    family: float  # number of hypotheses that can vote
    schedule: Sequence[int]  # numbers of pairs to look at; a single one for recorded, complete data
    joins: bool = True  # real time may join a benchmark that is judged by CPU time
    joined: frozenset[tuple[str, str]] = frozenset()  # suites and benchmarks that it joined before

    def first_look(self, pairs: Pairs) -> Pairs:
        """Return the pairs of the first look, none before it, so that a choice by them is final."""
        if self._is_single:
            return pairs
        first = self.schedule[0]
        return pairs[:first] if len(pairs) >= first else ()

    def exact_schedule(self, pairs: int) -> Sequence[int]:
        """List the numbers of pairs after which a counter is compared exactly."""
        return (pairs,) if self._is_single else exact_looks(self.policy, self.family)

    @property
    def least_failures(self) -> int:
        """Number of failed launches that cannot be chance; recorded data are complete."""
        return 1 if self._is_single else MIN_PAIRS

    @property
    def _is_single(self) -> bool:
        return len(self.schedule) == 1


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark with the launches that ran it, by side and pair."""

    name: str
    is_asked: bool  # the suite names metrics; else the benchmark's own clock is judged
    base: Mapping[int, Launch]
    patch: Mapping[int, Launch]
    launched: int  # pairs of the suite

    def comparisons(self, rows: Sequence[ComparedRow], rule: Rule) -> Iterator[Comparison]:
        """Compare each row, and real time if it joins."""
        pairs = [
            (one, other)
            for pair, one in self.base.items()
            if (other := self.patch.get(pair)) and not (self.name in one.errors or self.name in other.errors)
        ]
        first = rule.first_look(pairs)
        work = self._work_change(first, [row.metric.name for row in rows])
        canonical_of = canonical_metrics(self.name, [row.metric.name for row in rows])
        by_name = {row.metric.name: row for row in rows}
        found = {
            each: self._judge(by_name[each], pairs, work, rule)
            for each in dict.fromkeys(canonical_of.values())
        }
        for metric, row in by_name.items():
            if metric in found:
                yield found[metric]
            else:
                yield self._derive(found[canonical_of[metric]], row, pairs, work, rule)
        reason = None if self.is_asked or not rule.joins else self._why_real_time_joins(first)
        is_joined = not self.is_asked and (rows[0].suite, self.name) in rule.joined
        if reason is not None or is_joined:
            real = ComparedRow(rows[0].suite, self.name, metric_named("real_time"))
            lesser = replace(rule, family=rule.family / JOIN_SHARE)
            judged = self._judge(real, pairs, work, lesser)
            yield judged if reason is None else _because(judged, reason)

    def _judge(self, row: ComparedRow, pairs: Pairs, work: WorkChange | None, rule: Rule) -> Comparison:
        base, patch = self._samples(row, work)
        answers = self._answers(row, base, patch)
        if found := answers.settle(rule.least_failures):
            return found

        def slowest() -> Comparison:
            filled = failures_as_slowest(row.metric, base, patch)
            return compare_pairs(row, *filled, rule.policy, 1, rule.schedule)

        compared = compare_pairs(row, base, patch, rule.policy, rule.family, rule.schedule)
        usual = name_scatter(answers.qualify(compared, slowest), base, patch)
        if row.metric.is_speed:
            return _because(usual, work.reason)._replace(per=work.rate) if work and usual.pairs else usual
        key = (self.name, row.metric.name)
        # Pairs up to the first with unequal repetitions in a launch.
        alike = takewhile(lambda pair: not any(key in launch.varying for launch in pair), pairs)
        repeating = self._complete(row, alike)
        schedule = rule.exact_schedule(len(repeating))
        exact = compare_exactly(row, repeating, schedule, rule.policy, rule.family)
        exact = None if exact is None else answers.qualify(exact, slowest)
        # Both are final once they decide, so the earlier one counts.
        is_earlier = exact is not None and (not usual.verdict.is_decided or exact.pairs <= usual.pairs)
        return exact if exact is not None and is_earlier else usual

    def _derive(
        self, canonical: Comparison, row: ComparedRow, pairs: Pairs, work: WorkChange | None, rule: Rule
    ) -> Comparison:
        """Derive a rate's row from the row that tests the same hypothesis."""
        if found := self._answers(row, *self._samples(row, None)).settle(rule.least_failures):
            return found
        complete = self._complete(row, pairs)
        if not canonical.pairs or not complete:
            return self._judge(row, pairs, None, rule)
        own = self._work_change(rule.first_look(pairs), [row.metric.name, own_clock(self.name)])
        followed = derive_from(canonical, row, complete[: canonical.pairs])
        is_apart = own is not None and (work is None or own.rate != work.rate)
        reason = Reason(ReasonKind.JUDGED_BY, (canonical.row.metric.label,))
        return _because(followed, reason) if is_apart else followed

    def _work_change(self, first: Pairs, metrics: Sequence[str]) -> WorkChange | None:
        if self.is_asked and own_clock(self.name) not in metrics:
            return None
        # Fewer bytes for the same work are no slow-down, unless the suite declares bytes to be the work.
        rates = [rate for rate in RATES if rate in metrics] if self.is_asked else RATES[:1]
        values = [(one.values.get(self.name, {}), other.values.get(self.name, {})) for one, other in first]
        return work_change(self.name, values, rates)

    def _why_real_time_joins(self, first: Pairs) -> Reason | None:
        sides = zip(*first, strict=True) if first else ((), ())
        base, patch = (
            [each.real_per_cpu[self.name] for each in launches if self.name in each.real_per_cpu]
            for launches in sides
        )
        return why_real_time_joins(self.name, base, patch)

    def _answers(self, row: ComparedRow, base: Samples, patch: Samples) -> Answers:
        launches = {Side.BASE: self.base.values(), Side.PATCH: self.patch.values()}
        why = why_no_answer(self.name, row.metric.label, launches)
        pairs = tuple((b is not None, p is not None) for b, p in zip(base, patch, strict=True))
        return Answers(row, pairs, why, len(pairs) or self.launched)

    def _samples(self, row: ComparedRow, work: WorkChange | None) -> tuple[Samples, Samples]:
        """List the values of both sides in each pair that launched the row, None for no answer.

        A launch with a failed repetition gives no answer, whatever the others report.
        """
        asked = sorted({*self.base, *self.patch})
        base, patch = (
            [
                self._value(row, launch, work)
                if (launch := ours.get(pair)) is not None and self.name not in launch.errors
                else None
                for pair in asked
            ]
            for ours in (self.base, self.patch)
        )
        return base, patch

    def _value(self, row: ComparedRow, launch: Launch, work: WorkChange | None) -> float | None:
        values = launch.values.get(self.name, {})
        return value_per_unit(work.rate if work else "", self.name, row.metric.name, values)

    def _complete(
        self, row: ComparedRow, pairs: Iterable[tuple[Launch, Launch]]
    ) -> list[tuple[float, float]]:
        values = ((self._value(row, one, None), self._value(row, other, None)) for one, other in pairs)
        return [(base, patch) for base, patch in values if base is not None and patch is not None]


def why_real_time_joins(benchmark: str, base: Sequence[float], patch: Sequence[float]) -> Reason | None:
    """Find what the benchmark's CPU time does not count, so that real time is judged too; None if nothing.

    ``base`` and ``patch`` are the real seconds per CPU second of the launches of the first look, and of no
    other, so that more pairs do not change the answer.
    """
    if not base or not patch:
        return None
    before, after = median(base), median(patch)
    is_of_process = int(is_process_clock(benchmark))
    if max(before, after) > _JOINS_ABOVE:
        return Reason(ReasonKind.REAL_TIME_LONGER, (max(before, after), is_of_process))
    if abs(math.log(after / before)) > math.log1p(_JOINS_AFTER):
        return Reason(ReasonKind.REAL_TIME_MOVED, (after / before, is_of_process))
    return None


def _because(found: Comparison, reason: Reason) -> Comparison:
    return found._replace(reasons=(*found.reasons, reason))
