from __future__ import annotations

from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from service.domain.runs.health import FailingStep, Heartbeat, Patience, PoolQueue, Step
from service.domain.wording.health import degradation_sentences
from service.web.application import assemble
from service.web.health import create_health
from tests.support.access.callers import Callers
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import NOW, change_view, healthy
from tests.support.web import build_pages, call

HOUR = timedelta(hours=1)
AWAY = "The database does not answer, so pages may be out of date: the database does not answer."
CASES = [
    (
        {"oldest_unhandled_event_at": NOW - HOUR},
        "Events are not being handled: the oldest has waited 60 minutes.",
    ),
    (
        {"unsent_reviews": 3, "oldest_unsent_review_at": NOW - HOUR},
        "3 votes have not reached the review server, the oldest for 60 minutes.",
    ),
    (
        {"failing_steps": (FailingStep(Step.PLAN, "7", 3, "no route", NOW),)},
        "Planning change 7 failed 3 times: no route. Next try at 02:36:00 UTC.",
    ),
    ({"queues": (PoolQueue("perf", 2, NOW - HOUR, None),)}, "Pool perf has no machine: 2 builds wait."),
    (
        {"queues": (PoolQueue("perf", 1, NOW, NOW - HOUR),)},
        "No machine of pool perf was seen for 60 minutes: one build waits.",
    ),
    (
        {"queues": (PoolQueue("perf", 5, NOW - 3 * HOUR, NOW),)},
        "In pool perf 5 builds wait, the oldest for 3 hours.",
    ),
    ({"heartbeats": (Heartbeat("schedule", NOW),)}, "The reconciliation has not run yet."),
    (
        {"heartbeats": (Heartbeat("schedule", NOW), Heartbeat("reconcile", NOW - 60 * HOUR))},
        "The reconciliation has not run for 2 days.",
    ),
]


def test_a_service_without_problems_is_ready() -> None:
    answer = call(build_pages(FakeReading()), "GET", "/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")


@pytest.mark.parametrize(("facts", "sentence"), CASES)
def test_degradations_are_in_readyz_and_on_the_pages(facts: dict[str, object], sentence: str) -> None:
    app = build_pages(FakeReading(state=healthy(**facts)), uptime=HOUR)
    answer = call(app, "GET", "/readyz")
    assert (answer.status_code, answer.json()["degraded"]) == (503, [sentence])
    assert sentence in call(app, "GET", "/").text


def test_a_fresh_start_is_shown_as_starting_and_not_as_degraded() -> None:
    app = build_pages(FakeReading(state=healthy(heartbeats=())))
    answer = call(app, "GET", "/readyz")
    assert (answer.status_code, answer.json()["status"], answer.json()["degraded"]) == (503, "starting", [])
    page = call(app, "GET", "/").text
    assert "<strong>Starting</strong>" in page
    assert "Degraded" not in page
    assert '<div class="warnings starting" role="status">' in page  # no landmark: its role would be lost


def test_further_checks_are_in_readyz_and_on_the_pages() -> None:
    app = build_pages(FakeReading(), checks={"git": lambda: "BENCHGATE_GIT_URL is not set."})
    sentence = "git: BENCHGATE_GIT_URL is not set."
    assert call(app, "GET", "/readyz").json()["degraded"] == [sentence]
    assert sentence in call(app, "GET", "/").text


def test_the_page_of_a_change_shows_what_failed_three_times() -> None:
    reading = FakeReading(failing=[FailingStep(Step.PLAN, "7", 3, "no route", NOW)])
    add_patch_set(reading, change_view(7, "Faster"), [])
    page = call(build_pages(reading), "GET", "/changes/7").text
    assert '<p class="note"><bdi>Planning change 7 failed 3 times: no route.' in page


def test_short_waits_are_not_degradations() -> None:
    facts = healthy(
        oldest_unhandled_event_at=NOW - timedelta(seconds=5),
        unsent_reviews=1,
        oldest_unsent_review_at=NOW - timedelta(seconds=5),
        queues=(PoolQueue("perf", 1, NOW, NOW), PoolQueue("idle", 0, None, NOW - HOUR)),
    )
    assert degradation_sentences(facts, Patience()) == ()


def test_without_its_database_the_service_is_alive_but_not_ready() -> None:
    app = build_pages(FakeReading(is_away=True))
    assert call(app, "GET", "/healthz").status_code == 200
    answer = call(app, "GET", "/readyz")
    assert (answer.status_code, answer.json()["degraded"]) == (503, [AWAY])
    assert "benchgate_database_up 0.0" in call(app, "GET", "/metrics").text
    assert AWAY in call(app, "GET", "/docs").text


def test_readyz_publishes_these_facts_and_no_others() -> None:
    state = healthy(unsent_reviews=1, oldest_unsent_review_at=NOW)
    answer = call(build_pages(FakeReading(state=state)), "GET", "/readyz")
    now = NOW.isoformat()
    facts = answer.json()["facts"]
    facts["machines"] = dict.fromkeys(facts["machines"], now)
    assert facts == {
        "now": now,
        "oldest_unhandled_event_at": None,
        "unsent_reviews": 1,
        "oldest_unsent_review_at": now,
        "abandoned_steps": 0,
        "queues": [
            {
                "pool": "perf",
                "waiting": 0,
                "oldest_at": None,
                "machine_seen_at": now,
                "hindered_at": None,
                "hindrance": "",
            }
        ],
        "heartbeats": {"schedule": now, "reconcile": now},
        "machines": dict.fromkeys(facts["machines"], now),
    }


def test_without_public_pages_a_probe_gets_the_status_alone() -> None:
    reading = FakeReading(state=healthy(failing_steps=(FailingStep(Step.PLAN, "7", 3, "no route", NOW),)))
    router = create_health(reading, CollectorRegistry(), is_public=False)
    app = assemble([router], access=Callers().access(), version="0.1.0")
    answer = call(app, "GET", "/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "degraded"})
