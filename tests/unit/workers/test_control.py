"""The tasks of the control plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import workers.control
from service.domain.gerrit.change import Review
from service.ports.queue import Task
from tests.support.changes import KEY, Service, change_at
from workers.app import app
from workers.control import STEPS, run_step

if TYPE_CHECKING:
    from datetime import timedelta

    from service.domain.links import Links


class Plane:
    """The control plane over a memory."""

    lookback: timedelta | None = None
    links: Links

    def __init__(self) -> None:
        service = Service()
        service.server.put(change_at(1))
        self.store = self.upkeep = service.store
        self.server = service.server


@pytest.mark.parametrize("task", [task for task in Task if not task.is_for_machines])
def test_each_task_of_the_control_plane_is_registered_under_its_name(task: Task) -> None:
    assert task in STEPS
    assert task.celery_name in app.tasks


def test_an_answer_of_the_review_server_releases_the_reviews_that_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plane = Plane()
    monkeypatch.setattr(workers.control, "control", lambda: plane)
    with plane.store.transaction() as tx:
        tx.queue_review("1", Review(KEY, "patch1", "Build Failed"))
    plane.store.postpone_review(1, 300.0, "connection refused")
    assert plane.store.due_reviews() == []
    run_step(Task.RECONCILE, 0)
    assert [due.review.message for due in plane.store.due_reviews()] == ["Build Failed"]
