"""Publish tasks no oftener than they can be of use."""

from __future__ import annotations

from service.domain.review.change import Review
from service.domain.values.identity import ChangeKey
from service.ports.runs.queue import Task
from service.steps.runs.sweep import BACKLOG
from tests.support.memory.store import MemoryQueue
from tests.support.review.changes import Service
from workers.schedule import BETWEEN_DELIVERIES, BETWEEN_LATE_DELIVERIES, Deliveries


def test_a_delivery_is_asked_for_at_once_and_then_twice_a_second_while_reviews_wait() -> None:
    store, queue = Service().store, MemoryQueue()
    deliveries = Deliveries(("busy", "other"), store, queue)
    deliveries.ask(0.0)
    assert queue.sent == []
    with store.transaction() as tx:
        tx.outbox.queue_review("run/1/1", Review(ChangeKey("busy", 7), "r", "Build Failed"))
    for now in (0.1, 0.2, 0.3):
        deliveries.ask(now)
    assert queue.sent == [(Task.DELIVER, 0, "")]
    with store.transaction() as tx:
        tx.outbox.queue_review("run/2/1", Review(ChangeKey("other", 8), "r", "Build Failed"))
    deliveries.ask(0.3)
    assert queue.sent[1:] == [(Task.DELIVER, 1, "")]
    deliveries.ask(0.1 + BETWEEN_DELIVERIES)
    assert queue.sent[2:] == [(Task.DELIVER, 0, "")]


def test_a_delivery_is_asked_for_more_rarely_behind_a_backlog() -> None:
    store, queue = Service().store, MemoryQueue()
    backlog = [(Task.PLAN, run, "") for run in range(BACKLOG)]
    queue.sent.extend(backlog)
    deliveries = Deliveries(("busy",), store, queue)
    with store.transaction() as tx:
        tx.outbox.queue_review("run/1/1", Review(ChangeKey("busy", 7), "r", "Build Failed"))
    for now in (0.0, BETWEEN_LATE_DELIVERIES - 1):
        deliveries.ask(now)
    assert queue.sent == [*backlog, (Task.DELIVER, 0, "")]
    deliveries.ask(BETWEEN_LATE_DELIVERIES)
    assert len(queue.sent) == len(backlog) + 2
