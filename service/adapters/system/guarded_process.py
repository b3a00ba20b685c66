"""Run commands that end with the process that started them, and wait for handles."""

from __future__ import annotations

import os
import select
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import signal

# Runs between the launcher and the program, which it execs. It asks the kernel for a signal at the end of the
# supervisor, which also works after SIGKILL, and checks its parent only then: otherwise the supervisor could
# end between the two unnoticed. It also restores the signal handling that Python changes at its start.
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


def guarded(
    argv: tuple[str, ...], orphan_signal: signal.Signals, launcher: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the command that runs ``argv`` and gets ``orphan_signal`` when this process ends."""
    # After the launcher: if it changes rights, the kernel may drop the request for the signal.
    guard = (sys.executable, "-I", "-S", "-c", GUARD, str(os.getpid()), str(int(orphan_signal)))
    return (*launcher, *guard, *argv)


def wait_for(handles: list[int], seconds: float) -> list[int]:
    """Return the readable handles; wait up to ``seconds`` for the first.

    A process's handle is readable once the process has ended, a pipe once it has data or was closed.
    """
    poller = select.poll()
    for handle in handles:
        poller.register(handle, select.POLLIN)
    return [handle for handle, _ in poller.poll(max(0, int(seconds * 1000)))]
