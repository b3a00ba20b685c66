"""Start, identify and stop the process of a server."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.gerrit_dev.place import Place

MAIN_CLASS: Final = "com.google.gerrit.launcher.GerritLauncher"
# Gerrit finishes requests and writes its search index, which takes two or three seconds.
STOP_SECONDS: Final = 30.0


def start(place: Place, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the server in a new session, so that no terminal stops it."""
    with place.log.open("ab") as log:
        process = subprocess.Popen(  # noqa: S603  # fixed arguments
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    place.pid_file.write_text(f"{process.pid}\n", encoding="ascii")
    return process


def running(place: Place) -> int | None:
    """Return the server's process ID, or None if it does not run."""
    with _held(place) as held:
        return held[0] if held else None


def stop(place: Place) -> int | None:
    """Stop the server; return its process ID, or None if it did not run."""
    with _held(place) as held:
        if held:
            pid, handle = held
            signal.pidfd_send_signal(handle, signal.SIGTERM)
            if not select.select([handle], [], [], STOP_SECONDS)[0]:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [])
    place.pid_file.unlink(missing_ok=True)
    return pid if held else None


def resident_megabytes(pid: int) -> int:
    """Read the resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kilobytes) // 1024


@contextmanager
def _held(place: Place) -> Iterator[tuple[int, int] | None]:
    """Open a handle on the process; yield its ID and the handle, or None if it is not this server.

    The check comes after the handle is open: the ID may pass to another process, the handle cannot.
    """
    handle = None
    try:
        with suppress(OSError, ValueError):
            pid = int(place.pid_file.read_text(encoding="ascii"))
            handle = os.pidfd_open(pid)
        yield (pid, handle) if handle is not None and _is_server(pid, place) else None
    finally:
        if handle is not None:
            os.close(handle)


def _is_server(pid: int, place: Place) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return {MAIN_CLASS.encode(), b"daemon", os.fsencode(place.site)} <= set(words)
