"""Sum up comparisons in memory, series by series."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

from service.domain.project.policy import Policy
from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.calibration.evidence import TRIMMED_MEAN
from service.domain.verdict.calibration.usefulness import NEWEST, MeasuredSeries
from service.domain.verdict.inference.estimate import MIN_PAIRS, TRIMMED_FROM
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.reasons import SAME_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from service.ports.runs.shown import BuildOfRun, Run, RunWithBuilds
    from service.ports.verdict import Comparison

    Found = tuple[Run, BuildOfRun, Comparison, float]

_MEASURING = (Result.SUCCESS, Result.FAILURE, Result.UNSTABLE)


def measured_series(
    runs: Sequence[RunWithBuilds],
    since: datetime,
    rows: Mapping[int, Sequence[Comparison]],
    spent: Mapping[tuple[int, str], float],
) -> list[MeasuredSeries]:
    """Sum up the newest builds of each job and branch; ``spent`` has the seconds of each build and suite."""
    done = [
        (each.run, build)
        for each in runs
        if each.run.kind in {RunKind.CHECK, RunKind.POST_SUBMIT}
        for build in each.builds
        if build.result in _MEASURING and build.created_at >= since
    ]
    by_job: defaultdict[tuple[str, ...], list[tuple[Run, BuildOfRun]]] = defaultdict(list)
    once = {build.id: (run, build) for run, build in reversed(done)}  # a build may be in several runs
    for run, build in (once[each] for each in sorted(once, reverse=True)):
        by_job[run.instance, run.project, run.branch, build.job, build.pool].append((run, build))
    by_series: defaultdict[int, list[Found]] = defaultdict(list)
    for builds in by_job.values():
        for run, build in builds[:NEWEST]:
            found = rows.get(build.id, ())
            for row in found:
                pairs = sum(each.pairs for each in found if each.suite == row.suite)
                share = row.pairs / pairs if pairs else 0.0
                times = len(builds) / min(len(builds), NEWEST)
                seconds = times * share * spent.get((build.id, row.suite), 0.0)
                by_series[row.series_id].append((run, build, row, seconds))
    return [_summed(series, by_series[series]) for series in sorted(by_series)]


def _summed(series: int, found: Sequence[Found]) -> MeasuredSeries:
    run, build, newest, _ = found[0]
    rows = [row for _, _, row, _ in found]
    noise = [
        row.error * math.sqrt(row.pairs) / (1 if row.pairs < TRIMMED_FROM else TRIMMED_MEAN)
        for row in rows
        if row.error is not None and row.pairs >= MIN_PAIRS
    ]

    def count(*verdicts: Verdict) -> int:
        return sum(row.verdict in verdicts for row in rows)

    return MeasuredSeries(
        id=series,
        key=SeriesKey(
            instance=run.instance,
            project=run.project,
            branch=run.branch,
            machine_class=build.pool,
            job=build.job,
            suite=newest.suite,
            benchmark=newest.benchmark,
            metric=newest.metric,
        ),
        policy=Policy(),
        is_voting=build.is_voting,
        builds=len(rows),
        undecided=count(Verdict.UNDECIDED),
        differed=count(Verdict.SLOWER, Verdict.FASTER),
        failed=count(Verdict.BROKEN, Verdict.FAILING),
        identical=sum(SAME_PROGRAM in row.reason for row in rows),
        noise=median(noise) if noise else None,
        seconds=sum(seconds for *_, seconds in found),
    )
