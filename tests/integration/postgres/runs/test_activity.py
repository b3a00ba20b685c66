"""Read the figures that monitoring exports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bench.plans import scans_of
from service.adapters.postgres.reading import PostgresReading
from service.domain.runs.activity import Activity, PoolEvidence
from service.domain.runs.vote import Outcome
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.wording.build_causes import unfit
from tests.integration.postgres.ended import decide_and_post, end_build
from tests.integration.postgres.site import PostgresSite

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> PostgresSite:
    return PostgresSite(database)


def test_an_empty_database_has_no_activity(site: PostgresSite) -> None:
    found = site.reading.activity()
    assert found == Activity(database_bytes=found.database_bytes)
    assert found.database_bytes > 0


def test_builds_of_the_last_hour_count_by_outcome(site: PostgresSite) -> None:
    for outcome, ago in (("passed", "1 minute"), ("passed", "59 minutes"), ("slower", "61 minutes")):
        end_build(site, outcome, ago)
    end_build(site, Outcome.INFRASTRUCTURE, causes=[unfit(OSError("no user namespaces"))])
    found = site.reading.activity()
    assert found.outcomes == {"passed": 2, "infrastructure failure": 1}
    assert found.unfit == 1


def test_stages_have_the_median_and_the_95th_percentile(site: PostgresSite) -> None:
    for seconds in (10.0, 20.0, 30.0):
        end_build(site, seconds={"measure": seconds})
    assert site.reading.activity().stages == {
        "analyse": (2.0, 2.0),
        "measure": (20.0, 29.0),
        "queue": (10.0, 10.0),
    }


def test_a_machine_cannot_name_a_stage_or_break_the_figures(site: PostgresSite) -> None:
    end_build(site, seconds={"change 7": 1.0, "measure": "long", "test": None})
    end_build(site, seconds="none")
    assert list(site.reading.activity().stages) == ["analyse", "queue"]


def test_nobody_waits_for_a_calibration(site: PostgresSite) -> None:
    end_build(site, kind="calibration")
    assert "queue" not in site.reading.activity().stages


def test_a_slow_down_that_the_control_withheld_is_counted(site: PostgresSite) -> None:
    series = site.add_series("BM_a")
    for kind in (ReasonKind.OWN_DIFFERENCE, ReasonKind.ON_PROBATION):
        site.database.change(
            """INSERT INTO comparison (measured_at, series_id, build_id, kind, position, pairs, verdict,
                                       reasons)
               SELECT created_at, :series, id, 0, 0, 8, 'slower', cast(:reasons AS jsonb)
               FROM build WHERE id = :build""",
            series=series,
            build=end_build(site),
            reasons=json.dumps([{"kind": kind, "facts": []}]),
        )
    assert site.reading.activity().withheld == 1


def test_votes_of_the_last_hour_count_by_value(site: PostgresSite) -> None:
    site.add_change(patch_sets=1)
    for vote in (1, 1, -1, None):
        decide_and_post(site, vote)
    site.database.change("UPDATE decision SET created_at = now() - interval '2 hours' WHERE number = 1")
    assert site.reading.activity().votes == {1: 1, -1: 1, None: 1}


@pytest.mark.parametrize(("asked", "seconds"), [("110 s", 100.0), (None, 90.0), ("2 days", 90.0)])
def test_a_vote_takes_from_its_event_to_the_post(
    site: PostgresSite, asked: str | None, seconds: float
) -> None:
    site.add_change()
    run = decide_and_post(site, 1, asked=asked)
    site.decide(run, -1)  # after an override; it was not asked for by an event
    assert site.reading.activity().until_vote == pytest.approx((seconds, seconds), abs=0.5)


def test_evidence_counts_calibrations_with_a_false_alarm_by_pool(site: PostgresSite) -> None:
    site.add_machine("perf-01")
    for _ in range(5):
        site.add_session("perf-01", "BM_a")
    site.database.change("UPDATE run SET pool = 'perf', machine = 'perf-01'")
    # The first is from before the machine was installed anew, the second from another environment.
    site.database.change("UPDATE evidence SET created_at = now() - interval '1 day' WHERE build_id = 1")
    site.database.change(
        """WITH known AS (INSERT INTO environment (fingerprint, facts)
                          VALUES ('former', '{}'), ('now', '{}') RETURNING id),
               installed AS (UPDATE machine SET environment_id = (SELECT max(id) FROM known))
           UPDATE build SET environment_id = (SELECT min(id) FROM known) WHERE id = 2"""
    )
    site.database.change("UPDATE evidence SET logs = ARRAY[0.501, 0.499]")
    site.database.change(
        "UPDATE evidence SET verdict = 'slower' WHERE build_id = (SELECT max(id) FROM build)"
    )
    [found] = site.reading.activity().evidence
    assert found == PoolEvidence("perf", 3, 1, found.noise)
    assert found.noise == pytest.approx(0.0014826, rel=0.001)


def test_the_figures_read_no_table_as_a_whole(site: PostgresSite) -> None:
    site.add_change()
    for number in range(300):
        end_build(site, ago=f"{number} minutes")
        decide_and_post(site, 1)
    site.database.change("UPDATE decision SET created_at = now() - interval '1 day' WHERE id < 250")
    site.database.administer("ANALYZE")
    reading = PostgresReading(site.database.owner)
    scans = scans_of(site.database.owner, reading.activity, "build")
    assert {scan.index for scan in scans if scan.was_run} == {"build_of_job_finished"}
    assert max(scan.rows for scan in scans) <= 61
