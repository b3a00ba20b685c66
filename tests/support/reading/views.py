"""Builders of views: each returns a valid view that a test changes where it matters."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from service.domain.measuring.metric import Better
from service.domain.project.job_kinds import JobKind
from service.domain.review.change import ChangeStatus
from service.domain.runs.health import SILENT_AFTER, Condition, Heartbeat, PoolQueue
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome, Result
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.line import Step
from service.domain.wording.standing import PoolMachine
from service.ports.machines import Machine
from service.ports.reading import STEP_DAYS
from service.ports.review.shown import Change, PatchSet
from service.ports.runs.shown import BuildOfRun, Decision, Override, Run, Tally
from service.ports.verdict import Anchor, Comparison, Point, Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from service.domain.runs.overrides import OverrideKind

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


def healthy(**changes: object) -> Condition:
    """A service without problems, except for the given changes."""
    heartbeats = (Heartbeat("schedule", NOW), Heartbeat("reconcile", NOW))
    queues = (PoolQueue("perf", 0, None, NOW),)
    return replace(Condition(NOW, None, 0, None, 0, queues, heartbeats), **changes)  # type: ignore[arg-type]


def comparison(
    series_id: int, benchmark: str, ratio: float | None, verdict: Verdict, **more: object
) -> Comparison:
    """A comparison of items per second around 12 million, with an interval of ±0.6 %."""
    base = None if ratio is None else 1.2e7 * (1 + 0.07 * (series_id % 9))
    view = Comparison(
        series_id=series_id,
        suite="executor",
        benchmark=benchmark,
        metric="items_per_second",
        unit="1/s",
        better=Better.HIGHER,
        verdict=verdict,
        pairs=24 if ratio is not None else 0,
        ratio=ratio,
        low=None if ratio is None else ratio * 0.994,
        high=None if ratio is None else ratio * 1.006,
        base=base,
        patch=None if ratio is None or base is None else base * ratio,
        reason="",
        needs_pairs=verdict is Verdict.UNDECIDED,
    )
    return replace(view, **more)  # type: ignore[arg-type]


def samples_like(row: Comparison) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Samples such as a comparison may come from; the fifth pair was discarded."""
    noise = random.Random(row.series_id)  # noqa: S311 - data to look at
    base = [(row.base or 0) * math.exp(noise.gauss(0, 0.008)) for _ in range(row.pairs)]
    patch: list[float | None] = [b * (row.ratio or 1) * math.exp(noise.gauss(0, 0.006)) for b in base]
    return tuple(None if k == 4 else b for k, b in enumerate(base)), tuple(patch)


def tally_of(rows: Sequence[Comparison]) -> Tally:
    """The tally of a build with these rows."""
    results = [row for row in rows if row.metric != "instructions"]
    slower = [row for row in results if row.verdict is Verdict.SLOWER]
    ratios = (row.ratio for row in slower if row.ratio)
    return Tally(
        results=len(results),
        slower=len(slower),
        faster=sum(row.verdict is Verdict.FASTER for row in results),
        worst=max(ratios, key=lambda ratio: max(ratio, 1 / ratio), default=None),
        not_counted=tuple(row.not_counted for row in slower if row.not_counted),
    )


def build_view(build_id: int, number: int, **more: object) -> BuildOfRun:
    """A finished benchmark build."""
    build = BuildOfRun(
        id=build_id,
        job="kv-engine-cv-perf",
        number=number,
        kind=JobKind("benchmark"),
        pool="perf",
        state=BuildState.FINISHED,
        phase="analyse",
        result=Result.SUCCESS,
        outcome=Outcome.PASSED,
        causes=(),
        is_voting=True,
        is_reused=False,
        attempt=1,
        machine="perf-01",
        created_at=NOW - timedelta(minutes=30),
        started_at=NOW - timedelta(minutes=28),
        finished_at=NOW - timedelta(minutes=19, seconds=20),
        floor=0.01,
        undecided=0,
        seed="5f0c2a7e",
        waived_by="",
    )
    return replace(build, **more)  # type: ignore[arg-type]


