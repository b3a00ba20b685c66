"""A/A sessions in a build's launches: the rows whose two sides were the same program."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from service.domain.calibration.evidence import Session
from service.domain.comparison.suite import Listing, compare_suites
from service.domain.identity import Side
from service.domain.inference.estimate import MIN_PAIRS
from service.domain.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.comparison.launch import Launch
    from service.domain.inference.verdict import ComparedRow, Comparison
    from service.domain.project.job import Job

_GIVEN: Final = frozenset({Verdict.SLOWER, Verdict.FASTER, Verdict.SAME, Verdict.UNDECIDED})
Values = dict[tuple[str, str, str], dict[int, dict[Side, float]]]


def rule_verdicts(
    job: Job, listing: Sequence[Mapping[str, Any]], launches: Sequence[Launch]
) -> tuple[Comparison, ...]:
    """Judge each row as if nobody knew that two programs are the same."""
    listings = [Listing(each["suite"], tuple(each["base"]), tuple(each["patch"])) for each in listing]
    return compare_suites(job.benchmark.suites, listings, launches, job.policy)


def same_program_suites(listing: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The suites whose program was found to be the same on both sides."""
    return frozenset(each["suite"] for each in listing if each.get("same_program", False))


def sessions_of(
    rows: Iterable[Comparison], launches: Iterable[Launch], suites: frozenset[str]
) -> dict[ComparedRow, Session]:
    """The session of each row of these suites; rows too short for a verdict are none.

    ``rows`` are the result of :func:`rule_verdicts` for the same launches.
    """
    values = _values(each for each in launches if each.suite in suites)
    found: dict[ComparedRow, Session] = {}
    for row in rows:
        if row.row.suite in suites and row.verdict in _GIVEN:
            pairs = values.get((row.row.suite, row.row.benchmark, row.row.metric.name), {})
            logs = tuple(log for _, pair in sorted(pairs.items()) for log in _log_ratio(pair))
            if len(logs) >= MIN_PAIRS:
                found[row.row] = Session(logs, row.verdict)
    return found


def _values(launches: Iterable[Launch]) -> Values:
    found: Values = {}
    for launch in launches:
        for benchmark, metrics in launch.values.items():
            for metric, value in metrics.items():
                pairs = found.setdefault((launch.suite, benchmark, metric), {})
                pairs.setdefault(launch.pair, {})[launch.side] = value
    return found


def _log_ratio(pair: Mapping[Side, float]) -> tuple[float, ...]:
    """The pair's log ratio; none if a side is missing, or is zero."""
    base, patch = pair.get(Side.BASE), pair.get(Side.PATCH)
    if base is None or patch is None:
        return ()
    if base == patch:
        return (0.0,)  # also of counters that are zero
    return (math.log(patch) - math.log(base),) if base > 0 and patch > 0 else ()
