"""Ends servers that a killed supervisor left running on a directory."""

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
    """The living processes of ``program`` that work in ``directory``.

    A server changes into its data directory and stays there. That tells it apart from any other process
    that was given the same number since, which a file with a number cannot, and finds its helpers too.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        # Processes end while they are looked at, and those of other users may not be looked at.
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
        signals: what to send, and how many seconds to wait for its effect before the next.

    Raises:
        Transient: one outlived them all.
    """
    for number, seconds in signals:
        deadline = time.monotonic() + seconds
        if not _signal_all(directory, program, number, deadline):
            return
    if left := processes_on(directory, program):
        raise Transient(
            f"{program} (process {', '.join(map(str, left))}) of an earlier start does not end on {directory}"
        )


def _signal_all(directory: Path, program: str, number: signal.Signals, deadline: float) -> bool:
    """Signal the processes and wait for their end; False when there was none to signal."""
    with ExitStack() as stack:
        handles = []
        for process in processes_on(directory, program):
            with suppress(OSError):
                handle = os.pidfd_open(process)
                stack.callback(os.close, handle)
                # Once more, now that the handle pins the process: the number may have changed hands.
                if process in processes_on(directory, program):
                    signal.pidfd_send_signal(handle, number)
                    handles.append(handle)
        was_any = bool(handles)
        while handles and (left := deadline - time.monotonic()) > 0:
            ended = wait_for(handles, left)
            handles = [handle for handle in handles if handle not in ended]
    return was_any
