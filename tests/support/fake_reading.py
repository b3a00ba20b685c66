"""A read port over values in memory, with a small project's worth of data to read."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from service.domain.errors import NotFound, Transient
from service.domain.health import Condition, Heartbeat, PoolQueue
from service.ports.views import (
    BuildDetail,
    BuildSummary,
    ChangeDetail,
    ChangeSummary,
    ComparisonView,
    DecisionView,
    MachineView,
    MeasuredBuild,
    MeasuredPatchSet,
    MeasuredPatchSets,
    OverrideView,
    PatchSetDetail,
    PatchSetSummary,
    RunDetail,
    RunSummary,
    SamplesView,
    SeriesSummary,
    Trend,
    TrendPoint,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.search import Words
    from service.ports.views import Cursor, VotingStatusView

T = TypeVar("T")
NOW = datetime(2026, 11, 21, 2, 36, tzinfo=UTC)
ENVIRONMENT = {
    "cpu_model": "AMD EPYC 9354P",
    "cpus": 64,
    "measured_cpus": "4-7",
    "governor": "performance",
    "turbo": "off",
    "smt": "off",
    "aslr": "off",
    "kernel": "6.1.0-28-amd64",
    "compiler": "g++ 12.2.0",
}


@dataclass
class FakeReading:
    """Answers from lists; every method behaves as its port promises."""

    change_rows: list[ChangeSummary] = field(default_factory=list)
    patch_sets: list[PatchSetDetail] = field(default_factory=list)
    runs: list[RunDetail] = field(default_factory=list)
    builds: list[BuildDetail] = field(default_factory=list)
    rows: dict[int, list[ComparisonView]] = field(default_factory=dict)
    trends: list[Trend] = field(default_factory=list)
    machine_rows: list[MachineView] = field(default_factory=list)
    standing_rows: list[VotingStatusView] = field(default_factory=list)
    state: Condition | None = None
    is_away: bool = False

    def changes(self, limit: int, after: Cursor | None = None) -> Sequence[ChangeSummary]:
        ordered = sorted(self.change_rows, key=lambda row: (row.updated_at, row.id), reverse=True)
        return [r for r in ordered if after is None or (r.updated_at, r.id) < (after.updated_at, after.id)][
            :limit
        ]

    def change(self, number: int) -> ChangeDetail:
        found = [each for each in self.patch_sets if each.change.number == number]
        if not found:
            raise NotFound(f"there is no change {number}")
        return ChangeDetail(found[0].change, tuple(each.patch_set for each in found))

    def patch_set(self, change: int, number: int | None = None) -> PatchSetDetail:
        for each in reversed(self.patch_sets):
            if each.change.number == change and number in {None, each.patch_set.number}:
                return each
        raise NotFound(f"change {change} has no patch set {number}")

    def measured_patch_sets(self, change: int, limit: int, before: int | None = None) -> MeasuredPatchSets:
        self.change(change)
        numbers = {each.patch_set.number for each in self.patch_sets if each.change.number == change}
        candidates = sorted((n for n in numbers if before is None or n < before), reverse=True)
        found = [each for each in (self._measured(change, number) for number in candidates) if each]
        return MeasuredPatchSets(tuple(found[:limit]), len(found[limit:]))

    def _measured(self, change: int, number: int) -> MeasuredPatchSet | None:
        runs = (each for each in self.runs if (each.run.change, each.run.patch_set) == (change, number))
        for run, builds in sorted(((each.run, each.builds) for each in runs), key=lambda r: -r[0].id):
            measured = tuple(
                MeasuredBuild(build.job, build.number, tuple(self.rows[build.id]))
                for build in builds
                if build.kind == "benchmark" and self.rows.get(build.id)
            )
            if measured and run.kind == "check":
                # Nothing in memory has trees of its own: equal parents have equal ones.
                return MeasuredPatchSet(number, run.revision, run.id, run.parent, run.parent, measured)
        return None

    def run(self, run_id: int) -> RunDetail:
        return _only((each for each in self.runs if each.run.id == run_id), f"there is no run {run_id}")

    def build(self, job: str, number: int) -> BuildDetail:
        found = (each for each in self.builds if (each.build.job, each.build.number) == (job, number))
        return _only(found, f"there is no build {job}/{number}")

    def comparisons(self, build_id: int, measured_at: datetime) -> Sequence[ComparisonView]:
        return self.rows.get(build_id, [])

    def samples(self, build_id: int, measured_at: datetime, series_id: int) -> SamplesView:
        rows = (row for row in self.rows.get(build_id, []) if row.series_id == series_id)
        row = _only(rows, f"the build holds no samples of series {series_id}")
        base, patch = samples_like(row)
        return SamplesView(
            row.series_id, row.suite, row.benchmark, row.metric, row.unit, row.better, base, patch
        )

    def series(self, words: Words, limit: int, after: int = 0) -> Sequence[SeriesSummary]:
        found = [trend.series for trend in self.trends if trend.series.id > after]
        return [s for s in found if words.matches(f"{s.benchmark} {s.metric} {s.suite} {s.job}")][:limit]

    def trend(self, series_id: int, limit: int) -> Trend:
        found = (each for each in self.trends if each.series.id == series_id)
        trend = _only(found, f"there is no series {series_id}")
        kinds = {point.kind for point in trend.points}
        newest = {kind: [p for p in trend.points if p.kind == kind][-limit:] for kind in kinds}
        return replace(trend, points=tuple(p for p in trend.points if p in newest[p.kind]))

    def machines(self) -> Sequence[MachineView]:
        return self.machine_rows

    def voting_statuses(self, limit: int, after: int = 0) -> Sequence[VotingStatusView]:
        return self.standing_rows[after:][:limit]

    def condition(self) -> Condition:
        if self.is_away:
            raise Transient("the database does not answer")
        return self.state or healthy()


def _only(found: Iterator[T], message: str) -> T:
    for each in found:
        return each
    raise NotFound(message)


def healthy(**changes: object) -> Condition:
    """A service that is well, but for the changes."""
    heartbeats = (Heartbeat("schedule", NOW, ""), Heartbeat("reconcile", NOW, ""))
    queues = (PoolQueue("perf", 0, None, NOW),)
    return replace(Condition(NOW, None, 0, None, 0, queues, heartbeats), **changes)  # type: ignore[arg-type]


def comparison(
    series_id: int, benchmark: str, ratio: float | None, verdict: str, **more: object
) -> ComparisonView:
    """A comparison of items per second around 12 million, with an interval of ±0.6 %."""
    base = None if ratio is None else 1.2e7 * (1 + 0.07 * (series_id % 9))
    view = ComparisonView(
        series_id=series_id,
        suite="executor",
        benchmark=benchmark,
        metric="items_per_second",
        unit="1/s",
        better="higher",
        verdict=verdict,
        pairs=24 if ratio is not None else 0,
        ratio=ratio,
        low=None if ratio is None else ratio * 0.994,
        high=None if ratio is None else ratio * 1.006,
        base=base,
        patch=None if ratio is None or base is None else base * ratio,
        reason="",
    )
    return replace(view, **more)  # type: ignore[arg-type]


def samples_like(row: ComparisonView) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Samples such as a comparison may come from; the fifth pair was discarded."""
    noise = random.Random(row.series_id)  # noqa: S311 - data to look at
    base = [(row.base or 0) * math.exp(noise.gauss(0, 0.008)) for _ in range(row.pairs)]
    patch: list[float | None] = [b * (row.ratio or 1) * math.exp(noise.gauss(0, 0.006)) for b in base]
    return tuple(None if k == 4 else b for k, b in enumerate(base)), tuple(patch)


