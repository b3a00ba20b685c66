"""Supervise child processes: start them in order, restart dead ones, stop all of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

from service.adapters.embedded.process import ProcessRun
from service.adapters.system.guarded_process import wait_for
from service.domain.values.errors import BenchgateError, Permanent

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.adapters.embedded.process import Child

# Short enough that a start feels immediate, and long enough to cost nothing.
LOOK_SECONDS: Final = 0.05
IDLE_SECONDS: Final = 0.25
# Exponential backoff without a last attempt: a person may fix a full disk or a busy machine without knowing
# about the supervisor.
FIRST_DELAY_SECONDS: Final = 0.5
LAST_DELAY_SECONDS: Final = 30.0
# A run of this length resets the backoff.
GOOD_RUN_SECONDS: Final = 60.0


class ChildState(StrEnum):
    """The state of a child."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ChildStatus:
    """A child's state; ``note`` is the reason why it is not ready."""

    name: str
    state: ChildState
    pid: int | None = None
    restarts: int = 0
    note: str = ""


class Supervisor:
    """A supervisor of children that works only while one of its methods runs.

    As a context manager, it stops all children at the end. Call it from the main thread: the kernel kills the
    children at the end of the thread that started them.

    Args:
        report: called with each new status.
        first_delay: seconds before the first restart of a dead child; doubled for each further restart.
        run: runs the program of a child.
    """

    def __init__(
        self,
        report: Callable[[ChildStatus], None] = lambda _: None,
        *,
        first_delay: float = FIRST_DELAY_SECONDS,
        run: Callable[[Child], ProcessRun] = ProcessRun,
    ) -> None:
        self._report = report
        self._first_delay = first_delay
        self._run = run
        self._groups: list[list[_Part]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *children: Child) -> None:
        """Start the children one after the other; each must be ready before the next one starts.

        They form a group: children may use those of earlier groups until their own end.

        Raises:
            Permanent: a child did not start; the message has the last lines of its log. The earlier children
                go on until :meth:`stop`.
        """
        group: list[_Part] = []
        self._groups.append(group)
        for child in children:
            part = _Part(child, self._report, self._first_delay, self._run)
            group.append(part)
            part.start()

    def run(self, until: Callable[[], bool]) -> None:
        """Keep the children running until ``until`` returns True; call it four times a second or more."""
        while not until():
            for part in self._parts:
                part.check()
            handles = [part.process.handle for part in self._parts if part.process is not None]
            is_changing = any(
                part.status.state in {ChildState.STARTING, ChildState.RESTARTING} for part in self._parts
            )
            wait_for(handles, LOOK_SECONDS if is_changing else IDLE_SECONDS)

    def stop(self) -> None:
        """Stop all children, and return when they have ended.

        Stops the groups in reverse order, and the children of each at the same time. A worker that ends still
        returns its build, so the servers that it needs must outlive it.
        """
        while self._groups:
            group = self._groups[-1][::-1]
            for part in group:
                part.ask_to_end()
            for part in group:
                part.stop()
            self._groups.pop()

    def statuses(self) -> tuple[ChildStatus, ...]:
        """Return the last status of every child, in the order of the start."""
        return tuple(part.status for part in self._parts)

    @property
    def _parts(self) -> list[_Part]:
        return [part for group in self._groups for part in group]


class _Part:
    """A child with its current process and its restarts."""

    def __init__(
        self,
        child: Child,
        report: Callable[[ChildStatus], None],
        first_delay: float,
        run: Callable[[Child], ProcessRun],
    ) -> None:
        self.process: ProcessRun | None = None
        self.status = ChildStatus(child.name, ChildState.STARTING)
        self._child = child
        self._report = report
        self._first_delay = first_delay
        self._run = run
        self._delay = first_delay
        self._due = 0.0
        self._restarts = 0

    def start(self) -> None:
        """Start the process and wait until it is ready; raises Permanent if that fails."""
        try:
            self.process = self._run(self._child)
            self._set(ChildState.STARTING)
            while self.status.state is not ChildState.READY:
                self._check_readiness()
                if self.process.has_ended(LOOK_SECONDS if self.status.state is ChildState.STARTING else 0.0):
                    raise Permanent(self.process.reap())
        except (BenchgateError, OSError) as error:
            tail = ""
            if self.process is not None:
                self.process.stop()
                tail = self.process.log_tail()
                self.process = None
            self._set(ChildState.FAILED, str(error))
            end = f"; the end of {self._child.log_path}:\n{tail}" if tail else ""
            raise Permanent(f"{self._child.name} did not start: {error}{end}") from error

    def check(self) -> None:
        """Restart the child if it died and its delay is over, and update its state."""
        if self.status.state in {ChildState.STOPPED, ChildState.FAILED}:
            return
        if self.process is None:
            if time.monotonic() < self._due:
                return
            self._restarts += 1
            try:
                self.process = self._run(self._child)
            except OSError as error:
                self._plan_restart(None, str(error))
            else:
                self._set(ChildState.RESTARTING, self.status.note)
        elif self.process.has_ended():
            self._plan_restart(self.process, self.process.reap())
        elif self.status.state is not ChildState.READY:
            try:
                self._check_readiness()
            except BenchgateError as error:
                self.process.stop()
                self._plan_restart(self.process, str(error))

    def ask_to_end(self) -> None:
        """Ask the child to end for good; :meth:`stop` waits for that."""
        if self.process is not None:
            self.process.ask_to_end()

    def stop(self) -> None:
        """Stop the child for good."""
        if self.process is not None:
            self.process.stop()
            self.process = None
        if self.status.state is not ChildState.FAILED:
            self._set(ChildState.STOPPED)

    def _check_readiness(self) -> None:
        """Change the state to READY if the child is ready; raises Permanent if it takes too long."""
        if self.process is None:
            return
        if self._child.ready is None or self._child.ready():
            self._set(ChildState.READY)
        elif time.monotonic() - self.process.since > self._child.start_seconds:
            raise Permanent(f"not ready within {self._child.start_seconds:.0f} s")

    def _plan_restart(self, ended: ProcessRun | None, why: str) -> None:
        """Back off before the next restart; ``why`` is how the last process ended."""
        now = time.monotonic()
        if ended is not None and now - ended.since >= GOOD_RUN_SECONDS:
            self._delay = self._first_delay
        self.process = None
        self._due = now + self._delay
        self._delay = min(2 * self._delay, LAST_DELAY_SECONDS)
        self._set(ChildState.RESTARTING, why)

    def _set(self, state: ChildState, note: str = "") -> None:
        pid = None if self.process is None else self.process.pid
        status = ChildStatus(self._child.name, state, pid, self._restarts, note)
        if status != self.status:
            self.status = status
            self._report(status)
