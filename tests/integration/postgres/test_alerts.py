"""Break each part of a site once, and see that Prometheus' rules fire its alert, and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from prometheus_client import CollectorRegistry

from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.runs.retention import PostgresRetention
from service.domain.machines.disk import Disk
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.wording.build_causes import unfit
from service.web.application import assemble
from service.web.health import create_health
from service.web.metrics import Metrics
from tests.integration.postgres.ended import end_build
from tests.integration.postgres.site import PostgresSite
from tests.support.access.callers import Callers
from tests.support.promtool import complaint_about
from tests.support.web import call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from service.ports.reading import Reading
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> PostgresSite:
    """A site that works: a machine, a build that waits for it, another that passed, and fresh heartbeats."""
    site = PostgresSite(database)
    site.add_change()
    site.add_machine("perf-01")
    site.add_build(site.add_run(state=RunState.RUNNING), result=None)
    end_build(site)
    for part in ("schedule", "reconcile", "backup", "prune"):
        database.change("INSERT INTO pulse (part, beat_at) VALUES (:part, now())", part=part)
    database.change("UPDATE build SET created_at = now() WHERE state = 'queued'")
    return site


def scrape(reading: Reading, free: int = 50) -> str:
    """Ask the application for its metrics; of 100 bytes of the disk, some are free."""
    registry = CollectorRegistry()
    registry.register(Metrics(reading, "1.0", lambda: {"home": Disk(total=100, free=free)}))
    app = assemble([create_health(reading, registry)], access=Callers().access(), version="1.0")
    return call(app, "GET", "/metrics").text


def fail(*causes: str) -> Callable[[PostgresSite], None]:
    """Let builds end by the infrastructure, each for one of these causes."""

    def end(site: PostgresSite) -> None:
        for cause in causes:
            end_build(site, Outcome.INFRASTRUCTURE, causes=[cause])

    return end


def calibrate(log: float, verdict: str) -> Callable[[PostgresSite], None]:
    """Let a machine compare a branch with itself four times: log ratios of this size, and this verdict."""

    def compare(site: PostgresSite) -> None:
        for _ in range(4):
            site.add_session("perf-01", "BM_a")
        site.database.change("UPDATE run SET pool = 'perf', machine = 'perf-01' WHERE kind = 'calibration'")
        site.database.change(
            "UPDATE evidence SET logs = :logs, verdict = :verdict", logs=[log, -log], verdict=verdict
        )

    return compare


def keep_days_only(site: PostgresSite) -> None:
    """Let the schedule store its days, and delete nothing for two days."""
    site.database.change("UPDATE pulse SET beat_at = now() - interval '2 days' WHERE part = 'prune'")
    PostgresRetention(site.database.owner).keep_policy({})


BREAK: Final[dict[str, str | Callable[[PostgresSite], None]]] = {
    "BenchgateEventsWaiting": """INSERT INTO event (instance, digest, type, body, received_at)
        VALUES ('gerrit', '1', 'patchset-created', '{}', now() - interval '5 minutes')""",
    "BenchgateReviewsUnsent": """INSERT INTO outbox (kind, payload, created_at)
        VALUES ('review', '{}', now() - interval '1 hour')""",
    "BenchgatePoolTakesNoBuilds": "UPDATE machine SET obstacle = 'other work'",
    "BenchgateQueueOld": "UPDATE build SET created_at = now() - interval '3 hours' WHERE state = 'queued'",
    "BenchgateMachineSilent": """INSERT INTO machine (name, class, pool, host, last_seen_at)
        VALUES ('perf-02', 'epyc', 'perf', 'perf-02', now() - interval '5 minutes')""",
    "BenchgateStepGaveUp": """WITH lost AS (
            INSERT INTO event (instance, digest, type, body, received_at)
            VALUES ('gerrit', '1', 'patchset-created', '{}', now() - interval '1 day') RETURNING id
        ) INSERT INTO setback SELECT 'handle_event', id, 8, now(), true, 'no route' FROM lost""",
    "BenchgatePartSilent": "UPDATE pulse SET beat_at = now() - interval '1 hour' WHERE part = 'reconcile'",
    "BenchgateListenerSilent": "INSERT INTO pulse (part, beat_at) VALUES ('listen', now() - interval '1 h')",
    "BenchgateInfrastructureFailures": fail(*["the machine stopped responding 3 times"] * 3),
    "BenchgateMachineUnfit": fail(unfit(OSError("user namespaces are forbidden"))),
    "BenchgateFalseAlarms": calibrate(0.001, "slower"),
    "BenchgateNoisy": calibrate(0.03, "same"),
    "BenchgateBackupOld": "UPDATE pulse SET beat_at = now() - interval '3 days' WHERE part = 'backup'",
    "BenchgatePruneOld": keep_days_only,
}


def test_no_alert_fires_while_a_site_works(site: PostgresSite, tmp_path: Path) -> None:
    assert complaint_about(scrape(site.reading), set(), tmp_path) == ""


@pytest.mark.parametrize("alert", BREAK)
def test_what_breaks_fires_its_alert_and_no_other(site: PostgresSite, alert: str, tmp_path: Path) -> None:
    what = BREAK[alert]
    site.database.change(what) if isinstance(what, str) else what(site)
    assert complaint_about(scrape(site.reading), {alert}, tmp_path) == ""


def test_a_planned_maintenance_and_a_deletion_fire_no_alert(site: PostgresSite, tmp_path: Path) -> None:
    site.database.change("INSERT INTO closure (host, reason, closed_by) VALUES ('perf-01', 'disk', 'Ada')")
    keep_days_only(site)
    PostgresRetention(site.database.owner).mark_pruned()
    assert complaint_about(scrape(site.reading), set(), tmp_path) == ""


def test_a_full_disk_fires_its_alert(site: PostgresSite, tmp_path: Path) -> None:
    text = scrape(site.reading, free=9)
    assert complaint_about(text, {"BenchgateDiskNearlyFull"}, tmp_path) == ""


def test_a_database_that_does_not_answer_fires_its_alert(tmp_path: Path) -> None:
    away = PostgresReading(make_engine("postgresql+psycopg://nobody@127.0.0.1:1/none"))
    assert complaint_about(scrape(away), {"BenchgateNoDatabase"}, tmp_path) == ""


def test_a_web_part_that_does_not_answer_fires_its_alert(tmp_path: Path) -> None:
    assert complaint_about("", {"BenchgateMetricsMissing"}, tmp_path) == ""
