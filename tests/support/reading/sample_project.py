"""A project as its people would see it: votes of every kind, a regression, an epoch, hostile names."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import timedelta

from service.domain.measuring.metric import Better
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Policy
from service.domain.project.project_file import Permission
from service.domain.review.change import ChangeStatus
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome, Result
from service.domain.values.identity import BuildName, RunKind
from service.domain.verdict.calibration.evidence import History, Session, voting_status_of
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.clauses import explained
from service.ports.verdict import SeriesVotingStatus, SeriesWithPoints
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import (
    NOW,
    build_view,
    change_view,
    comparison,
    machine_view,
    override_view,
    series_view,
    trend_point,
)

HOSTILE_NAMES = (
    "<img src=x onerror=alert(1)>",
    '<a href="https://evil.example">BM_x</a>',
    "BM_Map<std::string, int>/8",
    '=HYPERLINK("https://evil.example")',
    "{{7*7}}${7*7}",
    "../../etc/passwd",
    "BM_\u202egnp.exe",
    "BM_" + "long_name/" * 300,
)
HOSTILE_CHANGE = 666
REGRESSION = 4712
ALTERNATIVES = 4720
REBASED = 4721
OVERRIDDEN = 4722
_FIXTURES = ("OneShotScheduleRun", "RepeatedNotify", "SnoozeWake", "FutureQueuePop", "MixedLoad")
WIDE = (
    "single pairs vary by 5 %, so the result is only known to ±3.9 %; "
    "about 31 more pairs (2 min) would decide it"
)
[VARIES] = explained([Reason(ReasonKind.WIDE_INTERVAL, (0.05, 0.039))])


def sample_project() -> FakeReading:
    """Changes with votes, one of them full of hostile names, and series over sixty commits."""
    reading = FakeReading()
    _add_regression(reading)
    _add_others(reading)
    _add_hostile_change(reading)
    _add_overridden_change(reading)
    _add_alternatives(reading, ALTERNATIVES, tries=3)
    _add_alternatives(reading, REBASED, tries=8)
    _add_trends(reading)
    busy = BuildName("kv-engine-cv-perf", 5907)
    reading.machine_rows = [
        machine_view("perf-01"),
        machine_view("perf-02", last_seen_at=NOW - timedelta(seconds=4), build=busy),
    ]
    _add_voting_statuses(reading)
    return reading


def _add_regression(reading: FakeReading) -> None:
    noise = random.Random(7)  # noqa: S311 - data to look at
    rows = [
        comparison(1, "PureFollyExecutorBench/OneShotScheduleRun/real_time/threads:4", 0.877, Verdict.SLOWER),
        comparison(2, "PureFollyExecutorBench/OneShotScheduleRun/real_time/threads:2", 0.958, Verdict.SLOWER),
        comparison(3, "TaskStatsBench/LogQTime", 1.214, Verdict.FASTER),
        comparison(4, "CB3ExecutorBench/SnoozeWake/real_time/threads:16", 0.985, Verdict.UNDECIDED,
                   low=0.948, high=1.024,
                   reason=WIDE, clause="about 31 more pairs (2 min) would decide it", explained=(VARIES,)),
        comparison(5, "CB3ExecutorBench/NotifyStorm/real_time/threads:4", None, Verdict.NEW),
        comparison(6, "CB3ExecutorBench/OldNotify/real_time/threads:4", None, Verdict.BROKEN,
                   reason="Pool did not drain"),
    ]  # fmt: skip
    for index, fixture in enumerate(_FIXTURES * 3):
        name = f"CB3ExecutorBench/{fixture}/real_time/threads:{2 ** (index // 5)}"
        ratio = math.exp(noise.gauss(0, 0.004))
        rows.append(comparison(10 + index, name, ratio, Verdict.SAME))
    causes = (
        f"2 of 21 results are slower; worst: {rows[0].benchmark} items/s −12.3 % [−13.1, −11.4], 24 pairs",
        "1 broken: CB3ExecutorBench/OldNotify/real_time/threads:4: Pool did not drain",
        "1 of 21 results is faster; best: TaskStatsBench/LogQTime items/s +21.4 % [+20.8, +22.1], 24 pairs",
        f"1 of 21 results is undecided: {rows[3].benchmark}; about 31 more pairs would decide it",
        "15 of 21 results are the same within 3 %",
    )
    subject = "MB-61234: Schedule one-shot tasks through the notifier"
    first = change_view(
        REGRESSION, subject, run_id=40, run_state=RunState.FINISHED, vote=1, header="Build Successful"
    )
    add_patch_set(reading, first, [(build_view(400, 5903), rows[6:])])
    change = replace(
        first,
        patch_set=2,
        revision="c0ffee12" * 5,
        run_id=41,
        vote=-1,
        header="Build Failed",
    )
    build = build_view(
        401, 5904, result=Result.FAILURE, outcome=Outcome.SLOWER, causes=causes,
        notes=("3 of 27 pairs were disturbed by other work: 3 measured again, 0 kept",),
        blamed=(rows[0].benchmark, rows[1].benchmark), permissions=tuple(Permission),
    )  # fmt: skip
    idle = build_view(
        402, 311, job="kv_engine.docs", kind=JobKind("command"), result=Result.NOT_BUILT,
        outcome=Outcome.NOT_BUILT, machine=None,
        started_at=None, causes=("no path that concerns this job was touched",),
    )  # fmt: skip
    message = "\n\n".join(
        ["Build Failed ", "http://perf.example/job/kv-engine-cv-perf/5904/ : FAILURE", *causes,
         "http://perf.example/runs/41#v1"]
    )  # fmt: skip
    add_patch_set(reading, change, [(build, rows), (idle, [])], message)


def _add_others(reading: FakeReading) -> None:
    lost = "the machine stopped responding 3 times"
    faster = "1 of 20 results is faster; best: TaskStatsBench/LogQTime items/s ×53.1 [×51.8, ×54.3], 8 pairs"
    for number, subject, more in (
        (4711, "Use a null taskable where nothing is recorded",
         {"run_id": 39, "run_state": RunState.FINISHED, "vote": 1, "header": "Build Successful",
          "status": ChangeStatus.MERGED}),
        (4713, "MB-61240: Shard the future queue by vBucket",
         {"run_id": 42, "run_state": RunState.RUNNING, "owner": "Jo Park"}),
        (4714, "Docs: how to read a comparison",
         {"run_id": 43, "run_state": RunState.FINISHED, "vote": 1, "header": "No Builds Executed",
          "owner": "Sam Okafor"}),
        (4715, "WIP: try hazard pointers",
         {"run_id": 44, "run_state": RunState.FINISHED, "header": "Build Aborted", "owner": "Jo Park"}),
        (4716, "MB-61251: Batch notifications", {"owner": "Jo Park"}),
    ):  # fmt: skip
        change = change_view(number, subject, **more)
        build = build_view(number, 5800 + number % 100, causes=(faster,) if number == 4711 else ())
        if change.run_state is RunState.RUNNING:
            build = replace(
                build,
                state=BuildState.RUNNING,
                phase="pair 11 of 32",
                result=None,
                finished_at=None,
                attempt=2,
            )
        if change.header == "Build Aborted":
            build = replace(build, result=Result.ABORTED, causes=(lost,), attempt=3)
        rows = [comparison(3, "TaskStatsBench/LogQTime", 53.1, Verdict.FASTER, low=51.8, high=54.3, pairs=8)]
        add_patch_set(reading, change, [(build, rows if number == 4711 else [])] if change.run_id else [])


def _add_alternatives(reading: FakeReading, number: int, tries: int) -> None:
    """A change that tried several ways; of many tries the last have parents of their own."""
    subject = "MB-60000: Stripe the statistics per core" if tries < 4 else "MB-60001: Stripe them per cache"
    for nth in range(1, tries + 1):
        change = change_view(
            number, subject, patch_set=nth, revision=f"{nth:x}ead" * 10, run_id=number * 10 + nth,
            run_state=RunState.FINISHED, vote=1, header="Build Successful",
        )  # fmt: skip
        rows = [
            comparison(200, "StatsBench/Count/threads:16", (0.941, 1.384, 2.71)[nth % 3],
                       (Verdict.SLOWER, Verdict.FASTER, Verdict.FASTER)[nth % 3]),
            comparison(201, "StatsBench/Count/threads:1", (1.001, 0.962, 0.988)[nth % 3],
                       (Verdict.SAME, Verdict.SLOWER, Verdict.UNDECIDED)[nth % 3]),
            comparison(202, "StatsBench/Bytes", 0.75 + 0.01 * nth, Verdict.FASTER, metric="bytes", unit="B",
                       better=Better.LOWER, base=34816.0, patch=34816.0 * (0.75 + 0.01 * nth)),
            comparison(203, HOSTILE_NAMES[nth % 2], None, Verdict.NEW),
        ]  # fmt: skip
        build = build_view(number * 10 + nth, number + 1000 * nth)
        parent = "9" * 40 if tries < 4 or nth < 5 else f"{nth:x}" * 40
        add_patch_set(reading, change, [(build, [] if nth == 3 < tries - 4 else rows)], parent=parent)


def _add_hostile_change(reading: FakeReading) -> None:
    rows = [comparison(100 + k, name, 0.9, Verdict.SLOWER) for k, name in enumerate(HOSTILE_NAMES)]
    rows.append(
        replace(rows[0], series_id=190, metric="<script>alert(1)</script>", unit="", verdict=Verdict.FASTER)
    )
    change = change_view(
        HOSTILE_CHANGE, HOSTILE_NAMES[0], owner="<b>Mallory</b>\u202e", run_id=66,
        run_state=RunState.FINISHED, vote=-1, header="Build Failed",
    )  # fmt: skip
    name = BuildName("kv-engine-cv-perf", 6660)
    overrides = [
        override_view(OverrideKind.ACCEPT, text, reason=text, filter=text, bug=text, is_active=False)
        for text in HOSTILE_NAMES
    ]
    overrides.append(
        override_view(
            OverrideKind.OVERRIDE,
            HOSTILE_NAMES[1],
            bug="javascript:alert(1)",
            waives=(name,),
            sentence=HOSTILE_NAMES[0],
        )
    )
    build = build_view(
        666, name.number, result=Result.FAILURE, outcome=Outcome.SLOWER, causes=HOSTILE_NAMES,
        machine="<i>perf</i>", waived_by=overrides[-1].sentence,
    )  # fmt: skip
    add_patch_set(reading, change, [(build, rows)], "\n".join(HOSTILE_NAMES), overrides=overrides)


def _add_overridden_change(reading: FakeReading) -> None:
    """Add a change with a revoked override, an accept and an active override."""
    flaky, slow = BuildName("kv_engine.linux", 77), BuildName("kv-engine-cv-perf", 5910)
    sentences = (
        "overridden by Bob Reviewer: ep_unit_tests time out on this host (https://bugs.example/MB-37948)",
        "CB3ExecutorBench/* accepted by Dana Meyer: safer locks are worth it",
    )
    overrides = [
        override_view(OverrideKind.OVERRIDE, "Bob Reviewer", reason="ep_unit_tests time out on this host",
                    bug="https://bugs.example/MB-37948", waives=(flaky,), sentence=sentences[0],
                    at=NOW - timedelta(minutes=2)),
        override_view(OverrideKind.ACCEPT, "Dana Meyer", reason="safer locks are worth it",
                    filter="CB3ExecutorBench/*",
                    waives=(slow,), sentence=sentences[1], at=NOW - timedelta(minutes=5)),
        override_view(OverrideKind.UNDO, "Dana Meyer", sentence="overrides revoked by Dana Meyer",
                    at=NOW - timedelta(minutes=9)),
        override_view(OverrideKind.OVERRIDE, "Jo Park", reason="all of it is known", bug="MB-1",
                    is_active=False,
                    sentence="overridden by Jo Park: all of it is known (MB-1)",
                    at=NOW - timedelta(minutes=14)),
        override_view(OverrideKind.TRUST, "Sam Okafor", sentence="allowed to run by Sam Okafor",
                    at=NOW - timedelta(minutes=31)),
    ]  # fmt: skip
    change = change_view(
        OVERRIDDEN, "MB-61260: Take the lock before the counter is read", run_id=52,
        run_state=RunState.FINISHED, vote=1, header="Build Successful",
    )  # fmt: skip
    rows = [comparison(300, "CB3ExecutorBench/RepeatedNotify/real_time/threads:8", 0.931, Verdict.SLOWER)]
    measured = build_view(
        520, slow.number, result=Result.FAILURE, outcome=Outcome.SLOWER, waived_by=sentences[1],
        causes=(f"1 of 1 result is slower; worst: {rows[0].benchmark} items/s −6.9 % [−7.5, −6.3]",),
    )  # fmt: skip
    tested = build_view(
        521, 812, job=flaky.job, kind=JobKind("external"), result=Result.FAILURE,
        outcome=Outcome.FAILED, machine=None,
        causes=("Failure of a CTest test 170/409 Test #167: ep_unit_tests.ConnectionTest",),
        waived_by=sentences[0], external_number=flaky.number, url="https://ci.example/job/kv_engine.linux/77/",
    )  # fmt: skip
    add_patch_set(reading, change, [(measured, rows), (tested, [])], overrides=overrides)


def _add_voting_statuses(reading: FakeReading) -> None:
    """One series that may vote, one with false alarms, and the others on probation."""
    quiet = Session((0.004, -0.004, 0.001, -0.001) * 4, Verdict.SAME)
    alarm = replace(quiet, verdict=Verdict.FASTER)
    histories = [[quiet] * 12, [quiet, alarm, quiet, alarm], *([quiet] for _ in HOSTILE_NAMES)]
    for trend, sessions in zip(reading.trends, histories, strict=True):
        status = voting_status_of(History.of(sessions), Policy())
        reading.voting_status_rows.append(
            SeriesVotingStatus(machine="perf-01", series=trend.series, measured_at=NOW, voting_status=status)
        )


def _add_trends(reading: FakeReading) -> None:
    noise = random.Random(3)  # noqa: S311 - data to look at
    level = 1.26e7
    points = []
    for index in range(60):
        verdict, ratio = Verdict.SAME, 1.0
        if index == 24:
            verdict, ratio = Verdict.SLOWER, 0.912
        if index == 45:
            verdict, ratio = Verdict.FASTER, 1.221
        level *= ratio
        value = level * (1.06 if index >= 36 else 1) * math.exp(noise.gauss(0, 0.006))
        points.append(
            trend_point(index, value, verdict=verdict, ratio=ratio, low=ratio * 0.994, high=ratio * 1.006,
                        environment_id=2 if index >= 36 else 1,
                        change=REGRESSION if index == 24 else 500 + index)
        )  # fmt: skip
        if index % 7 == 3:
            points.append(
                replace(points[-1], kind=RunKind.CHECK,
                        measured_at=points[-1].measured_at - timedelta(hours=2), patch=value * 0.98,
                        ratio=0.981, verdict=Verdict.SLOWER if index == 24 else Verdict.SAME,
                        subject="MB-61240: Shard the future queue by vBucket")
            )  # fmt: skip
    names = [
        "PureFollyExecutorBench/OneShotScheduleRun/real_time/threads:4",
        "TaskStatsBench/LogQTime",
        *HOSTILE_NAMES,
    ]
    for series_id, name in enumerate(names, start=1):
        hostile = name in HOSTILE_NAMES
        shown = [replace(p, subject=name, author="<b>M</b>%{x}") for p in points] if hostile else points
        reading.trends.append(SeriesWithPoints(series_view(series_id, name), tuple(shown)))
