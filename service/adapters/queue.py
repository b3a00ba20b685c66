"""Sends hints to Celery workers by task name; a broker that is away costs latency only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from celery import Celery
from kombu.exceptions import OperationalError

from service.domain.errors import Transient

if TYPE_CHECKING:
    from service.ports.queue import Task

CONTROL_QUEUE: Final = "control"


def pool_queue(pool: str) -> str:
    """The queue that the machines of a pool serve; no pool's name can make it the control queue."""
    return f"pool.{pool}"


class CeleryQueue:
    """The Queue port over a broker."""

    def __init__(self, broker_url: str) -> None:
        self._app = Celery(broker=broker_url, set_as_current=False)
        self._app.conf.update(task_serializer="json", task_ignore_result=True, broker_connection_timeout=2)

    def check(self) -> str:
        """What is wrong with the broker; empty when nothing is."""
        try:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, timeout=2)
        except (OperationalError, OSError) as error:
            return f"the broker does not answer: {error}"
        return ""

    def send(self, task: Task, entity: int, pool: str) -> None:
        """Send one hint; Transient where the broker does not take it."""
        queue = pool_queue(pool) if task.is_for_machines else CONTROL_QUEUE
        try:
            self._app.send_task(task.celery_name, args=[entity], queue=queue, retry=False, ignore_result=True)
        except (OperationalError, OSError) as error:
            raise Transient(f"the broker took no hint: {error}") from error
