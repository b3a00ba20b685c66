from __future__ import annotations

import pytest

from service.domain.runs.states import MAX_ATTEMPTS, BuildState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Transient
from service.ports.runs.queue import Task
from service.steps.runs.plan_run import QUEUED_AT_MOST
from service.steps.runs.sweep import BACKLOG, CONTROL, ask_for_heartbeats, relay_hints, sweep
from tests.support.memory.store import MemoryQueue
from tests.support.memory.upkeep import LEASE_SECONDS
from tests.support.review.changes import Service, change_at


@pytest.fixture
def service() -> Service:
    """A service with one queued build."""
    service = Service()
    service.see(change_at(1))
    service.plan()
    return service


class TestRelay:
    def test_tasks_go_to_the_pool_that_can_execute_them(self, service: Service) -> None:
        queue = MemoryQueue()

        assert relay_hints(service.store, queue) == 2
        assert queue.sent == [(Task.PLAN, 1, CONTROL), (Task.EXECUTE, 1, "perf")]
        assert relay_hints(service.store, queue) == 0

    def test_a_task_survives_a_broker_outage(self, service: Service) -> None:
        queue = MemoryQueue(is_down=True)
        with pytest.raises(Transient):
            relay_hints(service.store, queue)

        queue.is_down = False
        assert relay_hints(service.store, queue) == 2

    def test_a_broker_that_dies_in_between_repeats_tasks_and_loses_none(self, service: Service) -> None:
        queue = DyingQueue()
        with pytest.raises(Transient):
            relay_hints(service.store, queue)
        assert queue.sent == [(Task.PLAN, 1, CONTROL)]

        healthy = MemoryQueue()
        relay_hints(service.store, healthy)
        assert healthy.sent == [(Task.PLAN, 1, CONTROL), (Task.EXECUTE, 1, "perf")]


class DyingQueue(MemoryQueue):
    """A broker that accepts one task and dies."""

    def send(self, task: Task, entity: int, pool: str) -> None:
        self.is_down = bool(self.sent)
        super().send(task, entity, pool)


def lose(service: Service, attempt: int) -> None:
    """Let a machine claim the build for its n-th attempt, and be silent until the lease expires."""
    service.store.update(1, attempt=attempt - 1)
    service.store.claim()
    service.store.wait(LEASE_SECONDS)


class TestSweep:
    def test_a_stalled_task_is_published_again(self, service: Service) -> None:
        queue = MemoryQueue()
        with service.store.transaction() as tx:
            event = tx.events.add("gerrit", b"d", "patchset-created", 7, b"{}")
        service.store.wait(6.0)
        sweep(service.store, service.store, queue)

        assert queue.sent == [(Task.HANDLE_EVENT, event, CONTROL), (Task.EXECUTE, 1, "perf")]

    def test_a_backlog_is_not_published_again_and_again(self, service: Service) -> None:
        queue = MemoryQueue()
        with service.store.transaction() as tx:
            for number in range(3 * BACKLOG):
                tx.events.add("gerrit", b"%d" % number, "patchset-created", number, b"{}")
        service.store.wait(6.0)
        for _ in range(3):
            sweep(service.store, service.store, queue)
            assert queue.waiting() == BACKLOG
        del queue.sent[: BACKLOG // 2]
        sweep(service.store, service.store, queue)
        assert queue.waiting() == BACKLOG

    def test_slow_steps_do_not_hide_younger_ones(self, service: Service) -> None:
        queue = MemoryQueue()
        with service.store.transaction() as tx:
            for number in range(2 * BACKLOG):
                tx.events.add("gerrit", b"%d" % number, "patchset-created", number, b"{}")
        service.store.wait(6.0)
        published: set[int] = set()
        for _ in range(100):  # the oldest, which never end, are published each time
            sweep(service.store, service.store, queue)
            published.update(entity for task, entity, _ in queue.sent if task is Task.HANDLE_EVENT)
            queue.sent.clear()
        assert len(published) == 2 * BACKLOG

    @pytest.mark.parametrize("attempt", range(1, MAX_ATTEMPTS))
    def test_a_build_of_a_lost_machine_is_queued_again(self, service: Service, attempt: int) -> None:
        lose(service, attempt)
        sweep(service.store, service.store, MemoryQueue())

        assert service.store.memory.builds[0].state is BuildState.QUEUED

    def test_the_last_failed_attempt_ends_it_and_queues_the_vote(self, service: Service) -> None:
        lose(service, MAX_ATTEMPTS)
        sweep(service.store, service.store, MemoryQueue())
        (build,) = service.store.memory.builds

        assert (build.state, build.outcome) == (BuildState.FINISHED, Outcome.INFRASTRUCTURE)
        assert build.causes == ("the machine stopped responding 3 times",)
        assert service.store.memory.hints[-1] == (Task.VOTE, 1)

    def test_a_build_past_its_deadline_is_given_up(self, service: Service) -> None:
        service.store.wait(QUEUED_AT_MOST)
        sweep(service.store, service.store, MemoryQueue())
        (build,) = service.store.memory.builds

        assert build.outcome is Outcome.INFRASTRUCTURE
        assert build.causes == ("no machine finished the build before its deadline",)

    def test_a_queued_build_that_no_run_needs_is_cancelled(self, service: Service) -> None:
        service.see(change_at(2))
        sweep(service.store, service.store, MemoryQueue())
        assert service.store.memory.builds[0].outcome is None, "the new patch set may need the same build"

        service.plan(2)
        sweep(service.store, service.store, MemoryQueue())
        assert service.store.memory.builds[0].outcome is Outcome.CANCELLED

    def test_overdue_builds_end_during_a_broker_outage(self, service: Service) -> None:
        service.store.wait(QUEUED_AT_MOST)
        service.see(change_at(2))
        service.store.wait(6.0)
        with pytest.raises(Transient):
            sweep(service.store, service.store, MemoryQueue(is_down=True))

        assert service.store.memory.builds[0].state is BuildState.FINISHED

    def test_one_process_sweeps_at_a_time(self, service: Service) -> None:
        queue = MemoryQueue()
        service.store.wait(6.0)
        with service.store.exclusive("sweep"):
            sweep(service.store, service.store, queue)

        assert queue.sent == []


def test_every_machine_is_asked_for_a_heartbeat(service: Service) -> None:
    queue = MemoryQueue()
    for machine, pool in (("perf-01", "perf"), ("lint-01", "lint"), ("perf-02", "perf")):
        service.store.register(machine, pool)
    ask_for_heartbeats(service.store, queue)

    assert [pool for _, _, pool in queue.sent] == ["lint", "perf", "perf"]
