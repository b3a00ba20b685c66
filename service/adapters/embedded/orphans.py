"""The end of servers that a killed supervisor left running on a directory."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from service.adapters.embedded.process import wait_for
from service.domain.errors import Transient

if TYPE_CHECKING:
    from collections.abc import Sequence


def processes_on(directory: Path, program: str) -> tuple[int, ...]:
    """Find the running processes of ``program`` that work in ``directory``.

    A server keeps its data directory as its working directory. Unlike a file with a process ID, this cannot
    name another process that reuses the ID, and it also finds the server's helpers.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        # A process may end meanwhile, and those of other users cannot be read.
        with suppress(OSError):
            name = (entry / "exe").readlink().name.removesuffix(" (deleted)")
            if name == program and (entry / "cwd").readlink() == directory:
                found.append(int(entry.name))
    return tuple(sorted(found))


def end_orphans(directory: Path, program: str, signals: Sequence[tuple[signal.Signals, float]]) -> None:
    """End every process of ``program`` on ``directory``, and wait until none is left.

    Args:
        directory: the working directory, without symbolic links.
        program: the name of the executable file.
        signals: the signals to send, each with the seconds to wait before the next.

    Raises:
        Transient: a process survived all signals.
    """
    for number, seconds in signals:
        deadline = time.monotonic() + seconds
        if not _signal_all(directory, program, number, deadline):
            return
    if left := processes_on(directory, program):
        raise Transient(
            f"{program} (process {', '.join(map(str, left))}) of an earlier start on {directory} does not end"
        )


def _signal_all(directory: Path, program: str, number: signal.Signals, deadline: float) -> bool:
    """Signal the processes and wait for their end; return False if there was none."""
    with ExitStack() as stack:
        handles = []
        for process in processes_on(directory, program):
            with suppress(OSError):
                handle = os.pidfd_open(process)
                stack.callback(os.close, handle)
                # Check again: until the handle was open, the ID may have passed to another process.
                if process in processes_on(directory, program):
                    signal.pidfd_send_signal(handle, number)
                    handles.append(handle)
        was_any = bool(handles)
        while handles and (left := deadline - time.monotonic()) > 0:
            ended = wait_for(handles, left)
            handles = [handle for handle in handles if handle not in ended]
    return was_any
