"""Sum up comparisons in memory, series by series."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from service.domain.project.policy import Policy
from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.calibration.usefulness import NEWEST, MeasuredSeries, noise_of
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.reasons import SAME_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from service.ports.runs.shown import BuildOfRun, Run, RunWithBuilds
    from service.ports.verdict import Comparison

    Found = tuple[Run, BuildOfRun, Comparison]

_MEASURING = (Result.SUCCESS, Result.FAILURE, Result.UNSTABLE)


def measured_series(
    runs: Sequence[RunWithBuilds],
    since: datetime,
    rows: Mapping[int, Sequence[Comparison]],
    spent: Mapping[tuple[int, str], float],
    more_pairs: Mapping[int, float],
) -> list[MeasuredSeries]:
    """Sum up the newest build of each change.

    ``spent`` has the seconds of each build and suite, and ``more_pairs`` what would decide a series.
    """
    done = [
        (each.run, build)
        for each in runs
        if each.run.kind in {RunKind.CHECK, RunKind.POST_SUBMIT}
        for build in each.builds
        if build.result in _MEASURING and build.created_at >= since
    ]
    newest: dict[tuple[object, ...], tuple[Run, BuildOfRun]] = {}
    for run, build in sorted(done, key=lambda each: (each[0].patch_set or 0, each[1].id)):
        newest[(*_job(run, build), run.change or run.revision)] = run, build
    once = {build.id: (run, build) for run, build in newest.values()}  # a build may be in several runs
    by_job: defaultdict[tuple[str, ...], list[tuple[Run, BuildOfRun]]] = defaultdict(list)
    for run, build in (once[each] for each in sorted(once, reverse=True)):
        by_job[_job(run, build)].append((run, build))
    found: list[MeasuredSeries] = []
    for builds in by_job.values():
        by_series: defaultdict[int, list[Found]] = defaultdict(list)
        for run, build in builds[:NEWEST]:
            for row in rows.get(build.id, ()):
                if row.metric != INSTRUCTIONS.name:
                    by_series[row.series_id].append((run, build, row))
        suites = _suites(list(by_series.values()), spent)
        found += [
            _summed(series, of, len(by_series), more_pairs, suites[of[0][2].suite])
            for series, of in by_series.items()
        ]
    return sorted(found, key=lambda each: each.id)


def _job(run: Run, build: BuildOfRun) -> tuple[str, ...]:
    return run.instance, run.project, run.branch, build.job, build.pool


def _suites(
    series: Sequence[Sequence[Found]], spent: Mapping[tuple[int, str], float]
) -> Mapping[str, tuple[float, int]]:
    """Return the seconds of each suite's launches, and the builds that have some."""
    measured = {(build.id, row.suite) for found in series for _, build, row in found}
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for build_id, suite in measured:
        seconds[suite] += [spent[build_id, suite]] if (build_id, suite) in spent else []
    return {suite: (sum(each), len(each)) for suite, each in seconds.items()}


def _summed(
    series: int,
    found: Sequence[Found],
    family: int,
    more_pairs: Mapping[int, float],
    suite: tuple[float, int],
) -> MeasuredSeries:
    run, build, newest = found[0]
    rows = [row for *_, row in found]
    undecided = [row for row in rows if row.needs_pairs]

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
        family=family,
        builds=len(rows),
        undecided=len(undecided),
        differed=count(Verdict.SLOWER, Verdict.FASTER),
        failed=count(Verdict.FAILING),
        identical=sum(SAME_PROGRAM in row.reason for row in rows),
        noise=noise_of((row.pairs, row.error) for row in rows),
        undecided_pairs=[row.pairs for row in undecided],
        more_pairs=[more_pairs[series] for _ in undecided if series in more_pairs],
        suite_seconds=suite[0],
        suite_builds=suite[1],
    )
