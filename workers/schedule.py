"""Publish tasks as they are stored, and run periodic jobs.

Tasks are read from the database, so that no outage of the broker loses one.
"""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Final

import structlog

from service.config.control import ControlSettings
from service.domain.trunk.week import week_to_tell
from service.domain.values.errors import Transient
from service.ports.runs.queue import Task, reconciliation
from service.steps.failures.match_known import propose_known
from service.steps.machines.make_room import make_room
from service.steps.runs.prune import PART_SECONDS, collect_artifacts, part_at, prune_by_schedule
from service.steps.runs.sweep import BACKLOG, ask_for_heartbeats, relay_hints, sweep
from service.wiring.control import build_control
from service.wiring.logs import log_as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.ports.runs.decisions import DueReviews
    from service.ports.runs.queue import Queue
    from service.wiring.control import Control

log = structlog.get_logger()
_ALL_SECONDS: Final = 1800.0
BETWEEN_DELIVERIES: Final = 0.5  # seconds
BETWEEN_LATE_DELIVERIES: Final = 10.0  # while many hints wait, the last one sent has hardly begun


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    log_as_json()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    settings = ControlSettings()
    plane = build_control(settings)
    deliveries = Deliveries(tuple(plane.servers), plane.upkeep, plane.queue)
    jobs = (
        PeriodicJob("relay", 0.0, lambda: relay_hints(plane.upkeep, plane.queue)),
        PeriodicJob("deliver", 0.0, lambda: deliveries.ask(time.monotonic())),
        PeriodicJob("sweep", 2.0, lambda: _sweep(plane)),
        PeriodicJob("reconcile", settings.reconcile_seconds, lambda: _reconcile(plane, is_full=False)),
        PeriodicJob("reconcile all", _ALL_SECONDS, lambda: _reconcile(plane, is_full=True)),
        PeriodicJob("calibrate", 60.0, lambda: plane.queue.send(Task.CALIBRATE, 0, "")),
        PeriodicJob("follow", 600.0, lambda: _follow(plane)),
        PeriodicJob("idle pools", 600.0, lambda: plane.queue.send(Task.USE_IDLE_POOLS, 0, "")),
        PeriodicJob("ask", 30.0, lambda: ask_for_heartbeats(plane.upkeep, plane.queue)),
        PeriodicJob("propose", 300.0, lambda: propose_known(plane.store)),
        PeriodicJob("bugs", 300.0, lambda: _read_bugs(plane)),
        PeriodicJob("digests", 600.0, lambda: plane.notices.queue_digests(week_to_tell)),
        PeriodicJob("notices", 10.0, lambda: _notify(plane)),
        PeriodicJob("partitions", 3600.0, plane.upkeep.ensure_partitions),
    )
    cleaning = (
        PeriodicJob("prune", 600.0, lambda: prune_by_schedule(plane.store, plane.retention, plane.policy)),
        PeriodicJob("mirrors", 600.0, lambda: make_room(plane.caches, time.time())),
        PeriodicJob("artifacts", PART_SECONDS, lambda: _collect(plane)),
    )
    # They may take minutes, for which no task may wait. What is cut short at the end is done the next time.
    threading.Thread(target=_run_apart, args=(cleaning, stop), daemon=True).start()
    while not stop.is_set():
        for job in jobs:
            job.run_if_due(time.monotonic())
        try:
            # Returns when a transaction with new tasks commits, or after a second.
            plane.listener.wait(1.0)
        except Transient as error:
            log.warning("schedule.no_notifications", error=str(error))
            stop.wait(1.0)
    plane.close()


class PeriodicJob:
    """A job that runs periodically; its failure does not affect other jobs."""

    def __init__(self, name: str, every: float, work: Callable[[], object]) -> None:
        self._name = name
        self._every = every
        self._work = work
        self._due = 0.0

    def run_if_due(self, now: float) -> None:
        """Run the job if it is due."""
        if now < self._due:
            return
        self._due = now + self._every
        try:
            self._work()
        except Transient as error:
            log.warning("job.postponed", job=self._name, error=str(error))
        except Exception:
            log.exception("job.failed", job=self._name)


def _run_apart(jobs: Sequence[PeriodicJob], stop: threading.Event) -> None:
    while not stop.is_set():
        for job in jobs:
            job.run_if_due(time.monotonic())
        stop.wait(10.0)


class Deliveries:
    """Ask for the delivery of due reviews, at most twice a second: one task delivers all of them.

    Behind a backlog of hints they are asked for more rarely, so that they do not make it longer.

    Args:
        instances: the review servers; a task names one by its place.
        reviews: tells which have due reviews.
        queue: gets the tasks.
    """

    def __init__(self, instances: Sequence[str], reviews: DueReviews, queue: Queue) -> None:
        self._instances = instances
        self._reviews = reviews
        self._queue = queue
        self._next_at: dict[int, float] = {}  # by place

    def ask(self, now: float) -> None:
        """Send a task for each review server, so that none waits for another that does not answer."""
        places = [place for place in range(len(self._instances)) if now >= self._next_at.get(place, now)]
        due = [place for place in places if self._reviews.due_reviews(self._instances[place])]
        if not due:
            return
        is_late = self._queue.waiting() >= BACKLOG
        for place in due:
            self._queue.send(Task.DELIVER, place, "")
            self._next_at[place] = now + (BETWEEN_LATE_DELIVERIES if is_late else BETWEEN_DELIVERIES)


def _read_bugs(plane: Control) -> None:
    if plane.bugs is not None:  # a worker asks the tracker, which may take long to answer
        plane.queue.send(Task.READ_BUGS, 0, "")


def _notify(plane: Control) -> None:
    if plane.notices.due_notices():
        plane.queue.send(Task.NOTIFY, 0, "")


def _reconcile(plane: Control, *, is_full: bool) -> None:
    for place in range(len(plane.servers)):
        plane.queue.send(Task.RECONCILE, reconciliation(place, is_full=is_full), "")


def _follow(plane: Control) -> None:
    for place in range(len(plane.servers)):
        plane.queue.send(Task.FOLLOW, place, "")


def _collect(plane: Control) -> None:
    now = time.time()
    collect_artifacts(plane.store, plane.retention, plane.artifacts, part_at(now), now)


def _sweep(plane: Control) -> None:
    plane.upkeep.beat("schedule")
    sweep(plane.store, plane.upkeep, plane.queue)


if __name__ == "__main__":
    main()
