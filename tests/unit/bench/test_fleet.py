"""Find what a fleet's control plane lost or did twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bench.fleet.counts import Ended, faults

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
BUILDS = [Ended(7, 1, build, "perf-0", "finished", 1, NOON, NOON, NOON, NOON, NOON) for build in (1, 2, 3)]


def test_a_change_with_one_run_decision_and_message_lost_nothing() -> None:
    assert faults([7], BUILDS, {7: 1}, {7: 1}) == []


@pytest.mark.parametrize(
    ("builds", "decisions", "messages", "expected"),
    [
        ([], {7: 1}, {7: 1}, ["change 7 has 0 runs, not 1", "change 7 has 0 builds, not 3"]),
        (BUILDS, {}, {7: 2}, ["change 7 has 0 decisions, not 1", "change 7 has 2 messages, not 1"]),
        (
            [*BUILDS[:2], replace(BUILDS[2], state="running", attempt=2)],
            {7: 1},
            {7: 1},
            ["build 3 is running", "build 3 had 2 attempts"],
        ),
    ],
)
def test_what_is_lost_or_doubled_is_named(
    builds: list[Ended], decisions: dict[int, int], messages: dict[int, int], expected: list[str]
) -> None:
    assert faults([7], builds, decisions, messages) == expected
