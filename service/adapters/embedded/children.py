"""Keeps the parts of one machine running: started in order, restarted when they die, stopped in reverse."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

from service.adapters.embedded.process import Child, ProcessRun, wait_for
from service.domain.errors import BenchgateError, Permanent

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Child", "State", "Status", "Supervisor"]

# Often enough that a start feels immediate, seldom enough to cost nothing.
LOOK_SECONDS: Final = 0.05
IDLE_SECONDS: Final = 0.25
# A part that dies at once is tried again soon, then ever less often, but always: a full disk or a
# busy machine is mended by somebody who does not know that a supervisor waits for it.
FIRST_DELAY_SECONDS: Final = 0.5
LAST_DELAY_SECONDS: Final = 30.0
# A life of this length counts as success: the next death starts again at the first delay.
GOOD_LIFE_SECONDS: Final = 60.0


class State(StrEnum):
    """Where a part stands."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Status:
    """One part as a line of a display; ``note`` says why it is not ready."""

    name: str
    state: State
    pid: int | None = None
    restarts: int = 0
    note: str = ""


class Supervisor:
    """Runs children from the thread that calls it; nothing happens between calls of :meth:`poll`.

    Use it as a context manager: everything is stopped at its end. That thread must be one that stays
    (the main thread), because the kernel ends the children together with it.

    Args:
        report: called with the new status whenever one changes.
        first_delay: seconds before the first restart of a part that died; doubled each time.
    """

    def __init__(
        self,
        report: Callable[[Status], None] = lambda _: None,
        *,
        first_delay: float = FIRST_DELAY_SECONDS,
    ) -> None:
        self._report = report
        self._first_delay = first_delay
        self._parts: list[_Part] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *children: Child) -> None:
        """Start the children one after the other, each when those before it are ready.

        Raises:
            Permanent: one did not start; the message holds the last lines of its log. Those before it
                run on until :meth:`stop`.
        """
        for child in children:
            part = _Part(child, self._report, self._first_delay)
            self._parts.append(part)
            part.start()

    def poll(self) -> None:
        """Look at every part once: see deaths, restart what is due."""
        for part in self._parts:
            part.look()

    def run(self, until: Callable[[], bool]) -> None:
        """Keep the parts running until ``until`` says so; it is asked at least four times a second."""
        while not until():
            self.poll()
            handles = [part.life.handle for part in self._parts if part.life is not None]
            is_settled = all(part.is_settled for part in self._parts)
            wait_for(handles, IDLE_SECONDS if is_settled else LOOK_SECONDS)

    def stop(self) -> None:
        """Stop what runs, the last started first; return when all have ended."""
        while self._parts:
            self._parts[-1].stop()
            self._parts.pop()

    def statuses(self) -> tuple[Status, ...]:
        """Every part as it was last seen, in the order of the start."""
        return tuple(part.status for part in self._parts)


class _Part:
    """A child through all its lives."""

    def __init__(self, child: Child, report: Callable[[Status], None], first_delay: float) -> None:
        self.life: ProcessRun | None = None
        self.status = Status(child.name, State.STARTING)
        self._child = child
        self._report = report
        self._first_delay = first_delay
        self._delay = first_delay
        self._due = 0.0
        self._restarts = 0

    @property
    def is_settled(self) -> bool:
        """Whether nothing but a death can change its state."""
        return self.status.state not in {State.STARTING, State.RESTARTING}

    def start(self) -> None:
        """Start it and wait until it is ready; raises Permanent when that fails."""
        self._say(State.STARTING)
        try:
            self.life = ProcessRun(self._child)
            self._say(State.STARTING)
            while self.status.state is not State.READY:
                self._grow()
                if self.life.has_ended(LOOK_SECONDS if self.status.state is State.STARTING else 0.0):
                    raise Permanent(self.life.reap())
        except (BenchgateError, OSError) as error:
            self._fail(error)

    def look(self) -> None:
        """Take note of a death, restart it when that is due, see whether it has become ready."""
        if self.status.state in {State.STOPPED, State.FAILED}:
            return
        if self.life is None:
            if time.monotonic() >= self._due:
                self._restart()
        elif self.life.has_ended():
            self._lose(self.life, self.life.reap())
        elif self.status.state is not State.READY:
            try:
                self._grow()
            except BenchgateError as error:
                self.life.stop()
                self._lose(self.life, str(error))

    def stop(self) -> None:
        """End it for good."""
        if self.life is not None:
            self.life.stop()
            self.life = None
        if self.status.state is not State.FAILED:
            self._say(State.STOPPED)

    def _grow(self) -> None:
        """Make it READY when it is; raises Permanent when it takes too long."""
        if self.life is None:
            return
        if self._child.ready is None or self._child.ready():
            self._say(State.READY)
        elif time.monotonic() - self.life.since > self._child.start_seconds:
            raise Permanent(f"not ready within {self._child.start_seconds:.0f} s")

    def _restart(self) -> None:
        self._restarts += 1
        try:
            self.life = ProcessRun(self._child)
        except OSError as error:
            self._lose(None, str(error))
        else:
            self._say(State.RESTARTING, self.status.note)

    def _lose(self, life: ProcessRun | None, why: str) -> None:
        """Plan the next life; ``why`` is how the last one ended."""
        now = time.monotonic()
        if life is not None and now - life.since >= GOOD_LIFE_SECONDS:
            self._delay = self._first_delay
        self.life = None
        self._due = now + self._delay
        self._delay = min(2 * self._delay, LAST_DELAY_SECONDS)
        self._say(State.RESTARTING, why)

    def _fail(self, error: Exception) -> None:
        """End a child that could not start, and say why with its own last words."""
        words = ""
        if self.life is not None:
            self.life.stop()
            words = self.life.log_tail()
            self.life = None
        self._say(State.FAILED, str(error))
        seen = f"; the end of {self._child.log_path}:\n{words}" if words else ""
        raise Permanent(f"{self._child.name} did not start: {error}{seen}") from error

    def _say(self, state: State, note: str = "") -> None:
        pid = None if self.life is None else self.life.pid
        status = Status(self._child.name, state, pid, self._restarts, note)
        if status != self.status:
            self.status = status
            self._report(status)
