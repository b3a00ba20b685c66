"""End servers that a killed supervisor left running on a directory."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from service.domain.values.errors import Transient

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence

LOOK_SECONDS: Final = 0.02


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
        for process in _processes_on(directory, program):
            with suppress(psutil.Error):
                process.send_signal(number)
        # psutil's own waiting would include zombies, which a slow parent may leave for seconds.
        while _processes_on(directory, program) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
    if left := [str(process.pid) for process in _processes_on(directory, program)]:
        raise Transient(
            f"{program} (process {', '.join(left)}) of an earlier start on {directory} does not end"
        )


def _processes_on(directory: Path, program: str) -> list[psutil.Process]:
    """Find the running processes of ``program`` that work in ``directory``.

    A server keeps its data directory as its working directory. Unlike a file with a process ID, this cannot
    name another process that reuses the ID, and it also finds the server's helpers.
    """
    return [
        process
        for process in psutil.process_iter(["exe", "cwd"])
        if Path(process.info["exe"] or "").name == program and process.info["cwd"] == str(directory)
    ]
