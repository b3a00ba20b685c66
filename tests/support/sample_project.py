"""A project as its people would see it: votes of every kind, a regression, an epoch, hostile names."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import timedelta

from service.domain.calibration.evidence import History, Session, voting_status_of
from service.domain.identity import BuildName
from service.domain.inference.policy import Policy
from service.domain.inference.verdict import Verdict
from service.ports.views import MachineView, SeriesSummary, Trend, VotingStatusView
from tests.support.fake_reading import (
    ENVIRONMENT,
    NOW,
    FakeReading,
    add_patch_set,
    build_summary,
    change_summary,
    comparison,
    ruling_view,
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
    reading.machine_rows = [
        MachineView("perf-01", "epyc-9354p", "perf", NOW - timedelta(days=80), NOW, 1, ENVIRONMENT, None),
        MachineView(
            "perf-02", "epyc-9354p", "perf", NOW - timedelta(days=80), NOW - timedelta(seconds=4), 1,
            ENVIRONMENT, ("kv-engine-cv-perf", 5907),
        ),
    ]  # fmt: skip
    _add_standings(reading)
    return reading


def _add_regression(reading: FakeReading) -> None:
    noise = random.Random(7)  # noqa: S311 - data to look at
    rows = [
        comparison(1, "PureFollyExecutorBench/OneShotScheduleRun/real_time/threads:4", 0.877, "slower"),
        comparison(2, "PureFollyExecutorBench/OneShotScheduleRun/real_time/threads:2", 0.958, "slower"),
        comparison(3, "TaskStatsBench/LogQTime", 1.214, "faster"),
        comparison(4, "CB3ExecutorBench/SnoozeWake/real_time/threads:16", 0.985, "undecided",
                   low=0.948, high=1.024,
                   reason="the interval is ±3.9 % wide; about 31 more pairs (2 min) would decide it"),
        comparison(5, "CB3ExecutorBench/NotifyStorm/real_time/threads:4", None, "new"),
        comparison(6, "CB3ExecutorBench/OldNotify/real_time/threads:4", None, "broken",
                   reason="Pool did not drain"),
    ]  # fmt: skip
    for index, fixture in enumerate(_FIXTURES * 3):
        name = f"CB3ExecutorBench/{fixture}/real_time/threads:{2 ** (index // 5)}"
        ratio = math.exp(noise.gauss(0, 0.004))
        rows.append(comparison(10 + index, name, ratio, "same"))
    causes = (
        f"2 of 21 slower; worst {rows[0].benchmark} items/s −12.3 % [−13.1, −11.4], 24 pairs on perf-01",
        "1 broken: CB3ExecutorBench/OldNotify/real_time/threads:4: Pool did not drain",
        "1 of 21 faster; best TaskStatsBench/LogQTime items/s +21.4 % [+20.8, +22.1], 24 pairs on perf-01",
        f"1 of 21 undecided: {rows[3].benchmark}; about 31 more pairs would decide it",
        "15 of 21 the same within 3%",
    )
    subject = "MB-61234: Schedule one-shot tasks through the notifier"
    first = change_summary(
        REGRESSION, subject, run_id=40, run_state="finished", vote=1, header="Build Successful"
    )
    add_patch_set(reading, first, [(build_summary(400, 5903), rows[6:])])
    change = replace(
        first,
        patch_set=2,
        revision="c0ffee12" * 5,
        run_id=41,
        vote=-1,
        header="Build Failed",
        cause=causes[0],
    )
    build = build_summary(401, 5904, result="FAILURE", outcome="slower", causes=causes)
    idle = build_summary(
        402, 311, job="kv_engine.docs", kind="command", result="NOT_BUILT", outcome="not built", machine=None,
        started_at=None, causes=("no path that concerns this job was touched",),
    )  # fmt: skip
    message = "\n\n".join(
        ["Build Failed ", "http://perf.example/job/kv-engine-cv-perf/5904/ : FAILURE", *causes,
         "http://perf.example/runs/41#v1"]
    )  # fmt: skip
    add_patch_set(reading, change, [(build, rows), (idle, [])], message)


def _add_others(reading: FakeReading) -> None:
    faster = "1 of 20 faster; best TaskStatsBench/LogQTime items/s ×53.1 [×51.8, ×54.3], 8 pairs on perf-01"
    for number, subject, more in (
        (4711, "Use a null taskable where nothing is recorded",
         {"run_id": 39, "run_state": "finished", "vote": 1, "header": "Build Successful", "cause": faster,
          "builds": 1, "finished_builds": 1, "status": "MERGED"}),
        (4713, "MB-61240: Shard the future queue by vBucket",
         {"run_id": 42, "run_state": "running", "builds": 2, "finished_builds": 1, "owner": "Jo Park"}),
        (4714, "Docs: how to read a comparison",
         {"run_id": 43, "run_state": "finished", "vote": 1, "header": "No Builds Executed", "builds": 1,
          "finished_builds": 1, "owner": "Sam Okafor"}),
        (4715, "WIP: try hazard pointers",
         {"run_id": 44, "run_state": "finished", "header": "Build Aborted", "owner": "Jo Park",
          "cause": "machine lost: perf-02 fell silent in 3 attempts"}),
        (4716, "MB-61251: Batch notifications", {"owner": "Jo Park"}),
    ):  # fmt: skip
        change = change_summary(number, subject, **more)
        build = build_summary(number, 5800 + number % 100, causes=(faster,) if number == 4711 else ())
        if change.run_state == "running":
            build = replace(
                build, state="running", phase="pair 11 of 32", result=None, finished_at=None, attempt=2
            )
        if change.header == "Build Aborted":
            build = replace(build, result="ABORTED", causes=(change.cause,), attempt=3)
        rows = [comparison(3, "TaskStatsBench/LogQTime", 53.1, "faster", low=51.8, high=54.3, pairs=8)]
        add_patch_set(reading, change, [(build, rows if number == 4711 else [])] if change.run_id else [])


def _add_alternatives(reading: FakeReading, number: int, tries: int) -> None:
    """A change that tried several ways; of many tries the last have parents of their own."""
    subject = "MB-60000: Stripe the statistics per core" if tries < 4 else "MB-60001: Stripe them per cache"
    for nth in range(1, tries + 1):
        change = change_summary(
            number, subject, patch_set=nth, revision=f"{nth:x}ead" * 10, run_id=number * 10 + nth,
            run_state="finished", vote=1, header="Build Successful",
        )  # fmt: skip
        rows = [
            comparison(200, "StatsBench/Count/threads:16", (0.941, 1.384, 2.71)[nth % 3],
                       ("slower", "faster", "faster")[nth % 3]),
            comparison(201, "StatsBench/Count/threads:1", (1.001, 0.962, 0.988)[nth % 3],
                       ("same", "slower", "undecided")[nth % 3]),
            comparison(202, "StatsBench/Bytes", 0.75 + 0.01 * nth, "faster", metric="bytes", unit="B",
                       better="lower", base=34816.0),
            comparison(203, HOSTILE_NAMES[nth % 2], None, "new"),
        ]  # fmt: skip
        build = build_summary(number * 10 + nth, number + 1000 * nth)
        parent = "9" * 40 if tries < 4 or nth < 5 else f"{nth:x}" * 40
        add_patch_set(reading, change, [(build, [] if nth == 3 < tries - 4 else rows)], parent=parent)


def _add_hostile_change(reading: FakeReading) -> None:
    rows = [comparison(100 + k, name, 0.9, "slower") for k, name in enumerate(HOSTILE_NAMES)]
    rows.append(
        replace(rows[0], series_id=190, metric="<script>alert(1)</script>", unit="", verdict="faster")
    )
    change = change_summary(
        HOSTILE_CHANGE, HOSTILE_NAMES[0], owner="<b>Mallory</b>\u202e", run_id=66, run_state="finished",
        vote=-1, header="Build Failed", cause=HOSTILE_NAMES[1],
    )  # fmt: skip
    name = BuildName("kv-engine-cv-perf", 6660)
    overrides = [
        ruling_view("accept", text, reason=text, filter=text, bug=text, is_active=False)
        for text in HOSTILE_NAMES
    ]
    overrides.append(
        ruling_view(
            "override",
            HOSTILE_NAMES[1],
            bug="javascript:alert(1)",
            waives=(name,),
            sentence=HOSTILE_NAMES[0],
        )
    )
    build = build_summary(
        666, name.number, result="FAILURE", outcome="slower", causes=HOSTILE_NAMES, machine="<i>perf</i>",
        waived_by=overrides[-1].sentence,
    )  # fmt: skip
    add_patch_set(reading, change, [(build, rows)], "\n".join(HOSTILE_NAMES), overrides=overrides)


def _add_overridden_change(reading: FakeReading) -> None:
    """A change that people let pass: an override that was taken back, an acceptance, and an override."""
    flaky, slow = BuildName("kv_engine.linux", 812), BuildName("kv-engine-cv-perf", 5910)
    said = (
        "overridden by Bob Reviewer: ep_unit_tests time out on this host (https://bugs.example/MB-37948)",
        "CB3ExecutorBench/* accepted by Dana Meyer: safer locks are worth it",
    )
    overrides = [
        ruling_view("override", "Bob Reviewer", reason="ep_unit_tests time out on this host",
                    bug="https://bugs.example/MB-37948", waives=(flaky,), sentence=said[0],
                    at=NOW - timedelta(minutes=2)),
        ruling_view("accept", "Dana Meyer", reason="safer locks are worth it", filter="CB3ExecutorBench/*",
                    waives=(slow,), sentence=said[1], at=NOW - timedelta(minutes=5)),
        ruling_view("undo", "Dana Meyer", sentence="overrides taken back by Dana Meyer",
                    at=NOW - timedelta(minutes=9)),
        ruling_view("override", "Jo Park", reason="all of it is known", bug="MB-1", is_active=False,
                    sentence="overridden by Jo Park: all of it is known (MB-1)",
                    at=NOW - timedelta(minutes=14)),
        ruling_view("trust", "Sam Okafor", sentence="allowed to run by Sam Okafor",
                    at=NOW - timedelta(minutes=31)),
    ]  # fmt: skip
    change = change_summary(
        OVERRIDDEN, "MB-61260: Take the lock before the counter is read", run_id=52, run_state="finished",
        vote=1, header="Build Successful", cause="1 of 20 slower", builds=2, finished_builds=2,
    )  # fmt: skip
    rows = [comparison(300, "CB3ExecutorBench/RepeatedNotify/real_time/threads:8", 0.931, "slower")]
    measured = build_summary(
        520, slow.number, result="FAILURE", outcome="slower", waived_by=said[1],
        causes=(f"1 of 1 slower; worst {rows[0].benchmark} items/s −6.9 % [−7.5, −6.3], 24 pairs",),
    )  # fmt: skip
    tested = build_summary(
        521, flaky.number, job=flaky.job, kind="external", result="FAILURE", outcome="failed", machine=None,
        causes=("Failure of a CTest test 170/409 Test #167: ep_unit_tests.ConnectionTest",),
        waived_by=said[0], external_number=77, url="https://ci.example/job/kv_engine.linux/77/",
    )  # fmt: skip
    add_patch_set(reading, change, [(measured, rows), (tested, [])], overrides=overrides)


def _add_standings(reading: FakeReading) -> None:
    """One series that votes, one that gave false alarms, and the others on probation."""
    quiet = Session((0.004, -0.004, 0.001, -0.001) * 4, Verdict.SAME)
    alarm = replace(quiet, verdict=Verdict.FASTER)
    histories = [[quiet] * 12, [quiet, alarm, quiet, alarm], *([quiet] for _ in HOSTILE_NAMES)]
    for trend, sessions in zip(reading.trends, histories, strict=True):
        standing = voting_status_of(History.of(sessions), Policy())
        reading.standing_rows.append(VotingStatusView("perf-01", trend.series, NOW, standing))


def _add_trends(reading: FakeReading) -> None:
    noise = random.Random(3)  # noqa: S311 - data to look at
    level = 1.26e7
    points = []
    for index in range(60):
        verdict, ratio = "same", 1.0
        if index == 24:
            verdict, ratio = "slower", 0.912
        if index == 45:
            verdict, ratio = "faster", 1.221
        level *= ratio
        value = level * (1.06 if index >= 36 else 1) * math.exp(noise.gauss(0, 0.006))
        points.append(
            trend_point(index, value, verdict=verdict, ratio=ratio, low=ratio * 0.994, high=ratio * 1.006,
                        environment_id=2 if index >= 36 else 1,
                        change=REGRESSION if index == 24 else 500 + index)
        )  # fmt: skip
        if index % 7 == 3:
            points.append(
                replace(points[-1], kind="check", measured_at=points[-1].measured_at - timedelta(hours=2),
                        patch=value * 0.98, ratio=0.981, verdict="slower" if index == 24 else "same",
                        subject="MB-61240: Shard the future queue by vBucket")
            )  # fmt: skip
    names = [
        "PureFollyExecutorBench/OneShotScheduleRun/real_time/threads:4",
        "TaskStatsBench/LogQTime",
        *HOSTILE_NAMES,
    ]
    for series_id, name in enumerate(names, start=1):
        series = SeriesSummary(
            series_id, "gerrit", "kv_engine", "master", "epyc-9354p", "kv-engine-cv-perf", "executor", name,
            "items_per_second", "1/s", "higher",
        )  # fmt: skip
        hostile = name in HOSTILE_NAMES
        shown = [replace(p, subject=name, author="<b>M</b>%{x}") for p in points] if hostile else points
        reading.trends.append(Trend(series, tuple(shown)))
