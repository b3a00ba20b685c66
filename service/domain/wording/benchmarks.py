"""Write what benchmarks find, what to fix, and whether a series votes."""

from __future__ import annotations

from statistics import median_low
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import BASE_PAIRS
from service.domain.values.text import counted, duration, plain, share
from service.domain.verdict.calibration.evidence import (
    BEYOND_LIMIT,
    LEAST_SESSIONS,
    MOST_ALARMS,
    NOISE_LIMIT,
    RECALLED,
)
from service.domain.verdict.calibration.usefulness import (
    DAYS,
    HARDLY,
    MANY_PAIRS,
    MOSTLY,
    Fault,
    benchmarks_of,
    suites_of,
)
from service.domain.verdict.inference.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.domain.verdict.calibration.evidence import VotingStatus
    from service.domain.verdict.calibration.usefulness import MeasuredSeries, Suggestion

NOT_VOTING: Final = "no: its job has voting: false"
_FAR: Final = "votes with a control, or far beyond that"
# Why a series does not vote, and what would change it.
WITHHELD: Final[Mapping[ReasonKind, str | Callable[..., str]]] = MappingProxyType(
    {
        ReasonKind.ON_PROBATION: "yes, with a control; {} of {} A/A pairs, {} of {} sessions",
        ReasonKind.NO_EVIDENCE: "yes, with a control; no A/A pairs",
        ReasonKind.SUSPENDED: lambda alarms, sessions: (
            f"suspended: {counted(alarms, 'false alarm')} in {counted(sessions, 'A/A session')}; votes again "
            f"with at most {MOST_ALARMS} in the last {RECALLED}, of {LEAST_SESSIONS} or more"
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
        Fault.FAILING: "{those} failed on both sides in at least half of the builds: repair what fails.",
        Fault.UNCHANGED: (
            "{those} had the same program on both sides in every build, like their whole job: narrow its "
            "paths."
        ),
        Fault.UNDECIDED: (
            f"{{those}} ended undecided in at least {10 * MOSTLY:.0f} of 10 builds, with fewer than "
            f"{BASE_PAIRS} pairs: give the job more machine_time."
        ),
        Fault.NOISY: (
            "{those} ended undecided in at least half of the builds, and need more than "
            f"{MANY_PAIRS} pairs to find a slow-down of the limit: make them quieter."
        ),
    }
)
_MOST_SUITES: Final = 3


def summary_sentence(rows: Sequence[MeasuredSeries]) -> str:
    """Write the summary: benchmarks for checks and merged commits, and the suites with most machine time."""
    count = len(benchmarks_of(rows))
    if not count:
        return f"No benchmark was measured in the last {DAYS} days."
    suites = suites_of(rows)
    whole = (
        f"Checks and merged commits of the last {DAYS} days measured {counted(count, 'benchmark')} in "
        f"{counted(len(suites), 'suite')}."
    )
    timed = [_suite_time(each) for each in suites if each.suite_seconds]
    more = f", and {len(timed) - _MOST_SUITES} more" if len(timed) > _MOST_SUITES else ""
    return f"{whole} Most machine time: {'; '.join(timed[:_MOST_SUITES])}{more}." if timed else whole


def _suite_time(row: MeasuredSeries) -> str:
    key = row.key
    where = f"{plain(key.suite, 60)} of {plain(key.job, 60)} on {plain(key.branch, 60)}"
    return f"{where}, {_hours(row.suite_seconds)} in its last {counted(row.suite_builds, 'build')}"


def suggestion_sentence(found: Suggestion) -> str:
    """Write what to fix."""
    return _SUGGESTED[found.fault].format(those=counted(found.benchmarks, "benchmark"))


def worst_text(found: Suggestion) -> str:
    """Write the figures of the worst benchmark of a suggestion."""
    row = found.worst
    match found.fault:
        case Fault.FAILING:
            return f"failed in {row.failed} of {row.builds} builds"
        case Fault.UNCHANGED:
            return f"the same program in {row.identical} of {row.builds} builds"
        case Fault.UNDECIDED:
            missing = round(median_low(row.more_pairs))
            undecided = f"undecided in {row.undecided} of {row.builds} builds, {finds_sentence(row)}"
            return f"{undecided}; about {missing} more pairs would decide half of them"
        case Fault.NOISY:
            return f"{noise_text(row)} a pair, limit {share(row.limit)}, {finds_sentence(row)}"


def finds_sentence(row: MeasuredSeries) -> str:
    """Write which slow-downs a series finds; that it guards hardly anything only beyond :data:`HARDLY`."""
    if row.noise is None:
        return "noise unknown"
    if row.finds_from is None:
        return f"its {counted(row.pairs, 'pair')} cannot prove a slow-down"
    found = f"finds slow-downs from {finds_text(row)} on"
    return f"hardly guards anything: {found}" if row.finds_from > HARDLY else found


def finds_text(row: MeasuredSeries) -> str:
    """Write the smallest slow-down that a series finds half of the time: ``about 9 %``; a dash if unknown."""
    return "–" if row.finds_from is None else f"about {share(float(f'{row.finds_from:.2g}'))}"


def noise_text(row: MeasuredSeries) -> str:
    """Write the standard deviation of a pair's ratio: ``±1.2 %``; a dash if it is not known."""
    return "–" if row.noise is None else f"±{share(float(f'{row.noise:.2g}'))}"


def pairs_text(row: MeasuredSeries) -> str:
    """Write the pairs that find a slow-down of the limit: ``about 24 for 2 %``; a dash if unknown."""
    if row.noise is None:
        return "–"
    pairs = row.pairs_needed
    needed = "over 1,000" if pairs is None else f"about {pairs}"
    return f"{needed} for {share(row.limit)}"


def vote_text(status: VotingStatus, *, is_voting: bool, session_in: float = 0.0) -> str:
    """Write whether a series votes on a machine; if it does not, why, and what would change it.

    ``session_in`` is after how many seconds the machine may have its next session.
    """
    if not is_voting:
        return NOT_VOTING
    if status.why_not is None:
        return "yes"
    form = WITHHELD[status.why_not.kind]
    facts = status.why_not.facts
    why = form.format(*facts) if isinstance(form, str) else form(*facts)
    when = f"in {duration(session_in)} at the earliest" if session_in else "when the machine is idle"
    return f"{why}; next A/A session {when}"


def _hours(seconds: float) -> str:
    """Write machine time: ``40 s``, ``12 min``, ``3.4 h``, ``31 h``."""
    hours = seconds / 3600
    return f"{hours:.1f} h" if 1 <= hours < 10 else duration(seconds)  # noqa: PLR2004 - two digits
