from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from service.domain.machines.closures import Closure
from service.domain.runs.activity import Activity, PoolEvidence
from service.domain.runs.health import VOTE_ON, Heartbeat
from service.domain.values.identity import BuildName
from service.web.metrics import SECONDS, RecentText
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import NOW, healthy, machine_view
from tests.support.web import build_pages, call

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

HOUR = timedelta(hours=1)


def lines_of(reading: FakeReading, *names: str) -> AbstractSet[str]:
    """The samples of some metrics, without ``benchgate_``."""
    lines = call(build_pages(reading), "GET", "/metrics").text.replace("benchgate_", "").splitlines()
    return {
        line for line in lines if line.startswith(tuple(f"{name}{end}" for name in names for end in "{ "))
    }


def test_only_configured_parts_are_a_pulse_and_no_branch_is_named() -> None:
    parts = ("schedule", "listen removed", "visibility", "prune", "backup", f"{VOTE_ON}core secret master")
    reading = FakeReading(state=healthy(heartbeats=tuple(Heartbeat(part, NOW - HOUR) for part in parts)))
    assert lines_of(reading, "pulse_seconds", "pulse_limit_seconds", "backup_seconds", "prune_seconds") == {
        'pulse_seconds{part="schedule"} 3600.0',
        'pulse_limit_seconds{part="schedule"} 60.0',
        "backup_seconds 3600.0",
        "prune_seconds 3600.0",
    }
    assert "secret" not in call(build_pages(reading), "GET", "/metrics").text


def test_machines_count_by_the_lowest_state_that_applies() -> None:
    closure = Closure(begins_at=NOW - HOUR, reason="", closed_by="Ada")
    rows = [
        machine_view("a"),
        machine_view("b", obstacle="load"),
        machine_view("c", obstacle="load", build=BuildName("perf", 1)),
        machine_view("d", is_busy=True),
        machine_view("e", last_seen_at=NOW - HOUR, build=BuildName("perf", 1)),
        machine_view("f", closure=closure, last_seen_at=NOW - HOUR),
        machine_view("gone", last_seen_at=NOW - timedelta(days=8)),
    ]
    counted = {"free": 1, "hindered": 1, "busy": 2, "silent": 1, "drained": 1}
    assert lines_of(FakeReading(machine_rows=rows, state=healthy()), "machines") == {
        f'machines{{pool="perf",state="{state}"}} {count}.0' for state, count in counted.items()
    }


def test_what_did_not_happen_is_zero_and_what_was_not_measured_is_missing() -> None:
    evidence = (PoolEvidence("perf", 7, 1, 0.004), PoolEvidence("also", 2, 0, None))
    reading = FakeReading(recent=Activity(votes={1: 5}, stages={"test": (60.0, 90.0)}, evidence=evidence))
    assert lines_of(reading, "votes_last_hour", "vote_seconds", "build_stage_seconds", "noise_ratio") == {
        'votes_last_hour{value="+1"} 5.0',
        'votes_last_hour{value="-1"} 0.0',
        'votes_last_hour{value="none"} 0.0',
        'build_stage_seconds{quantile="0.5",stage="test"} 60.0',
        'build_stage_seconds{quantile="0.95",stage="test"} 90.0',
        'noise_ratio{pool="perf"} 0.004',
    }
    assert 'builds_last_hour{outcome="slower"} 0.0' in lines_of(reading, "builds_last_hour")


def test_figures_are_read_once_in_ten_seconds_and_others_get_those_before_meanwhile() -> None:
    now, got = [0.0], list[bytes]()

    def render() -> bytes:
        if got:
            got.append(recent.read())  # another request
        return b"at %d" % now[0]

    recent = RecentText(render, lambda: now[0])
    for moment in (0.0, SECONDS - 1, SECONDS):
        now[0] = moment
        got.append(recent.read())
    assert got == [b"at 0", b"at 0", b"at 0", b"at 10"]