def build_summary(build_id: int, number: int, **more: object) -> BuildSummary:
    """A finished benchmark build."""
    build = BuildSummary(
        id=build_id,
        job="kv-engine-cv-perf",
        number=number,
        kind="benchmark",
        pool="perf",
        state="finished",
        phase="analyse",
        result="SUCCESS",
        outcome="passed",
        causes=(),
        is_voting=True,
        is_reused=False,
        attempt=1,
        machine="perf-01",
        created_at=NOW - timedelta(minutes=30),
        started_at=NOW - timedelta(minutes=28),
        finished_at=NOW - timedelta(minutes=19, seconds=20),
        floor=0.01,
    )
    return replace(build, **more)  # type: ignore[arg-type]


def ruling_view(kind: str, who: str, **more: object) -> OverrideView:
    """What somebody decided ten minutes ago, and nobody took back."""
    override = OverrideView(
        kind=kind,
        who=who,
        reason="",
        bug="",
        filter="",
        at=NOW - timedelta(minutes=10),
        is_active=True,
        waives=(),
        sentence=f"{kind} by {who}",
    )
    return replace(override, **more)  # type: ignore[arg-type]


def change_summary(number: int, subject: str, **more: object) -> ChangeSummary:
    """An open change with one patch set."""
    change = ChangeSummary(
        id=number,
        instance="gerrit",
        number=number,
        project="kv_engine",
        branch="master",
        subject=subject,
        owner="Dana Meyer",
        status="NEW",
        updated_at=NOW - timedelta(minutes=200 - number % 100),
        patch_set=1,
        revision=f"{number:x}" * 8,
        vote=None,
        header="",
        run_id=None,
        run_state=None,
        builds=0,
        finished_builds=0,
        cause="",
    )
    return replace(change, **more)  # type: ignore[arg-type]


