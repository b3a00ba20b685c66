"""One life of a child process: started under a guard, watched, ended with everything it left in its group."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

# Runs between the launcher and the program, and replaces itself by the program. It asks the kernel for
# a signal at the end of the supervisor, which no handler of ours could promise after SIGKILL. The
# request comes first, the look at the parent second: in the other order a supervisor could end between
# the two unnoticed. It undoes what a Python interpreter does to signals at its own start.
GUARD: Final = """
import ctypes, os, signal, sys
parent, number, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
set_parent_death_signal = 1
long = ctypes.c_ulong
if ctypes.CDLL(None).prctl(set_parent_death_signal, long(number), long(0), long(0), long(0)) != 0:
    sys.exit("the kernel refused a signal at the end of the supervisor")
if os.getppid() != parent:
    sys.exit("the supervisor has ended")
for name in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
    signal.signal(name, signal.SIG_DFL)
try:
    os.execvp(program[0], program)
except OSError as error:
    sys.exit(f"{program[0]}: {error.strerror}")
"""

TAIL_BYTES: Final = 4096
TAIL_LINES: Final = 15


@dataclass(frozen=True, slots=True)
class Child:
    """A program that runs for as long as its supervisor does.

    Args:
        name: how people know the part (``database``).
        argv: program and arguments.
        log_path: where its output is appended; the directory is made when it is missing.
        env: the whole environment; None: that of the supervisor.
        ready: whether it can be used now. Asked again and again, so it answers within a second or two;
            raises BenchgateError where asking again is useless. None: ready once it runs.
        stop_signal: what asks its main process to end; the processes below are its own affair.
        stop_seconds: how long that may take before the whole process group is killed.
        start_seconds: how long it may take to be ready.
        orphan_signal: what the kernel sends when the supervisor ends without having stopped it. Nobody is
            left to escalate then: choose one that ends the program soon and surely.
        launcher: programs that replace themselves by the next one (``unshare … --``), put in front.
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
    """A child from its start to its end.

    Start it from a thread that stays: the kernel takes the end of the starting thread for the end of
    the supervisor. Raises OSError when the log cannot be opened or no process can be made.
    """

    def __init__(self, child: Child) -> None:
        self._child = child
        self.since = time.monotonic()
        child.log_path.parent.mkdir(parents=True, exist_ok=True)
        with child.log_path.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(  # noqa: S603 - the program is the caller's, without a shell
                guarded(child.argv, child.orphan_signal, child.launcher),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=child.env,
                cwd=child.cwd,
                # Ctrl-C in a terminal reaches the supervisor alone, which ends the parts in order.
                start_new_session=True,
            )
        self.handle = os.pidfd_open(self._process.pid)

    @property
    def pid(self) -> int:
        """The process id of the program (launcher and guard have replaced themselves by it)."""
        return self._process.pid

    def has_ended(self, within: float = 0.0) -> bool:
        """Wait up to ``within`` seconds for the main process to end, and say whether it has."""
        if self._process.returncode is not None:
            return True
        return bool(wait_for([self.handle], within))

    def stop(self) -> None:
        """Ask it to end; kill the group when the time for that is over."""
        if not self.has_ended():
            with suppress(ProcessLookupError):
                self._process.send_signal(self._child.stop_signal)
            self.has_ended(self._child.stop_seconds)
        self.reap()

    def reap(self) -> str:
        """Kill what is left of the group, and say how the main process ended (``exit code 1``)."""
        if self._process.returncode is None:
            # Before the main process is reaped: until then nobody else can be given its number.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            os.close(self.handle)
        code = self._process.returncode
        return f"exit code {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}"

    def log_tail(self) -> str:
        """The last lines that it wrote during this life."""
        with suppress(OSError), self._child.log_path.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, end - TAIL_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
            return "\n".join(lines[-TAIL_LINES:])
        return ""


def guarded(
    argv: tuple[str, ...], orphan_signal: signal.Signals, launcher: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The command that runs ``argv`` with ``orphan_signal`` sent to it when this process ends."""
    # Inside the launcher: a change of rights on the way may make the kernel forget the request.
    guard = (sys.executable, "-I", "-S", "-c", GUARD, str(os.getpid()), str(int(orphan_signal)))
    return (*launcher, *guard, *argv)


def wait_for(handles: list[int], seconds: float) -> list[int]:
    """Those of the process handles whose process has ended, waiting up to ``seconds`` for the first."""
    poller = select.poll()
    for handle in handles:
        poller.register(handle, select.POLLIN)
    return [handle for handle, _ in poller.poll(max(0, int(seconds * 1000)))]
