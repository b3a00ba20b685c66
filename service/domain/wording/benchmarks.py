"""Write what benchmarks cost, what to delete or fix, and whether a series votes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.values.text import counted, duration, share
from service.domain.verdict.calibration.evidence import (
    BEYOND_LIMIT,
    MOST_ALARMS,
    NOISE_LIMIT,
    RECALLED,
)
from service.domain.verdict.calibration.usefulness import DAYS, MANY_PAIRS, Fault
from service.domain.verdict.inference.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.verdict.calibration.evidence import VotingStatus
    from service.domain.verdict.calibration.usefulness import MeasuredSeries, Suggestion, SuiteCost

NOT_VOTING: Final = "no: its job has voting: false"
_FAR: Final = "only a slow-down far beyond that votes"
# Why a series does not vote, and what would change it.
WITHHELD: Final[Mapping[ReasonKind, str | Callable[..., str]]] = MappingProxyType(
    {
        ReasonKind.ON_PROBATION: "not yet: {} of {} A/A pairs, {} of {} sessions; idle machines measure them",
        ReasonKind.NO_EVIDENCE: "not yet: no A/A pairs; idle machines measure them",
        ReasonKind.SUSPENDED: (
            f"suspended: {{}} false alarms in {{}} A/A sessions; votes again with at most {MOST_ALARMS} in "
            f"the last {RECALLED}"
        ),
        ReasonKind.NOISY: lambda spread: (
            f"too noisy: A/A pairs vary by {share(spread)}, limit {share(NOISE_LIMIT)}; {_FAR}"
        ),
        ReasonKind.FAR_OFF: lambda part: (
            f"too noisy: {share(part)} of A/A pairs are off by more than 3 %, limit {share(BEYOND_LIMIT)}; "
            f"{_FAR}"
        ),
    }
)
_SUGGESTED: Final[Mapping[Fault, str]] = MappingProxyType(
    {
        Fault.FAILING: "Repair or delete: {those}, failing in at least half of the builds ({cost}).",
        Fault.UNCHANGED: "Narrow paths: {those}, the same program on both sides in every build ({cost}).",
        Fault.UNDECIDED: (
            "Delete, or give more machine_time: {those}, undecided in most builds and never different "
            "({cost})."
        ),
        Fault.NOISY: (
            "Make quieter, or raise vote_at_of: {those}, so noisy that a slow-down of the limit takes more "
            f"than {MANY_PAIRS} pairs ({{cost}})."
        ),
        Fault.COSTLY: (
            "Shorten by min_time, repetitions or machine_time_of: {those} with a large part of the machine "
            "time each ({cost})."
        ),
    }
)


def cost_sentence(cost: SuiteCost) -> str:
    """Write the summary: benchmarks, machine time, and the few that take much of it."""
    if not cost.benchmarks:
        return f"No benchmark was measured in the last {DAYS} days."
    verb = "costs" if cost.benchmarks == 1 else "cost"
    benchmarks = counted(cost.benchmarks, "benchmark")
    whole = f"{benchmarks} {verb} {_hours(cost.seconds)} of machine time in {DAYS} days"
    if not cost.few:
        return f"{whole}."
    tenths = round(10 * cost.few_undecided)
    undecided = f", undecided in {tenths} of 10 builds" if tenths else ""
    return f"{whole}; {cost.few} of them took {share(round(cost.few_share, 2))} of it{undecided}."


def suggestion_sentence(found: Suggestion) -> str:
    """Write what to delete or fix, with the machine time that it takes now."""
    those, cost = (
        counted(found.benchmarks, "benchmark"),
        f"{_hours(found.seconds)} of {_hours(found.of_seconds)}",
    )
    return _SUGGESTED[found.fault].format(those=those, cost=cost)


def worst_text(found: Suggestion) -> str:
    """Write the figure of the worst benchmark of a suggestion."""
    row = found.worst
    match found.fault:
        case Fault.FAILING:
            return f"failed in {row.failed} of {row.builds} builds"
        case Fault.UNCHANGED:
            return f"the same program in {row.identical} of {row.builds} builds"
        case Fault.UNDECIDED:
            return f"undecided in {row.undecided} of {row.builds} builds"
        case Fault.NOISY:
            return f"{noise_text(row)} a pair, limit {share(row.limit)}"
        case Fault.COSTLY:
            return _hours(row.seconds)


def noise_text(row: MeasuredSeries) -> str:
    """Write the standard deviation of a pair's ratio: ``±1.2 %``; a dash if it is not known."""
    return "–" if row.noise is None else f"±{share(float(f'{row.noise:.2g}'))}"


def pairs_text(row: MeasuredSeries) -> str:
    """Write the pairs that find a slow-down of the limit: ``24 for 2 %``; a dash if they are not known."""
    if row.noise is None:
        return "–"
    needed = "over 1,000" if row.pairs_needed is None else str(row.pairs_needed)
    return f"{needed} for {share(row.limit)}"


def vote_text(status: VotingStatus, *, is_voting: bool) -> str:
    """Write whether a series votes on a machine; if it does not, why, and what would change it."""
    if not is_voting:
        return NOT_VOTING
    if status.why_not is None:
        return "yes"
    form = WITHHELD[status.why_not.kind]
    facts = status.why_not.facts
    return form.format(*facts) if isinstance(form, str) else form(*facts)


def _hours(seconds: float) -> str:
    """Write machine time: ``40 s``, ``12 min``, ``3.4 h``, ``31 h``."""
    hours = seconds / 3600
    return f"{hours:.1f} h" if 1 <= hours < 10 else duration(seconds)  # noqa: PLR2004 - two digits
