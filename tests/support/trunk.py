"""Checks and merged commits with results, to store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from service.domain.measuring.metric import Better
from service.domain.project.project_file import parse_job
from service.domain.runs.slowdown import Slowdown
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.regression import GateSaid, RegressionList, RegressionState, Weight
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.trunk import RegressedResult, Regression
from tests.support.building.build_host import spec_of
from tests.support.memory.state import NOW
from tests.support.store_samples import change, check_run, compared, named, post_submit_run, start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.ports.store import Transaction

    Row = tuple[Verdict, tuple[Reason, ...]]
SLOWER: Final = (Verdict.SLOWER, ())
JOB: Final = {
    "kind": "benchmark",
    "suites": [{"name": "executor", "program": "build/executor"}],
    "owners": {"BM_a": ["ann@example.com", "team@example.com"], "*": ["team@example.com"]},
}
ERROR: Final = 0.003  # of results with a ratio
NO_RATIOS: Final[Mapping[SeriesKey, tuple[float, float, float]]] = {}
_CHANGED: Final = {Verdict.SLOWER: (1.1, 1.09, 1.11), Verdict.FASTER: (0.9, 0.89, 0.91)}
WITHHELD: Final = (Verdict.SLOWER, (Reason(ReasonKind.ON_PROBATION, (8, 40, 1, 3)),))


def key(benchmark: str, metric: str = "real_time") -> SeriesKey:
    return SeriesKey("review", "kv_engine", "master", "perf", "cv-perf", "executor", benchmark, metric)


def measured(
    tx: Transaction,
    run_id: int,
    rows: Mapping[SeriesKey, Row],
    *,
    votes: bool = True,
    is_voting: bool = True,
    ratios: Mapping[SeriesKey, tuple[float, float, float]] = NO_RATIOS,
    outcome: Outcome | None = None,
    job: str = "cv-perf",
    pool: str = "perf",
) -> int:
    """A build of the run with these results; the slower ones vote unless they are withheld.

    ``ratios`` are the ratio and its interval of some.
    """
    run = tx.runs.lock(run_id)
    spec = replace(spec_of(parse_job(job, JOB)), kind=run.kind)
    new = named(job, sequence="", is_voting=is_voting, spec=spec.to_mapping(), pool=pool)
    build_id = tx.builds.add(run_id, 0, new)
    finish(tx, build_id, run.kind, rows, votes=votes, ratios=ratios, outcome=outcome)
    return build_id


def finish(
    tx: Transaction,
    build_id: int,
    kind: RunKind,
    rows: Mapping[SeriesKey, Row],
    *,
    votes: bool = True,
    ratios: Mapping[SeriesKey, tuple[float, float, float]] = NO_RATIOS,
    outcome: Outcome | None = None,
) -> None:
    """End a build with these results, as in :func:`measured`."""
    build = tx.builds.lock(build_id)
    found = [compared(each, verdict, *reasons) for each, (verdict, reasons) in rows.items()]
    found = [replace(each, position=place) for place, each in enumerate(found)]
    for place, each in enumerate(found):
        if changed := ratios.get(each.series, _CHANGED.get(each.verdict)):
            ratio, low, high = changed
            found[place] = replace(each, ratio=ratio, low=low, high=high, error=ERROR)
    series = {each: ("s", "higher" if each.metric.endswith("per_second") else "lower") for each in rows}
    tx.measurements.store_results(build, kind, series, [], found)
    slower = [each.benchmark for each, row in rows.items() if row == SLOWER]
    slowdowns = [
        Slowdown(each, "real_time", Better.LOWER, 0.1, 0.09, 0.11, "cv-perf", "executor")
        for each in slower
        if votes
    ]
    tx.measurements.store_slowdowns(build_id, slowdowns)
    outcome = outcome or (Outcome.SLOWER if slowdowns else Outcome.PASSED)
    tx.builds.finish(build_id, outcome, [], [each.benchmark for each in slowdowns])


def check(tx: Transaction, rows: Mapping[SeriesKey, Row], *, number: int = 7, is_voting: bool = True) -> int:
    """A finished check of a change; return the id of its patch set."""
    record = tx.changes.upsert(change(number))
    run = start(tx, check_run(record.patch_set_id, change(number).current.revision))
    measured(tx, run, rows, is_voting=is_voting)
    tx.runs.end(run, RunState.FINISHED)
    return record.patch_set_id


def merge(
    tx: Transaction,
    patch_set_id: int | None,
    rows: Mapping[SeriesKey, Row],
    revision: str = "2" * 40,
    *,
    votes: bool = True,
    ratios: Mapping[SeriesKey, tuple[float, float, float]] = NO_RATIOS,
) -> int:
    """A run on the merged commit; return its id."""
    run = start(tx, replace(post_submit_run(revision), patch_set_id=patch_set_id))
    measured(tx, run, rows, votes=votes, ratios=ratios)
    return run


def longer(tx: Transaction, merged: int, rows: Mapping[SeriesKey, Row], **others: Any) -> int:  # noqa: ANN401 - of measured
    """A finished run that measured a merged commit longer."""
    run = tx.runs.lock(merged)
    new = replace(post_submit_run(run.revision), kind=RunKind.LONGER, pool="perf", parent="p" * 40)
    made = start(tx, replace(new, previous_id=merged))
    measured(tx, made, rows, **others)
    tx.runs.end(made, RunState.FINISHED)
    return made


def shown_regression(benchmark: str, ratio: float) -> Regression:
    """A new regression as pages show it."""
    worst = RegressedResult(
        series_id=1,
        job="cv-perf",
        number=1,
        suite="executor",
        benchmark=benchmark,
        metric="real_time",
        unit="s",
        better=Better.LOWER,
        weight=Weight.COUNTS,
        gate_said=GateSaid.UNDECIDED,
        ratio=ratio,
        low=ratio - 0.01,
        high=ratio + 0.01,
    )
    return Regression(
        id=12,
        list=RegressionList.NEW,
        state=RegressionState.UNTRIAGED,
        weight=Weight.COUNTS,
        instance="review",
        project="kv_engine",
        branch="master",
        revision="2" * 40,
        parent="1" * 40,
        subject="Make it quick",
        author="Ann",
        change=None,
        change_address=None,
        patch_set=None,
        run_id=1,
        is_range=False,
        found_at=NOW,
        assignee="",
        bug="",
        note="",
        changed_by="",
        changed_at=None,
        results=1,
        worst=worst,
    )
