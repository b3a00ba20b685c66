from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from service.domain.runs.health import (
    LISTEN,
    RECONCILE,
    Condition,
    FailingStep,
    Heartbeat,
    Patience,
    PoolQueue,
    Step,
)
from service.domain.wording.health import (
    HIDDEN_ERROR,
    degradation_sentences,
    failure_sentences,
    git_url_problem,
    public_error,
    starting_sentences,
)
from service.ports.runs.queue import Task

NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
WELL = (Heartbeat("schedule", NOW), Heartbeat("reconcile", NOW))
PLANNING = FailingStep(Step.PLAN, "7", 4, "fatal: no path specified", NOW)
REFUSED = FailingStep(Step.RECONCILE, None, 1, "401: Unauthorized", None)
SCHEDULED = "Looking for updated changes failed 3 times: 401: Unauthorized. The schedule tries it again."


def condition(**facts: Any) -> Condition:  # noqa: ANN401 - facts of every type
    well: dict[str, Any] = {
        "oldest_unhandled_event_at": None,
        "unsent_reviews": 0,
        "oldest_unsent_review_at": None,
        "abandoned_steps": 0,
        "queues": (),
        "heartbeats": WELL,
    }
    return Condition(NOW, **(well | facts))


def sentences(**facts: Any) -> tuple[str, ...]:  # noqa: ANN401 - as above
    return degradation_sentences(condition(**facts), Patience())


CASES = [
    (
        {"oldest_unhandled_event_at": NOW - HOUR},
        "Events are not being handled: the oldest has waited 60 minutes.",
    ),
    (
        {"unsent_reviews": 1, "oldest_unsent_review_at": NOW - HOUR},
        "One vote has not reached the review server, the oldest for 60 minutes.",
    ),
    (
        {"failing_steps": (PLANNING,)},
        "Planning change 7 failed 4 times: fatal: no path specified. Next try at 02:00:00 UTC.",
    ),
    (
        {"failing_steps": (PLANNING, replace(PLANNING, change="8", attempts=3, next_at=NOW - HOUR))},
        "Planning 2 changes failed 4 times: fatal: no path specified. Next try at 01:00:00 UTC.",
    ),
    (
        {"failing_steps": (replace(PLANNING, attempts=200, is_dead=True),)},
        "Benchgate gave up planning change 7, which failed 200 times: fatal: no path specified.",
    ),
    (
        {"failing_steps": (replace(REFUSED, attempts=3),)},
        SCHEDULED,
    ),
    ({"queues": (PoolQueue("perf", 2, NOW, None),)}, "Pool perf has no machine: 2 builds wait."),
    (
        {"queues": (PoolQueue("perf", 1, NOW, NOW - HOUR),)},
        "No machine of pool perf was seen for 60 minutes: one build waits.",
    ),
    (
        {"queues": (PoolQueue("perf", 5, NOW - 3 * HOUR, NOW),)},
        "In pool perf 5 builds wait, the oldest for 3 hours.",
    ),
    (
        {"queues": (PoolQueue("perf", 1, NOW - HOUR, NOW, NOW - HOUR, "perf-01 is slow"),)},
        "No machine of pool perf has been available for 60 minutes, and one build waits: perf-01 is slow.",
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
    (
        {"heartbeats": (*WELL, Heartbeat("visibility", NOW - HOUR, "the response is not from Gerrit."))},
        "Benchgate cannot find out what Gerrit shows without sign-in: the response is not from Gerrit.",
    ),
    (
        {"heartbeats": (*WELL, Heartbeat("visibility core", NOW - HOUR, "Gerrit answers 502"))},
        "Benchgate cannot find out what core shows without sign-in: Gerrit answers 502.",
    ),
]


@pytest.mark.parametrize(("facts", "sentence"), CASES)
def test_every_degraded_part_has_a_sentence(facts: dict[str, Any], sentence: str) -> None:
    assert sentences(**facts) == (sentence,)


@pytest.mark.parametrize("step", Step)
def test_every_step_has_words(step: Step) -> None:
    (sentence,) = failure_sentences([replace(PLANNING, step=step)])
    assert "failed 4 times" in sentence


@pytest.mark.parametrize(
    ("change", "subject"),
    [
        ("7", "change 7 after the event patchset-created"),
        (None, "a change after the event patchset-created"),
    ],
)
def test_an_event_that_cannot_be_read_is_named(change: str | None, subject: str) -> None:
    refused = "Refused: Gerrit answers 401: Unauthorized"
    failing = FailingStep(Step.HANDLE_EVENT, change, 3, refused, NOW, event="patchset-created")
    assert failure_sentences([failing]) == (
        f"Reading {subject} failed 3 times: {refused}. Next try at 02:00:00 UTC.",
    )


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("Refused: Gerrit answers 401: secret", "Refused: Gerrit answers 401: Unauthorized"),
        ("Transient: Gerrit answers 502: secret", "Transient: Gerrit answers 502: Bad Gateway"),
        ("Transient: Gerrit answers 599: secret", "Transient: Gerrit answers 599: an error"),
        ("Transient: Gerrit cannot be reached: secret", "Transient: Gerrit cannot be reached"),
        ("Transient: git fetch of secret answers 401: no", HIDDEN_ERROR),
        ("ValueError: secret", HIDDEN_ERROR),
    ],
)
def test_an_error_of_gerrit_is_public_without_its_words(stored: str, shown: str) -> None:
    assert public_error(stored) == shown


