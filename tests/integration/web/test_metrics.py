from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from service.domain.machines.closures import Closure
from service.domain.runs.activity import Activity, PoolEvidence
from service.domain.runs.health import VOTE_ON, Heartbeat, PoolQueue
from service.domain.runs.retention import StoredSize
from service.domain.values.identity import BuildName
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import NOW, healthy, machine_view
from tests.support.web import build_pages, call

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

HOUR = timedelta(hours=1)


def lines_of(reading: FakeReading, name: str) -> AbstractSet[str]:
    """The samples of a metric, without its name."""
    text = call(build_pages(reading), "GET", "/metrics").text
    return {
        line.removeprefix(name) for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} "))
    }


def test_the_condition_of_the_service_is_in_metrics() -> None:
    reading = FakeReading(
        state=healthy(unsent_reviews=2, queues=(PoolQueue("perf", 4, NOW - HOUR, NOW),), abandoned_steps=1)
    )
    assert lines_of(reading, "benchgate_unsent_reviews") == {" 2.0"}
    assert lines_of(reading, "benchgate_abandoned_steps") == {" 1.0"}
    assert lines_of(reading, "benchgate_queued_builds") == {'{pool="perf"} 4.0'}
    assert lines_of(reading, "benchgate_oldest_build_seconds") == {'{pool="perf"} 3600.0'}


def test_parts_without_a_frequent_heartbeat_are_no_pulse_and_name_no_branch() -> None:
    parts = ("schedule", "visibility", "prune", "backup", f"{VOTE_ON}core secret master")
    reading = FakeReading(state=healthy(heartbeats=tuple(Heartbeat(part, NOW - HOUR) for part in parts)))
    assert lines_of(reading, "benchgate_pulse_seconds") == {'{part="schedule"} 3600.0'}
    assert lines_of(reading, "benchgate_backup_seconds") == {" 3600.0"}
    assert lines_of(reading, "benchgate_prune_seconds") == {" 3600.0"}
    assert "secret" not in call(build_pages(reading), "GET", "/metrics").text


def test_machines_count_by_the_lowest_state_that_applies() -> None:
    closure = Closure(begins_at=NOW - HOUR, reason="", closed_by="Ada")
    build, busy = BuildName("perf", 1), {"is_busy": True}
    rows = [
        machine_view("a"),
        machine_view("b", obstacle="load"),
        machine_view("c", obstacle="load", build=build),
        machine_view("d", **busy),
        machine_view("e", last_seen_at=NOW - HOUR, build=build),
        machine_view("f", closure=closure, last_seen_at=NOW - HOUR),
        machine_view("gone", last_seen_at=NOW - timedelta(days=8)),
    ]
    found = lines_of(FakeReading(machine_rows=rows, state=healthy()), "benchgate_machines")
    counted = {"free": 1, "hindered": 1, "busy": 2, "silent": 1, "drained": 1}
    assert found == {f'{{pool="perf",state="{state}"}} {count}.0' for state, count in counted.items()}


def test_the_activity_is_in_metrics_with_zeros_for_what_did_not_happen() -> None:
    recent = Activity(
        votes={1: 5},
        outcomes={"passed": 4},
        stages={"measure": (60.0, 90.0)},
        until_vote=(100.0, 300.0),
        evidence=(PoolEvidence("perf", 7, 1, 0.004), PoolEvidence("also", 2, 0, None)),
    )
    reading = FakeReading(recent=recent)
    assert lines_of(reading, "benchgate_votes_last_hour") == {
        '{value="+1"} 5.0',
        '{value="-1"} 0.0',
        '{value="none"} 0.0',
    }
    assert {'{outcome="passed"} 4.0', '{outcome="slower"} 0.0'} < lines_of(
        reading, "benchgate_builds_last_hour"
    )
    assert lines_of(reading, "benchgate_build_stage_seconds") == {
        '{quantile="0.5",stage="measure"} 60.0',
        '{quantile="0.95",stage="measure"} 90.0',
    }
    assert lines_of(reading, "benchgate_vote_seconds") == {
        '{quantile="0.5"} 100.0',
        '{quantile="0.95"} 300.0',
    }
    assert lines_of(reading, "benchgate_noise_ratio") == {'{pool="perf"} 0.004'}
    assert lines_of(reading, "benchgate_false_alarms_last_week") == {'{pool="perf"} 1.0', '{pool="also"} 0.0'}


def test_disks_and_what_is_stored_are_in_metrics() -> None:
    size = StoredSize(name="logs", records=1, database_bytes=2, artifacts=3, artifact_bytes=4)
    reading = FakeReading(sizes=[size])
    assert lines_of(reading, "benchgate_stored_bytes") == {
        '{kind="logs",place="artifacts"} 4.0',
        '{kind="logs",place="database"} 2.0',
    }
    assert lines_of(reading, "benchgate_disk_free_bytes") == {'{directory="home"} 40.0'}
    assert lines_of(reading, "benchgate_disk_size_bytes") == {'{directory="home"} 100.0'}


def test_without_its_database_metrics_say_so_and_have_the_disks() -> None:
    reading = FakeReading(is_away=True)
    assert lines_of(reading, "benchgate_database_up") == {" 0.0"}
    assert lines_of(reading, "benchgate_info") == {'{version="0.1.0"} 1.0'}
    assert lines_of(reading, "benchgate_disk_free_bytes") == {'{directory="home"} 40.0'}
    assert lines_of(reading, "benchgate_unsent_reviews") == set()
