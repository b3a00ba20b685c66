"""Follow a bubblewrap run by the reports of its monitor, and kill its process namespace."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.adapters.building.sandbox.launcher import resident_bytes
from service.adapters.building.sandbox.supervision import END_WITHIN_SECONDS, Tree
from service.adapters.system.guarded_process import wait_for
from service.domain.values.errors import Transient

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

_SET_CHILD_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
_GET_CHILD_SUBREAPER: Final = 37
START_WITHIN_SECONDS: Final = 30.0  # a loaded machine needs at most one


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Become the parent of orphaned descendants, so that :meth:`Namespace.reap` learns their usage."""
    prctl, before = ctypes.CDLL(None).prctl, ctypes.c_int()
    unused = (ctypes.c_ulong(0),) * 3
    prctl(_GET_CHILD_SUBREAPER, ctypes.byref(before), *unused)
    prctl(_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), *unused)
    try:
        yield
    finally:
        prctl(_SET_CHILD_SUBREAPER, ctypes.c_ulong(before.value), *unused)


class Namespace(Tree):
    """All processes of one bubblewrap run.

    The kernel kills every process of a namespace when its first process ends, and that process ends only
    after all others. So one signal and one wait are enough, even if the program forked or detached others.

    Args:
        process: bubblewrap's monitor, outside the namespace.
        status: pipe for its reports of the first process and the exit code.
        watches_memory: whether to measure the resident memory, because no kernel limits it.
    """

    def __init__(self, process: subprocess.Popen[bytes], status: int, *, watches_memory: bool) -> None:
        self._process = process
        self._status = status
        self._watches_memory = watches_memory
        self._report = b""
        os.set_blocking(status, False)
        self.first = self._await_first()
        self._handle: int | None = None
        if self.first is not None:
            with suppress(ProcessLookupError):  # it may have ended already
                self._handle = os.pidfd_open(self.first)

    @override
    def kill(self) -> None:
        if self._handle is None:
            self._process.kill()
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        if not wait_for([self._handle], END_WITHIN_SECONDS):
            raise Transient(f"process {self.first} of the sandbox cannot be ended")

    @override
    def memory_bytes(self) -> int | None:
        return resident_bytes(self.first) if self._watches_memory and self.first is not None else None

    def exit_code(self) -> int | None:
        """Return the program's exit code, or None if it never started or was killed with its namespace."""
        self._read()
        for line in self._report.splitlines():
            with suppress(ValueError):
                code = json.loads(line).get("exit-code")
                if isinstance(code, int):
                    return code
        return None

    def reap(self) -> int | None:
        """Reap the first process after all ended; return the voluntary switches of the others if known.

        The monitor ends before its child, so the kernel adds nothing of the namespace to the monitor's usage.
        """
        if self.first is None:
            return None
        own = _voluntary_switches(self.first)
        # The monitor still has it, or a run in another thread ended the adoption.
        with suppress(ChildProcessError):
            reaped, _, usage = os.wait4(self.first, os.WNOHANG)
            if reaped:
                self.first = None
                return usage.ru_nvcsw - own if own is not None else None
        return None

    def close(self) -> None:
        """Reap the first process, and close its handle."""
        self.reap()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _await_first(self) -> int | None:
        """Wait for the PID of the namespace's first process; return None if there never was one."""
        deadline = time.monotonic() + START_WITHIN_SECONDS
        while b"\n" not in self._report:
            left = deadline - time.monotonic()
            if left <= 0 or not wait_for([self._status], left) or not self._read():
                return None
        first = json.loads(self._report.split(b"\n", 1)[0]).get("child-pid")
        return first if isinstance(first, int) else None

    def _read(self) -> bool:
        """Read the monitor's reports so far; return False after their end."""
        with suppress(BlockingIOError):
            while chunk := os.read(self._status, 4096):
                self._report += chunk
            return False
        return True


def _voluntary_switches(process: int) -> int | None:
    """Read a process's own voluntary switches, without its children's; a zombie still shows them."""
    with suppress(OSError):
        status = Path(f"/proc/{process}/status").read_text()
        if found := re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", status, re.MULTILINE):
            return int(found[1])
    return None