def override_view(kind: OverrideKind, who: str, **more: object) -> Override:
    """An active override of ten minutes ago."""
    view = Override(
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
    return replace(view, **more)  # type: ignore[arg-type]


def change_view(number: int, subject: str, **more: object) -> Change:
    """An open change with one patch set."""
    change = Change(
        id=number,
        instance="gerrit",
        number=number,
        address=str(number),
        project="kv_engine",
        branch="master",
        subject=subject,
        owner="Dana Meyer",
        status=ChangeStatus.NEW,
        updated_at=NOW - timedelta(minutes=200 - number % 100),
        patch_set=1,
        revision=f"{number:x}" * 8,
        vote=None,
        header="",
        run_id=None,
        run_state=None,
        builds=0,
        finished_builds=0,
        undecided=0,
        cause="",
    )
    return replace(change, **more)  # type: ignore[arg-type]


def patch_set_view(change: Change) -> PatchSet:
    """The newest patch set of a change."""
    return PatchSet(
        id=change.id * 100 + change.patch_set,
        number=change.patch_set,
        revision=change.revision,
        author=change.owner,
        subject=change.subject,
        kind="REWORK",
        created_at=NOW - timedelta(minutes=32),
        vote=change.vote,
        header=change.header,
        undecided=0,
    )


def run_view(change: Change, parent: str) -> Run:
    """The newest check run of a change."""
    return Run(
        id=change.run_id or 0,
        kind=RunKind.CHECK,
        state=change.run_state or RunState.PLANNING,
        instance=change.instance,
        project=change.project,
        branch=change.branch,
        revision=change.revision,
        parent=parent,
        subject=change.subject,
        author=change.owner,
        reason="",
        change=change.number,
        change_address=f"{change.instance}~{change.number}",
        patch_set=change.patch_set,
        created_at=NOW - timedelta(minutes=31),
        finished_at=NOW - timedelta(minutes=19) if change.run_state is RunState.FINISHED else None,
        label="Verified",
    )


def decision_view(change: Change, message: str) -> Decision:
    """The decision on the newest check run of a change."""
    return Decision(
        run_id=change.run_id or 0,
        number=1,
        vote=change.vote,
        header=change.header,
        message=message or change.header,
        created_at=NOW,
        review_state="",
        review_note="",
    )


def series_view(series_id: int, benchmark: str, **more: object) -> Series:
    """A series of items per second."""
    series = Series(
        id=series_id,
        instance="gerrit",
        project="kv_engine",
        branch="master",
        machine_class="epyc-9354p",
        job="kv-engine-cv-perf",
        suite="executor",
        benchmark=benchmark,
        metric="items_per_second",
        unit="1/s",
        better=Better.HIGHER,
    )
    return replace(series, **more)  # type: ignore[arg-type]


def machine_view(name: str, **more: object) -> Machine:
    """An idle machine that was just seen."""
    machine = Machine(
        name=name,
        machine_class="epyc-9354p",
        pool="perf",
        host=name,
        first_seen_at=NOW - timedelta(days=80),
        last_seen_at=NOW,
        environment_id=1,
        environment=ENVIRONMENT,
        build=None,
        obstacle="",
    )
    return replace(machine, **{"is_busy": more.get("build") is not None, **more})  # type: ignore[arg-type]


def pool_machine(machine: Machine) -> PoolMachine:
    """A machine as a waiting build sees it."""
    is_silent = machine.last_seen_at < NOW - SILENT_AFTER
    closed_by = machine.closed_by(NOW)
    obstacle = machine.closure.reason if closed_by and machine.closure else machine.obstacle
    return PoolMachine(
        machine.name, obstacle, is_silent=is_silent, is_busy=machine.is_busy, closed_by=closed_by
    )


def trend_point(index: int, value: float, **more: object) -> Point:
    """A merged commit's point, the index-th in time."""
    point = Point(
        kind=RunKind.POST_SUBMIT,
        measured_at=NOW - timedelta(hours=6 * (60 - index)),
        job="kv-engine-cv-perf",
        number=100 + index,
        environment_id=1,
        machine="perf-01",
        verdict=Verdict.SAME,
        pairs=16,
        base=value,
        patch=value,
        ratio=1.0,
        low=0.992,
        high=1.008,
        run_id=1000 + index,
        revision=f"{index:04x}c0ffee{index:04x}",
        parent=f"{index - 1:04x}c0ffee{index - 1:04x}" if index else "0" * 12,
        error=0.004,
        subject=f"MB-{60000 + index}: Keep the pool's threads warm",
        author="Dana Meyer",
        change=500 + index,
        change_address=str(500 + index),
        patch_set=2,
    )
    point = replace(point, **more)  # type: ignore[arg-type]
    return replace(point, change_address=None if point.change is None else str(point.change))


def anchor_between(base: Point, patch: Point, ratio: float) -> Anchor:
    """The commits of two points, measured together."""
    return Anchor(
        verdict=Verdict.SAME if ratio == 1 else Verdict.SLOWER,
        pairs=20,
        base=1.0,
        patch=ratio,
        ratio=ratio,
        low=ratio - 0.03,
        high=ratio + 0.03,
        error=0.01,
        revision=patch.revision,
        parent=base.revision,
        measured_at=patch.measured_at,
    )


def steps_before(moment: datetime, points: Iterable[Point]) -> tuple[Step, ...]:
    """Return the steps of merged commits in the ``STEP_DAYS`` before a moment, the oldest first."""
    begin = moment - timedelta(days=STEP_DAYS)
    merged = [
        each for each in points if each.kind is RunKind.POST_SUBMIT and begin < each.measured_at < moment
    ]
    return tuple(
        Step(
            each.revision,
            each.parent,
            each.measured_at,
            math.log(each.ratio) if each.ratio else None,
            verdict=each.verdict,
        )
        for each in sorted(merged, key=lambda point: point.measured_at)
        if each.parent
    )
