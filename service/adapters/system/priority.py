"""Give programs the highest priority for CPUs, where the kernel allows that."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

NICE: Final = -20
IN_FORCE: Final = f"nice {NICE}"
_GROUPS_SESSIONS: Final = Path("/proc/sys/kernel/sched_autogroup_enabled")
_SESSION_WITHIN: Final = 1.0  # seconds; a loaded machine needs tenths
_RETRY: Final = 0.001


@contextmanager
def raised_priority() -> Iterator[bool]:
    """Raise the priority of the calling thread, and so of what it starts; yield whether it may.

    The thread that watches a program needs the program's priority. Otherwise many processes of a patch keep
    it from its limits.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


def can_raise_priority() -> bool:
    """Return whether programs may get the priority. Tries it on the calling thread."""
    with raised_priority() as is_raised:
        return is_raised


def raise_session(process: int) -> None:
    """Raise the priority of the session that a process leads, or will lead in a moment.

    If the kernel groups programs by session (``sched_autogroup_enabled``), sessions share a CPU equally,
    whatever the priority of their programs: sched(7).
    """
    group, deadline = Path(f"/proc/{process}/autogroup"), time.monotonic() + _SESSION_WITHIN
    # The process may end meanwhile, and not all kernels have such groups.
    with suppress(OSError):
        while _GROUPS_SESSIONS.read_text().strip() == "1" and time.monotonic() < deadline:
            if os.getsid(process) == process:
                # Without CAP_SYS_ADMIN, the kernel accepts one write in 100 ms.
                with suppress(BlockingIOError):
                    group.write_text(str(NICE))
                    return
            time.sleep(_RETRY)
