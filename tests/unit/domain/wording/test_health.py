from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from service.domain.health import Condition, Heartbeat, Patience, PoolQueue
from service.domain.wording.health import degradation_sentences

NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
WELL = (Heartbeat("schedule", NOW), Heartbeat("reconcile", NOW))


def sentences(**facts: Any) -> tuple[str, ...]:  # noqa: ANN401 - facts of every type
    well: dict[str, Any] = {
        "oldest_unhandled_event_at": None,
        "unsent_reviews": 0,
        "oldest_unsent_review_at": None,
        "abandoned_steps": 0,
        "queues": (),
        "heartbeats": WELL,
    }
    return degradation_sentences(Condition(NOW, **(well | facts)), Patience())


CASES = [
    (
        {"oldest_unhandled_event_at": NOW - HOUR},
        "Events are not being handled: the oldest has waited 60 minutes.",
    ),
    (
        {"unsent_reviews": 1, "oldest_unsent_review_at": NOW - HOUR, "why_unsent": "502\n"},
        "One vote has not reached the review server, the oldest for 60 minutes: 502.",
    ),
    ({"abandoned_steps": 1}, "Benchgate gave up one step after repeated failures."),
    ({"abandoned_steps": 2}, "Benchgate gave up 2 steps after repeated failures."),
    ({"queues": (PoolQueue("perf", 2, NOW, None),)}, "Pool perf has no machine: 2 builds wait."),
    (
        {"queues": (PoolQueue("perf", 1, NOW, NOW - HOUR),)},
        "No machine of pool perf was seen for 60 minutes: one build waits.",
    ),
    (
        {"queues": (PoolQueue("perf", 5, NOW - 3 * HOUR, NOW),)},
        "In pool perf 5 builds wait, the oldest for 3 hours.",
    ),
    ({"heartbeats": WELL[:1]}, "The reconciliation has not run yet."),
    (
        {"heartbeats": (*WELL[1:], Heartbeat("schedule", NOW - 60 * HOUR))},
        "The schedule has not run for 2 days.",
    ),
    (
        {"heartbeats": (*WELL, Heartbeat("listen", NOW - timedelta(seconds=90)))},
        "The listener of the event stream has not run for 90 seconds.",
    ),
    (
        {"heartbeats": (*WELL, Heartbeat("listen", NOW, "disconnected for 60 s: refused"))},
        "The listener of the event stream is disconnected for 60 s: refused.",
    ),
    (
        {"heartbeats": (*WELL, Heartbeat("vote on kv master", NOW - 60 * HOUR, "no right on kv"))},
        "Benchgate may not vote: no right on kv.",
    ),
]


@pytest.mark.parametrize(("facts", "sentence"), CASES)
def test_everything_that_is_degraded_has_a_sentence(facts: dict[str, Any], sentence: str) -> None:
    assert sentences(**facts) == (sentence,)


def test_a_listener_that_is_connected_is_well() -> None:
    assert sentences(heartbeats=(*WELL, Heartbeat("listen", NOW))) == ()


def test_a_missing_right_is_not_reported_after_a_granted_vote_or_a_week() -> None:
    granted = Heartbeat("vote on kv master", NOW)
    old = Heartbeat("vote on kv old", NOW - 200 * HOUR, "no right on kv old")
    assert sentences(heartbeats=(*WELL, granted, old)) == ()


@pytest.mark.parametrize("sentence", [sentence for _, sentence in CASES])
def test_operations_md_lists_every_sentence(sentence: str) -> None:
    table = (Path(__file__).parents[4] / "docs" / "operations.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([A-Z…][^|]+) \|", table, flags=re.MULTILINE)
    forms = [".+".join(map(re.escape, each.rstrip(".").split("…"))) for each in listed]

    plural = sentence.replace("One vote has", "2 votes have").replace("one step", "2 steps")
    assert any(re.match(form, plural) for form in forms)