def test_the_steps_that_can_fail_are_the_tasks_of_the_control_plane() -> None:
    assert {str(step) for step in Step} == {str(task) for task in Task if not task.is_for_machines}


def test_fewer_than_three_failures_are_not_reported() -> None:
    assert sentences(failing_steps=(replace(PLANNING, attempts=2),)) == ()
    assert failure_sentences([replace(PLANNING, attempts=2)]) == ()


def test_many_different_errors_are_counted_after_the_first_five() -> None:
    failing = tuple(replace(PLANNING, error=f"error {number}", attempts=10 - number) for number in range(7))
    found = sentences(failing_steps=failing)
    assert [sentence.split(":")[1] for sentence in found[:5]] == [
        f" error {number}. Next try at 02" for number in range(5)
    ]
    assert found[5:] == ("Further steps fail, with 2 other errors.",)


def test_a_reconciliation_without_a_sign_of_life_is_reported_with_its_error() -> None:
    (sentence,) = sentences(heartbeats=WELL[:1], failing_steps=(REFUSED,))
    assert sentence.startswith("Looking for updated changes failed once: 401: Unauthorized.")
    assert sentences(failing_steps=(REFUSED,)) == ()


def test_a_part_has_one_interval_after_the_start_for_its_first_heartbeat() -> None:
    fresh, late = condition(heartbeats=()), Heartbeat("schedule", NOW - HOUR)
    assert degradation_sentences(fresh, Patience(), 5.0) == ()
    assert starting_sentences(fresh, Patience(), 5.0) == (
        "The schedule has not run yet.",
        "The reconciliation has not run yet.",
    )
    assert degradation_sentences(fresh, Patience(), 60.0) == ("The schedule has not run yet.",)
    assert degradation_sentences(condition(heartbeats=(late, WELL[1])), Patience(), 5.0) == ()
    assert starting_sentences(fresh, Patience(), 1000.0) == ()


def patience_of(seconds: float, *listeners: str, reconciled: tuple[str, ...] = (RECONCILE,)) -> Patience:
    return Patience.of_intervals(seconds, listeners=listeners, reconciled=reconciled)


def test_a_long_interval_of_the_reconciliation_is_not_a_degradation() -> None:
    late = condition(heartbeats=(WELL[0], Heartbeat("reconcile", NOW - HOUR)))
    assert degradation_sentences(late, patience_of(3600.0)) == ()
    assert degradation_sentences(late, patience_of(60.0)) != ()


def test_a_disabled_listener_is_not_missed() -> None:
    old = condition(heartbeats=(*WELL, Heartbeat("listen", NOW - 60 * HOUR)))
    assert degradation_sentences(old, patience_of(60.0)) == ()
    assert degradation_sentences(old, patience_of(60.0, LISTEN)) != ()


def test_the_review_server_with_a_problem_is_named_among_several() -> None:
    beats = (WELL[0], Heartbeat("reconcile core", NOW), Heartbeat("listen core", NOW, "disconnected: eof"))
    patience = patience_of(60.0, "listen core", reconciled=("reconcile core", "reconcile edge"))
    assert degradation_sentences(condition(heartbeats=beats), patience) == (
        "The reconciliation of edge has not run yet.",
        "The listener of the event stream of core is disconnected: eof.",
    )


def test_a_reconciliation_that_fails_is_reported_with_its_error_and_its_server() -> None:
    beats = (WELL[0], Heartbeat("reconcile core", NOW), Heartbeat("reconcile edge", NOW - HOUR))
    failing = (replace(REFUSED, error="Transient: edge: Gerrit cannot be reached"),)
    patience = patience_of(60.0, reconciled=("reconcile core", "reconcile edge"))
    [shown] = degradation_sentences(condition(heartbeats=beats, failing_steps=failing), patience)
    assert shown.startswith("Looking for updated changes failed once: Transient: edge: Gerrit cannot be")


def test_an_unset_or_unusable_git_url_is_a_problem() -> None:
    assert git_url_problem("").startswith("BENCHGATE_GIT_URL is not set")
    assert "{repo}" in git_url_problem("https://example.com/{repo}")
    assert git_url_problem("https://example.com/{project}") == ""


def test_a_connected_listener_is_healthy() -> None:
    assert sentences(heartbeats=(*WELL, Heartbeat("listen", NOW))) == ()


@pytest.mark.parametrize("trouble", ["", "a server that is not configured any more"])
def test_an_answer_about_visibility_of_yesterday_is_no_problem(trouble: str) -> None:
    assert sentences(heartbeats=(*WELL, Heartbeat("visibility", NOW - 24 * HOUR, trouble))) == ()


def test_a_missing_right_is_not_reported_after_a_granted_vote_or_a_week() -> None:
    granted = Heartbeat("vote on kv master", NOW)
    old = Heartbeat("vote on kv old", NOW - 200 * HOUR, "no right on kv old")
    assert sentences(heartbeats=(*WELL, granted, old)) == ()


@pytest.mark.parametrize("sentence", [sentence for _, sentence in CASES])
def test_operations_md_lists_every_sentence(sentence: str) -> None:
    table = (Path(__file__).parents[4] / "docs" / "operator" / "operations.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([A-Z…][^|]+) \|", table, flags=re.MULTILINE)
    forms = [".+".join(map(re.escape, each.rstrip(".").split("…"))) for each in listed]

    plural = sentence.replace("One vote has", "2 votes have")
    assert any(re.match(form, plural) for form in forms)
