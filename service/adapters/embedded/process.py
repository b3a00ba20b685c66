"""Run a child process under a guard, watch it, and kill it together with its process group."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.adapters.system.guarded_process import guarded, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

TAIL_BYTES: Final = 4096
TAIL_LINES: Final = 15


@dataclass(frozen=True, slots=True)
class Child:
    """A program that runs as long as its supervisor.

    Args:
        name: the part's name for users (``database``).
        argv: program and arguments.
        log_path: its output is appended to this file; a missing directory is created.
        env: the whole environment; None: that of the supervisor.
        ready: returns whether the program can be used, within a second or two, because it is polled; raises
            BenchgateError if polling is useless. None: ready as soon as it runs.
        stop_signal: the signal that asks the main process to end; it must end its own children.
        stop_seconds: time for that before the whole process group is killed.
        start_seconds: limit for getting ready.
        orphan_signal: the signal that the kernel sends if the supervisor ends without stopping the program.
            No second signal follows, so it must end the program soon and surely.
        launcher: programs to put in front; each execs the next (``unshare … --``).
        cwd: working directory; None: that of the supervisor.
    """

    name: str
    argv: tuple[str, ...]
    log_path: Path
    env: Mapping[str, str] | None = None
    ready: Callable[[], bool] | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    stop_seconds: float = 10.0
    start_seconds: float = 60.0
    orphan_signal: signal.Signals = signal.SIGKILL
    launcher: tuple[str, ...] = ()
    cwd: Path | None = None


class ProcessRun:
    """A child process from its start to its end.

    The starting thread must outlive it: the kernel treats the end of that thread as the end of the
    supervisor. Raises OSError if the log cannot be opened or the process cannot be created.
    """

    def __init__(self, child: Child) -> None:
        self._child = child
        self.since = time.monotonic()
        self._kill_at: float | None = None
        child.log_path.parent.mkdir(parents=True, exist_ok=True)
        with child.log_path.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(  # noqa: S603 - the caller's program, without a shell
                guarded(child.argv, child.orphan_signal, child.launcher),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=child.env,
                cwd=child.cwd,
                # Ctrl-C in a terminal reaches only the supervisor, which stops the children in order.
                start_new_session=True,
            )
        self.handle = os.pidfd_open(self._process.pid)

    @property
    def pid(self) -> int:
        """PID of the program: launcher and guard ``exec`` it, so the PID stays."""
        return self._process.pid

    def has_ended(self, within: float = 0.0) -> bool:
        """Return whether the main process has ended; wait for it up to ``within`` seconds."""
        if self._process.returncode is not None:
            return True
        return bool(wait_for([self.handle], within))

    def ask_to_end(self) -> None:
        """Ask the program to end; from now on it has ``stop_seconds``."""
        if self._kill_at is None and not self.has_ended():
            with suppress(ProcessLookupError):
                self._process.send_signal(self._child.stop_signal)
            self._kill_at = time.monotonic() + self._child.stop_seconds

    def stop(self) -> None:
        """Ask the program to end unless :meth:`ask_to_end` did, and kill its group when its time is up."""
        self.ask_to_end()
        if self._kill_at is not None:
            self.has_ended(self._kill_at - time.monotonic())
        self.reap()

    def reap(self) -> str:
        """Kill the rest of the group, and return how the main process ended (``exit code 1``)."""
        if self._process.returncode is None:
            # Before reaping the main process: until then no other process can get its ID.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            os.close(self.handle)
        code = self._process.returncode
        return f"exit code {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}"

    def log_tail(self) -> str:
        """Return the last lines that this process wrote."""
        with suppress(OSError), self._child.log_path.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, end - TAIL_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
            return "\n".join(lines[-TAIL_LINES:])
        return ""
