"""The sentence above the machines: which can measure, which cannot and why, and what is queued."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboards.machines.summary import machines_sentence
from service.domain.runs.health import PoolQueue
from service.domain.values.identity import BuildName
from service.ports.machines import GONE_DAYS, Machine
from tests.support.reading.views import NOW, healthy, machine_view

HEATED = "other work takes 80 % of its CPUs"
BUSY = BuildName("perf", 7)


def unseen(name: str, **since: float) -> Machine:
    return machine_view(name, last_seen_at=NOW - timedelta(**since))


@pytest.mark.parametrize(
    ("machines", "text"),
    [
        ([], "No machine has reported in a week. Nothing is queued."),
        ([machine_view("a")], "1 of 1 machine can measure; 0 busy. Nothing is queued."),
        (
            [machine_view("a", obstacle=HEATED)],
            (f"0 of 1 machine can measure; 0 busy. a takes no benchmarks: {HEATED}. Nothing is queued."),
        ),
        (
            [
                machine_view("a", build=BUSY, is_busy=True),
                machine_view("b", obstacle=HEATED),
                unseen("c", minutes=2),
            ],
            (
                f"1 of 3 machines can measure; 1 busy. b takes no benchmarks: {HEATED}. "
                "c has not reported for a minute. Nothing is queued."
            ),
        ),
        (
            [machine_view("a"), unseen("b", minutes=2), unseen("c", minutes=2)],
            ("1 of 3 machines can measure; 0 busy. b, c have not reported for a minute. Nothing is queued."),
        ),
        (
            [machine_view("a"), unseen("b", days=GONE_DAYS, seconds=1)],
            "1 of 1 machine can measure; 0 busy. Nothing is queued.",
        ),
        ([unseen("b", days=GONE_DAYS + 1)], "No machine has reported in a week. Nothing is queued."),
    ],
)
def test_machines_are_counted_by_what_they_can_do(machines: list[Machine], text: str) -> None:
    assert machines_sentence(machines, healthy()) == text


def test_pools_with_waiting_builds_are_named() -> None:
    queues = (
        PoolQueue("perf", 3, NOW, NOW),
        PoolQueue("tests", 1, NOW, NOW),
        PoolQueue("idle", 0, None, NOW),
    )
    text = machines_sentence([machine_view("a")], healthy(queues=queues))
    assert text.endswith("Queued: 3 builds in pool perf, 1 build in pool tests.")
