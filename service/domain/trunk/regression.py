"""Judge regressions: slow-downs that a merged commit shows against its parent, measured in pairs.

The gate had measured the same code before the merge. What it said then tells why the slow-down got in.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.verdict.inference.reasons import WITHHOLDING, ReasonKind
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


class Weight(StrEnum):
    """Weights of slower results. Values are stored; the order is that of their importance."""

    COUNTS = "counts"  # a check of it would vote −1
    NOT_COUNTED = "not counted"  # slower by as much, but the series may not vote yet, or not any more
    BELOW_LIMIT = "below limit"  # slower by less than ``vote_at``


class GateSaid(StrEnum):
    """Answers of a merged patch set's check about a benchmark; values are stored."""

    NO_CHECK = "no check"  # pushed without a review, or merged before the check ended
    NOT_MEASURED = "not measured"
    FASTER = "faster"
    SAME = "same"
    UNDECIDED = "undecided"
    NOT_COUNTED = "not counted"
    BELOW_LIMIT = "below limit"
    NOT_VOTING = "not voting"  # slower, but its job has no vote
    WAIVED = "waived"  # slower, but overridden or accepted
    VOTED = "voted"  # −1, and merged nevertheless
    SPREAD = "spread"  # several commits are slower together by more than single ones explain


class RegressionState(StrEnum):
    """Judgements of people about a regression; values are stored."""

    UNTRIAGED = "untriaged"
    CONFIRMED = "confirmed"  # to be fixed
    ACCEPTED = "accepted"  # wanted, or worth it
    MACHINE = "machine"  # the machine is the cause
    INVALID = "invalid"
    FIXED = "fixed"


class RegressionList(StrEnum):
    """Lists of regressions: each regression is in one."""

    NEW = "new"  # waits for a person
    OPEN = "open"  # confirmed, and not fixed
    SUSPECTED = "suspected"  # of series that may not vote
    SMALL = "small"  # below the limit of their job
    CLOSED = "closed"


CHOOSABLE: Final = tuple(each for each in RegressionState if each is not RegressionState.UNTRIAGED)
_LIST_OF_STATE: Final[Mapping[RegressionState, RegressionList | None]] = MappingProxyType(
    {
        RegressionState.UNTRIAGED: None,  # its weight decides
        RegressionState.CONFIRMED: RegressionList.OPEN,
        RegressionState.ACCEPTED: RegressionList.CLOSED,
        RegressionState.MACHINE: RegressionList.CLOSED,
        RegressionState.INVALID: RegressionList.CLOSED,
        RegressionState.FIXED: RegressionList.CLOSED,
    }
)
_LIST_OF_WEIGHT: Final[Mapping[Weight, RegressionList]] = MappingProxyType(
    {
        Weight.COUNTS: RegressionList.NEW,
        Weight.NOT_COUNTED: RegressionList.SUSPECTED,
        Weight.BELOW_LIMIT: RegressionList.SMALL,
    }
)
_SAID_BY_WEIGHT: Final[Mapping[Weight, GateSaid | None]] = MappingProxyType(
    {
        Weight.COUNTS: None,  # the vote decides
        Weight.NOT_COUNTED: GateSaid.NOT_COUNTED,
        Weight.BELOW_LIMIT: GateSaid.BELOW_LIMIT,
    }
)
_SAID_BY_VERDICT: Final[Mapping[Verdict, GateSaid | None]] = MappingProxyType(
    {
        Verdict.SLOWER: None,  # its weight decides
        Verdict.FASTER: GateSaid.FASTER,
        Verdict.SAME: GateSaid.SAME,
        Verdict.UNDECIDED: GateSaid.UNDECIDED,
        Verdict.NEW: GateSaid.NOT_MEASURED,
        Verdict.REMOVED: GateSaid.NOT_MEASURED,
        Verdict.BROKEN: GateSaid.NOT_MEASURED,
        Verdict.FAILING: GateSaid.NOT_MEASURED,
    }
)


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of a merged patch set's newest check on one series.

    Args:
        verdict: None if the check did not measure the series.
        weight: of a slower result.
        is_voting: of the job.
        build_id: None like the verdict.
    """

    verdict: Verdict | None = None
    weight: Weight = Weight.COUNTS
    is_voting: bool = True
    build_id: int | None = None


def weight_of(reasons: Collection[ReasonKind], *, votes: bool) -> Weight:
    """Weigh a slower result.

    Args:
        reasons: of its verdict.
        votes: its build was judged slower because of it.
    """
    if WITHHOLDING.intersection(reasons):
        return Weight.NOT_COUNTED
    return Weight.COUNTS if votes else Weight.BELOW_LIMIT


def gate_said(checked: Checked | None, waived: Collection[int] = ()) -> GateSaid:
    """Return why the gate let a slow-down in.

    Args:
        checked: None: no check of the patch set ended.
        waived: the builds of the check with a failure that a person waived.
    """
    if checked is None:
        return GateSaid.NO_CHECK
    if checked.verdict is None:
        return GateSaid.NOT_MEASURED
    said = _SAID_BY_VERDICT[checked.verdict] or _SAID_BY_WEIGHT[checked.weight]
    if said is not None:
        return said
    if not checked.is_voting:
        return GateSaid.NOT_VOTING
    return GateSaid.WAIVED if checked.build_id in waived else GateSaid.VOTED


def first_state(results: Iterable[tuple[Weight, bool]]) -> RegressionState:
    """Return the state of a new regression.

    A reviewer who accepted a slow-down before the merge need not do it again.

    Args:
        results: for each slower result its weight, and whether an ``accept`` covers it.
    """
    counted = [is_accepted for weight, is_accepted in results if weight is Weight.COUNTS]
    return RegressionState.ACCEPTED if counted and all(counted) else RegressionState.UNTRIAGED


def is_news(known: Mapping[int, Weight], results: Iterable[tuple[int, Weight]]) -> bool:
    """Return whether a slower result counts that did not count before.

    Args:
        known: the weights of the results so far, by series.
        results: the series and weight of each result of the newest run.
    """
    return any(weight is Weight.COUNTS and known.get(series) is not weight for series, weight in results)


def weights_with(known: Mapping[int, Weight], results: Iterable[tuple[int, Weight]]) -> dict[int, Weight]:
    """Return the weights by series after another run; a result that counted once still does."""
    found = dict(known)
    for series, weight in results:
        found[series] = heaviest([weight, found.get(series, weight)])
    return found


def state_with(state: RegressionState, first: RegressionState, *, is_news: bool) -> RegressionState:
    """Return the state of a regression whose commit was measured again.

    Args:
        state: before.
        first: what :func:`first_state` says of the new results.
        is_news: one that counts was not known before, so that no person has judged it.
    """
    is_closed = _LIST_OF_STATE[state] is RegressionList.CLOSED
    is_untriaged = is_news and first is RegressionState.UNTRIAGED
    return RegressionState.UNTRIAGED if is_closed and is_untriaged else state


def heaviest(weights: Iterable[Weight]) -> Weight:
    """Return the weight that counts most."""
    return min(weights, key=[*Weight].index)


def list_of(state: RegressionState, weight: Weight) -> RegressionList:
    """Return the list of a regression; ``weight`` is that of its heaviest result."""
    return _LIST_OF_STATE[state] or _LIST_OF_WEIGHT[weight]
