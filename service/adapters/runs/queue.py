"""Send tasks to Celery workers. A broker outage costs only latency."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError
from typing_extensions import override

from service.domain.values.errors import Transient
from service.ports.runs.queue import Queue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.ports.runs.queue import Task

CONTROL_QUEUE: Final = "control"
# For all that send or take tasks; `broker_users.conf` grants what these need.
TRANSPORT: Final[Mapping[str, object]] = MappingProxyType(
    {
        # Kombu's copies of tasks that no worker has accepted yet are in keys of all planes, and need scripts.
        # Without them a task may be lost with its worker; it is sent again, because PostgreSQL has the work.
        "ack_emulation": False,
        "priority_steps": [0],  # one key per queue
    }
)


def pool_queue(pool: str) -> str:
    """Return the name of a pool's queue, which never equals that of the control queue."""
    return f"pool.{pool}"


class CeleryQueue(Queue):
    """The Queue port over a broker."""

    def __init__(self, broker_url: str) -> None:
        self._app = Celery(broker=broker_url, set_as_current=False)
        self._app.conf.update(
            task_serializer="json",
            task_ignore_result=True,
            broker_connection_timeout=2,
            # A server that expects another protocol leaves the greeting unanswered.
            broker_transport_options={**TRANSPORT, "socket_timeout": 5},
        )

    def check(self) -> str:
        """Return why the broker cannot be used; empty if it can."""
        try:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, timeout=2)
        except (OperationalError, OSError) as error:
            return f"the broker does not answer: {error}"
        return ""

    @override
    def send(self, task: Task, entity: int, pool: str) -> None:
        queue = pool_queue(pool) if task.is_for_machines else CONTROL_QUEUE
        try:
            self._app.send_task(task.celery_name, args=[entity], queue=queue, retry=False, ignore_result=True)
        except (OperationalError, RedisError, OSError) as error:
            raise Transient(f"the broker did not accept a task: {error}") from error

    @override
    def waiting(self) -> int:
        try:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, timeout=2)
                channel: Any = connection.default_channel  # Kombu does not declare its client
                return int(channel.client.llen(CONTROL_QUEUE))
        except (OperationalError, RedisError, OSError) as error:
            raise Transient(f"the broker did not count the tasks: {error}") from error
