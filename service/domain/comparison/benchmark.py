"""The comparison of one benchmark: a row for each metric, and one for real time if it joins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from service.domain.comparison.answers import Answers, why_no_answer
from service.domain.comparison.clock import JOIN_SHARE, why_real_time_joins
from service.domain.comparison.work_rate import (
    RATES,
    canonical_metrics,
    derive_from,
    value_per_unit,
    work_change,
)
from service.domain.identity import Side
from service.domain.inference.estimate import MIN_PAIRS
from service.domain.inference.exact_counters import compare_exactly, exact_looks
from service.domain.inference.metric import metric_named, own_clock
from service.domain.inference.reasons import Reason, ReasonKind
from service.domain.inference.verdict import ComparedRow, Comparison, compare_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from service.domain.comparison.launch import Launch
    from service.domain.comparison.work_rate import WorkChange
    from service.domain.inference.policy import Policy

    Pairs = Sequence[tuple[Launch, Launch]]


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule by which rows are decided."""

    policy: Policy
    family: float  # the number of hypotheses that can vote
    schedule: Sequence[int]  # the numbers of pairs to look at; a single one for recorded, complete data
    joins: bool = True  # whether real time may join a benchmark whose clock is CPU time

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
        if reason is not None:
            real = ComparedRow(rows[0].suite, self.name, metric_named("real_time"))
            lesser = replace(rule, family=rule.family / JOIN_SHARE)
            yield _because(self._judge(real, pairs, work, lesser), reason)

    def _judge(self, row: ComparedRow, pairs: Pairs, work: WorkChange | None, rule: Rule) -> Comparison:
        answers = self._answers(row, work)
        if found := answers.settle(rule.least_failures):
            return found
        values = [(self._value(row, one, work), self._value(row, other, work)) for one, other in pairs]
        base, patch = [value for value, _ in values], [value for _, value in values]
        usual = answers.qualify(compare_pairs(row, base, patch, rule.policy, rule.family, rule.schedule))
        if row.metric.is_speed:
            return _because(usual, work.reason)._replace(per=work.rate) if work and usual.pairs else usual
        key = (self.name, row.metric.name)
        # The pairs before the first one in which repetitions of a launch differ.
        alike = takewhile(lambda pair: not any(key in launch.varying for launch in pair), pairs)
        repeating = self._complete(row, alike)
        schedule = rule.exact_schedule(len(repeating))
        exact = compare_exactly(row, repeating, schedule, rule.policy, rule.family)
        exact = None if exact is None else answers.qualify(exact)
        # Both are final once they decide, and so is the earlier of them.
        is_earlier = exact is not None and (not usual.verdict.is_decided or exact.pairs <= usual.pairs)
        return exact if exact is not None and is_earlier else usual

    def _derive(
        self, canonical: Comparison, row: ComparedRow, pairs: Pairs, work: WorkChange | None, rule: Rule
    ) -> Comparison:
        """Derive a rate's row from the row that tests the same hypothesis."""
        if found := self._answers(row, None).settle(rule.least_failures):
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

    def _answers(self, row: ComparedRow, work: WorkChange | None) -> Answers:
        sides = {Side.BASE: self.base, Side.PATCH: self.patch}
        asked = sorted({*self.base, *self.patch})
        base, patch = (
            [pair in ours and self._value(row, ours[pair], work) is not None for pair in asked]
            for ours in sides.values()
        )
        launches = {side: ours.values() for side, ours in sides.items()}
        why = why_no_answer(self.name, row.metric.label, launches)
        return Answers(row, tuple(zip(base, patch, strict=True)), why, len(asked) or self.launched)

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
