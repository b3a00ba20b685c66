"""The tasks of the control plane."""

from __future__ import annotations

import pytest

from service.ports.queue import Task
from workers.app import app
from workers.control import STEPS


@pytest.mark.parametrize("task", [task for task in Task if not task.is_for_machines])
def test_each_task_of_the_control_plane_is_registered_under_its_name(task: Task) -> None:
    assert task in STEPS
    assert task.celery_name in app.tasks
