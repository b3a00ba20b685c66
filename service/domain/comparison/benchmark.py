"""The rows of one benchmark of both sides: each metric judged, and real time where it joins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

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
from service.domain.inference.verdict import ComparedRow, Comparison, Verdict, compare_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.domain.comparison.launch import Launch
    from service.domain.comparison.work_rate import WorkChange
    from service.domain.inference.policy import Policy

    Pairs = Sequence[tuple[Launch, Launch]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What rows are decided by.

    Args:
        policy: sizes and errors.
        family: the number of hypotheses that can vote.
        schedule: the numbers of pairs to look at; a single one for recorded, complete data.
        joins: whether real time may join a benchmark whose clock is CPU time.
    """

    policy: Policy
    family: float
    schedule: Sequence[int]
    joins: bool = True

    def first_look(self, pairs: Pairs) -> Pairs:
        """The pairs of the first look, none before it: what is chosen by them stays chosen."""
        if self._is_single:
            return pairs
        first = self.schedule[0]
        return pairs[:first] if len(pairs) >= first else ()

    def exact_schedule(self, pairs: int) -> Sequence[int]:
        """The numbers of pairs after which a counter is looked at as an exact one."""
        return (pairs,) if self._is_single else exact_looks(self.policy, self.family)

    @property
    def least_failures(self) -> int:
        """How many launches must fail alike before it is no chance; recorded data are all there is."""
        return 1 if self._is_single else MIN_PAIRS

    @property
    def _is_single(self) -> bool:
        return len(self.schedule) == 1


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What both sides' launches say of a benchmark.

    Args:
        name: the benchmark's.
        is_asked: whether the suite names metrics; otherwise its own clock is judged.
        base: by pair, the launches that say something of it, in the order of the pairs.
        patch: likewise.
    """

    name: str
    is_asked: bool
    base: Mapping[int, Launch]
    patch: Mapping[int, Launch]

    def comparisons(self, rows: Sequence[ComparedRow], rule: Rule) -> Iterator[Comparison]:
        """A comparison for each row, and one more where real time joins."""
        pairs = [(self.base[pair], self.patch[pair]) for pair in self.base if pair in self.patch]
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
        if found := self._one_sided(row, rule.least_failures):
            return found
        values = [(self._value(row, one, work), self._value(row, other, work)) for one, other in pairs]
        base, patch = [value for value, _ in values], [value for _, value in values]
        usual = compare_pairs(row, base, patch, rule.policy, rule.family, rule.schedule)
        if row.metric.is_speed:
            return _per_unit(usual, work) if work and usual.pairs else usual
        repeating = self._repeating(row, pairs)
        schedule = rule.exact_schedule(len(repeating))
        exact = compare_exactly(row, repeating, schedule, rule.policy, rule.family)
        # Both are final once they decide, and so is the earlier of them.
        is_earlier = exact is not None and (not usual.verdict.is_decided or exact.pairs <= usual.pairs)
        return exact if exact is not None and is_earlier else usual

    def _derive(
        self, canonical: Comparison, row: ComparedRow, pairs: Pairs, work: WorkChange | None, rule: Rule
    ) -> Comparison:
        """The row of a rate whose question another row answers."""
        if found := self._one_sided(row, rule.least_failures):
            return found
        values = [(self._value(row, one, None), self._value(row, other, None)) for one, other in pairs]
        complete = [(base, patch) for base, patch in values if base is not None and patch is not None]
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

    def _one_sided(self, row: ComparedRow, least: int) -> Comparison | None:
        """The comparison of what only one side ever reports; None where both do, or neither.

        It is final where that side did so ``least`` times or more.
        """
        base, patch = (
            [self._value(row, launch, None) is not None for launch in launches.values()]
            for launches in (self.base, self.patch)
        )
        if any(base) and any(patch):
            return None
        if lost := self._lost(is_in_base=any(base), is_in_patch=any(patch)):
            return Comparison(row, Verdict.UNDECIDED, reasons=(lost,))
        label = row.metric.label
        if any(base) and not all(base):
            reason = Reason(ReasonKind.SOMETIMES_IN_BASE, (label, sum(base), len(base)))
            return Comparison(row, Verdict.UNDECIDED, reasons=(reason,))
        if any(base):
            verdict = Verdict.BROKEN if len(base) >= least else Verdict.UNDECIDED
            return Comparison(row, verdict, reasons=(Reason(ReasonKind.NOT_IN_PATCH, (label,)),))
        if any(patch):
            verdict = Verdict.NEW if len(patch) >= least else Verdict.UNDECIDED
            return Comparison(row, verdict, reasons=(Reason(ReasonKind.NOT_IN_BASE, (label,)),))
        return None

    def _lost(self, *, is_in_base: bool, is_in_patch: bool) -> Reason | None:
        """Name why nothing of a side can be used although it did report something."""
        for side, launches, is_there in (
            (Side.PATCH, self.patch, is_in_patch),
            (Side.BASE, self.base, is_in_base),
        ):
            for launch in () if is_there else launches.values():
                if self.name in launch.lost:
                    return Reason(ReasonKind.UNUSABLE, (str(side), launch.lost[self.name]))
        return None

    def _value(self, row: ComparedRow, launch: Launch, work: WorkChange | None) -> float | None:
        values = launch.values.get(self.name, {})
        return value_per_unit(work.rate if work else "", self.name, row.metric.name, values)

    def _repeating(self, row: ComparedRow, pairs: Pairs) -> list[tuple[float, float]]:
        """The complete pairs before the first one in which repetitions of a launch differ."""
        found: list[tuple[float, float]] = []
        key = (self.name, row.metric.name)
        for one, other in pairs:
            base, patch = self._value(row, one, None), self._value(row, other, None)
            if key in one.varying or key in other.varying:
                break
            if base is not None and patch is not None:
                found.append((base, patch))
        return found


def _per_unit(found: Comparison, work: WorkChange) -> Comparison:
    return _because(found, work.reason)._replace(per=work.rate)


def _because(found: Comparison, reason: Reason) -> Comparison:
    return found._replace(reasons=(*found.reasons, reason))
