"""The schedule: relays hints as they are committed and wakes what nothing woke.

It talks to the database directly, so that it works however long the broker is away.
"""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Final

import structlog

from service.config import ControlSettings
from service.domain.errors import Transient
from service.logs import log_as_json
from service.ports.queue import Task
from service.steps.upkeep.sweep import ask_for_heartbeats, relay_hints, sweep
from service.wiring.control import build_control

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.wiring.control import Control

log = structlog.get_logger()
_ALL_SECONDS: Final = 1800.0


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    log_as_json()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    settings = ControlSettings()
    plane = build_control(settings)
    jobs = (
        PeriodicJob("relay", 0.0, lambda: _relay(plane)),
        PeriodicJob("sweep", 2.0, lambda: _sweep(plane)),
        PeriodicJob("reconcile", settings.reconcile_seconds, lambda: plane.queue.send(Task.RECONCILE, 0, "")),
        PeriodicJob("reconcile all", _ALL_SECONDS, lambda: plane.queue.send(Task.RECONCILE, 1, "")),
        PeriodicJob("calibrate", 60.0, lambda: plane.queue.send(Task.CALIBRATE, 0, "")),
        PeriodicJob("ask", 30.0, lambda: ask_for_heartbeats(plane.upkeep, plane.queue)),
        PeriodicJob("partitions", 3600.0, plane.upkeep.ensure_partitions),
    )
    while not stop.is_set():
        for job in jobs:
            job.run_if_due(time.monotonic())
        try:
            # Woken by the commit of something that leaves; at the latest after a second.
            plane.listener.wait(1.0)
        except Transient as error:
            log.warning("schedule.deaf", error=str(error))
            stop.wait(1.0)
    plane.close()


class PeriodicJob:
    """Something done again and again; one that fails does not keep the others from being done."""

    def __init__(self, name: str, every: float, work: Callable[[], object]) -> None:
        self._name = name
        self._every = every
        self._work = work
        self._due = 0.0

    def run_if_due(self, now: float) -> None:
        """Do it when its time has come."""
        if now < self._due:
            return
        self._due = now + self._every
        try:
            self._work()
        except Transient as error:
            log.warning("chore.postponed", job=self._name, error=str(error))
        except Exception:
            log.exception("chore.failed", job=self._name)


def _relay(plane: Control) -> None:
    relay_hints(plane.upkeep, plane.queue)
    if plane.upkeep.due_reviews():
        plane.queue.send(Task.DELIVER, 0, "")


def _sweep(plane: Control) -> None:
    plane.upkeep.beat("schedule")
    sweep(plane.store, plane.upkeep, plane.queue)


if __name__ == "__main__":
    main()
