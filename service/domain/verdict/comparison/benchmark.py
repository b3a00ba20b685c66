"""The comparison of one benchmark: a row for each metric, and one for real time if it joins."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import takewhile
from statistics import median
from typing import TYPE_CHECKING, Final

from service.domain.measuring.metric import RATES, metric_named, own_clock
from service.domain.values.identity import Side
from service.domain.verdict.comparison.answers import Answers, failures_as_slowest, why_no_answer
from service.domain.verdict.comparison.clock import JOIN_SHARE, why_real_time_joins
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


# Standard deviations of a sum of random signs: about one in 2,000 rows, and one in 231 whatever the noise is.
_CERTAIN: Final = 3.3
_MUCH: Final = 2.0  # times the parent's scatter: a smaller excess seldom is what leaves a row undecided


def name_scatter(
    found: Comparison, base: Sequence[float | None], patch: Sequence[float | None]
) -> Comparison:
    """Add a reason of the patch to an undecided row if its own values scatter far more than its parent's.

    If there are too few pairs to be certain, the row says that more may show it.

    Each side's scatter is the distance of its log values from their median. If the patch changes nothing, the
    two sides of a pair can change places: then the signs of the differences of these distances are random,
    whatever the noise, and their sum is as far from zero as this with probability exp(−z² ÷ 2) at most
    (Hoeffding, "Probability inequalities for sums of bounded random variables", 1963).

    Args:
        found: the comparison of the row.
        base: the parent's values, element k of pair k; a pair with a None or without a ratio is left out.
        patch: the same of the patch.
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
    """The rule by which rows are decided."""

    policy: Policy
    family: float  # the number of hypotheses that can vote
    schedule: Sequence[int]  # the numbers of pairs to look at; a single one for recorded, complete data
    joins: bool = True  # whether real time may join a benchmark whose clock is CPU time
    joined: frozenset[tuple[str, str]] = frozenset()  # by suite and name those that it joined before

    def first_look(self, pairs: Pairs) -> Pairs:
        """Return the pairs of the first look, none before it: a choice that rests on them is final."""
        if self._is_single:
            return pairs
        first = self.schedule[0]
        return pairs[:first] if len(pairs) >= first else ()

    def exact_schedule(self, pairs: int) -> Sequence[int]:
        """List the numbers of pairs after which a counter is compared exactly."""
        return (pairs,) if self._is_single else exact_looks(self.policy, self.family)

    @property
    def least_failures(self) -> int:
        """The least number of failed launches that cannot be chance; recorded data are complete."""
        return 1 if self._is_single else MIN_PAIRS

    @property
    def _is_single(self) -> bool:
        return len(self.schedule) == 1


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark, with the launches of each side that ran it, by pair in order."""

    name: str
    is_asked: bool  # the suite names metrics; otherwise the benchmark's own clock is judged
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
        # The pairs before the first one in which repetitions of a launch differ.
        alike = takewhile(lambda pair: not any(key in launch.varying for launch in pair), pairs)
        repeating = self._complete(row, alike)
        schedule = rule.exact_schedule(len(repeating))
        exact = compare_exactly(row, repeating, schedule, rule.policy, rule.family)
        exact = None if exact is None else answers.qualify(exact, slowest)
        # Both are final once they decide, and so is the earlier of them.
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
        # Fewer bytes for the same work are no slow-down, unless the suite says that bytes are the work.
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
        """The values of both sides in each pair in which the row was launched, None for no answer.

        A launch in which a repetition fails gives no answer, whatever the others report.
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


def _because(found: Comparison, reason: Reason) -> Comparison:
    return found._replace(reasons=(*found.reasons, reason))
