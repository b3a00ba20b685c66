"""Changes with badges that say more than a vote."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from service.domain.review.change import ChangeStatus
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome, Result
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.runs.shown import RunWithBuilds
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import NOW, build_view, change_view, comparison, machine_view, run_view

if TYPE_CHECKING:
    from service.ports.review.shown import Change

MERGED, OVERRIDDEN, ON_PROBATION, QUEUED, AGAIN = 4730, 4731, 4732, 4733, 4734
BUSY = "other work takes 100 % of its CPUs"
PROBATION = (
    "no vote: on probation: this machine has no history for it (0 of 40 pairs of a program with itself, "
    "0 of 3 sessions)"
)
_WAITING = {
    "state": BuildState.QUEUED, "result": None, "outcome": None, "machine": None, "phase": "",
    "started_at": None, "finished_at": None,
}  # fmt: skip


def sample_standings() -> FakeReading:
    """One change for each badge, and two machines that take no builds."""
    reading = FakeReading()
    _add_merged(reading)
    sentence = "overridden by Bob Reviewer: the compiler of this pool crashes (MB-12)"
    failed = build_view(
        7310, 31, job="kv_engine.linux", result=Result.FAILURE, outcome=Outcome.FAILED,
        causes=("compile failed with exit code 1",), waived_by=sentence, waiver="overridden MB-12",
    )  # fmt: skip
    add_patch_set(reading, _voted(OVERRIDDEN, "MB-12: Read the clock once"), [(failed, [])])
    slower = comparison(
        320, "PureFollyExecutorBench/OneShot", 0.917, Verdict.SLOWER, reason=PROBATION,
        not_counted="not counted until 40 A/A pairs", clause="not counted until 40 A/A pairs",
    )  # fmt: skip
    add_patch_set(reading, _voted(ON_PROBATION, "Use a wider lock"), [(build_view(7320, 32), [slower])])
    for number, state in ((QUEUED, {}), (AGAIN, {"vote": 1, "header": "Build Successful"})):
        change = change_view(
            number, "Batch notifications", run_id=number, run_state=RunState.RUNNING, **state
        )
        add_patch_set(reading, change, [(build_view(number * 10, number - 4700, **_WAITING), [])])
    reading.machine_rows = [
        machine_view("perf-01", obstacle=BUSY),
        machine_view("perf-02", last_seen_at=NOW - timedelta(minutes=20)),
    ]
    return reading


def _voted(number: int, subject: str) -> Change:
    return change_view(
        number, subject, run_id=number, run_state=RunState.FINISHED, vote=1, header="Build Successful"
    )


def _add_merged(reading: FakeReading) -> None:
    change = replace(_voted(MERGED, "executor: Print the kind of a task"), status=ChangeStatus.MERGED)
    add_patch_set(reading, change, [(build_view(7300, 30), [comparison(301, "BM_a", 1.0, Verdict.SAME)])])
    row = comparison(301, "TaskStatsBench/LogQTime", 0.919, Verdict.SLOWER)
    cause = "1 of 1 result is slower; worst: TaskStatsBench/LogQTime items/s −8.1 % [−8.7, −7.5], 24 pairs"
    build = build_view(7301, 35, result=Result.FAILURE, outcome=Outcome.SLOWER, causes=(cause,))
    run = replace(run_view(change, "9" * 40), id=MERGED + 1000, kind=RunKind.POST_SUBMIT)
    reading.runs.append(RunWithBuilds(run, (build,), ()))
    reading.rows[build.id] = [row]
