"""Hold queues to one contract, in memory and over a broker."""

from __future__ import annotations

import pytest

from service.adapters.runs.queue import CeleryQueue
from service.domain.values.errors import Transient
from service.ports.runs.queue import Queue, Task
from tests.support.memory.store import MemoryQueue


class TestQueue:
    @pytest.mark.parametrize("queue", [MemoryQueue(is_down=True), CeleryQueue("redis://127.0.0.1:1/0")])
    def test_an_unreachable_broker_is_a_passing_fault(self, queue: Queue) -> None:
        for task in (Task.PLAN, Task.EXECUTE):
            with pytest.raises(Transient):
                queue.send(task, 1, "perf")
        with pytest.raises(Transient):
            queue.waiting()
