"""Decide the outcome of a benchmark build, and group the comparisons that a message names.

The sentences are in :mod:`service.domain.wording.judgement`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import Policy, VoteWhen
from service.domain.runs.vote import Outcome
from service.domain.verdict.inference.reasons import OF_PATCH, ReasonKind, has_kind
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.verdict.inference.reasons import Reason

    Withheld = Mapping[ComparedRow, Reason]  # why rows may not vote −1

NOTHING_WITHHELD: Final[Withheld] = MappingProxyType({})


class Group(StrEnum):
    """Groups of comparisons that a message names, in its order."""

    BROKEN = auto()
    REMOVED = auto()
    SLOWER = auto()  # enough to vote −1
    WITHHELD = auto()  # slower by as much, without a vote
    SLIGHTLY_SLOWER = auto()
    FASTER = auto()
    FAILING = auto()  # on both sides
    UNDECIDED = auto()
    SAME = auto()
    NEW = auto()


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Circumstances that ended measuring before rows were decided.

    Args:
        missing_pairs: pairs that were missing to the first decisive look when the machine time ended.
        is_parent_lost: the parent could no longer be measured after some pairs.
        is_used_up_by_patch: slow launches of the patch left fewer pairs than the policy's base pairs.
    """

    missing_pairs: int = 0
    is_parent_lost: bool = False
    is_used_up_by_patch: bool = False


UNDISTURBED: Final = Circumstances()
_IDENTICAL: Final = frozenset({ReasonKind.SAME_PROGRAM})


@dataclass(frozen=True, slots=True)
class Judgement:
    """Outcome of a build with its reasons.

    Each group begins with the comparison to name first; ``rows`` counts all comparisons. ``empty_suites``
    measured nothing in the patch, but something in the base. ``missing_pairs`` is that of the circumstances
    if it withholds the vote.
    """

    outcome: Outcome
    groups: Mapping[Group, Sequence[Comparison]] = field(default_factory=dict)
    rows: int = 0
    empty_suites: Sequence[str] = ()
    withheld: Withheld = field(default_factory=dict)
    missing_pairs: int = 0

    @property
    def blamed(self) -> tuple[str, ...]:
        """Benchmarks that a person can accept: slower ones that vote −1, and removed ones."""
        rows = (row for group in (Group.SLOWER, Group.REMOVED) for row in self.groups.get(group, ()))
        return tuple(dict.fromkeys(each.row.benchmark for each in rows))


def judge(
    comparisons: Sequence[Comparison],
    policy: Policy,
    empty_suites: Sequence[str] = (),
    withheld: Withheld = NOTHING_WITHHELD,
    circumstances: Circumstances = UNDISTURBED,
) -> Judgement:
    """Judge a benchmark build; a ``withheld`` slower row is named, but does not vote."""
    groups = _groups(comparisons, policy, withheld)
    outcome, missing = _outcome(groups, policy, empty_suites, _has_failing_suite(comparisons)), 0
    if outcome is Outcome.UNDECIDED:
        outcome, missing = _undecided_under(circumstances), circumstances.missing_pairs
    return Judgement(outcome, groups, len(comparisons), empty_suites, withheld, missing)


def _groups(
    comparisons: Sequence[Comparison], policy: Policy, withheld: Withheld
) -> Mapping[Group, Sequence[Comparison]]:
    by_verdict = {v: [each for each in comparisons if each.verdict is v] for v in Verdict}
    slower = sorted(by_verdict[Verdict.SLOWER], key=lambda each: -each.worsening)
    is_large = {each.row: each.worsening >= policy.votes_from(each.row.benchmark) for each in slower}
    large = [each for each in slower if is_large[each.row]]
    # First rows with a lifted −1, which people wait for; then by the worst that is still possible, which is
    # anything without an interval.
    undecided = sorted(
        by_verdict[Verdict.UNDECIDED],
        key=lambda each: (not has_kind(each.reasons, {ReasonKind.SECOND_LIFTS}), -each.could_worsen_by),
    )
    return {
        Group.BROKEN: by_verdict[Verdict.BROKEN],
        Group.REMOVED: by_verdict[Verdict.REMOVED],
        Group.SLOWER: [each for each in large if each.row not in withheld],
        Group.WITHHELD: [each for each in large if each.row in withheld],
        Group.SLIGHTLY_SLOWER: [each for each in slower if not is_large[each.row]],
        Group.FASTER: sorted(by_verdict[Verdict.FASTER], key=lambda each: each.worsening),
        Group.FAILING: by_verdict[Verdict.FAILING],
        Group.UNDECIDED: undecided,
        # For the same program, the interval may have any width.
        Group.SAME: [
            each
            for each in by_verdict[Verdict.SAME]
            if not has_kind(each.reasons, _IDENTICAL) or _is_within(each, policy.same_within)
        ],
        Group.NEW: by_verdict[Verdict.NEW],
    }


def _outcome(
    groups: Mapping[Group, Sequence[Comparison]],
    policy: Policy,
    empty_suites: Sequence[str],
    has_failing_suite: bool,  # noqa: FBT001 - of the same rows
) -> Outcome:
    if empty_suites:
        return Outcome.MEASURED_NOTHING
    if groups[Group.BROKEN]:
        return Outcome.BROKEN
    if groups[Group.REMOVED]:
        return Outcome.REMOVED
    if groups[Group.SLOWER]:
        return Outcome.SLOWER
    if has_failing_suite:
        return Outcome.MISCONFIGURED
    return _without_a_failure(groups[Group.UNDECIDED], policy)


def _without_a_failure(undecided: Sequence[Comparison], policy: Policy) -> Outcome:
    """Decide the outcome if nothing fails: a row that is undecided because of the patch prevents the +1."""
    if not undecided:
        return Outcome.PASSED
    is_of_patch = any(has_kind(each.reasons, OF_PATCH) for each in undecided)
    is_withheld = is_of_patch or policy.on_undecided is VoteWhen.NONE
    return Outcome.UNDECIDED_WITHHELD if is_withheld else Outcome.UNDECIDED


def _undecided_under(circumstances: Circumstances) -> Outcome:
    """Decide the outcome of undecided rows: circumstances that a patch can bring about prevent the +1."""
    if circumstances.missing_pairs:
        # Otherwise a patch could earn a +1 by slow launches.
        return Outcome.UNDECIDED_WITHHELD
    if circumstances.is_parent_lost:
        # It failed after code of the patch ran, which may be the cause.
        return Outcome.INFRASTRUCTURE
    return Outcome.UNDECIDED_WITHHELD if circumstances.is_used_up_by_patch else Outcome.UNDECIDED


def _is_within(found: Comparison, share: float) -> bool:
    """Return whether the interval contains no larger change."""
    return found.interval is not None and all(
        abs(math.log(bound)) <= math.log1p(share) for bound in found.interval if bound > 0
    )


def _has_failing_suite(comparisons: Iterable[Comparison]) -> bool:
    """Return whether a suite has no benchmark of both sides that either side can measure."""
    failing, measured = set[str](), set[str]()
    for each in comparisons:
        if each.verdict is Verdict.FAILING:
            failing.add(each.row.suite)
        # The same program is the same without a pair.
        elif each.verdict is not Verdict.NEW and (each.pairs or not has_kind(each.reasons, _IDENTICAL)):
            measured.add(each.row.suite)
    return not failing <= measured