def trend_point(index: int, value: float, **more: object) -> TrendPoint:
    """A merged commit's point, the index-th in time."""
    point = TrendPoint(
        kind="post-submit",
        measured_at=NOW - timedelta(hours=6 * (60 - index)),
        job="kv-engine-cv-perf",
        number=100 + index,
        environment_id=1,
        machine="perf-01",
        verdict="same",
        pairs=16,
        base=value,
        patch=value,
        ratio=1.0,
        low=0.992,
        high=1.008,
        run_id=1000 + index,
        revision=f"{index:04x}c0ffee{index:04x}",
        subject=f"MB-{60000 + index}: Keep the pool's threads warm",
        author="Dana Meyer",
        change=500 + index,
        patch_set=2,
    )
    return replace(point, **more)  # type: ignore[arg-type]


def add_patch_set(
    reading: FakeReading,
    change: ChangeSummary,
    builds: Sequence[tuple[BuildSummary, Sequence[ComparisonView]]],
    message: str = "",
    parent: str = "9" * 40,
    overrides: Sequence[OverrideView] = (),
) -> None:
    """Store a patch set with one round of builds, and all that can be read of it."""
    has_run = change.run_id is not None
    run = RunSummary(
        id=change.run_id or 0,
        kind="check",
        state=change.run_state or "",
        project=change.project,
        branch=change.branch,
        revision=change.revision,
        parent=parent,
        subject=change.subject,
        author=change.owner,
        reason="",
        change=change.number,
        patch_set=change.patch_set,
        created_at=NOW - timedelta(minutes=31),
        finished_at=NOW - timedelta(minutes=19) if change.run_state == "finished" else None,
        label="Verified",
    )
    decision = DecisionView(run.id, 1, change.vote, change.header, message or change.header, NOW)
    decisions = (decision,) if change.header else ()
    patch_set = PatchSetSummary(
        number=change.patch_set,
        revision=change.revision,
        author=change.owner,
        subject=change.subject,
        kind="REWORK",
        created_at=NOW - timedelta(minutes=32),
        vote=change.vote,
        header=change.header,
    )
    summaries = tuple(build for build, _ in builds)
    reading.change_rows = [row for row in reading.change_rows if row.number != change.number] + [change]
    reading.patch_sets.append(
        PatchSetDetail(
            change,
            patch_set,
            f"{change.subject}\n\nChange-Id: I0123456789\n",
            decisions,
            (run,) if has_run else (),
            summaries,
            tuple(overrides),
        )
    )
    if has_run:
        reading.runs.append(RunDetail(run, summaries, decisions))
    for build, rows in builds:
        log = "log" if build.state == "finished" else None
        reading.builds.append(BuildDetail(build, (run,), log, 1, "a1b2c3", ENVIRONMENT))
        reading.rows[build.id] = list(rows)
