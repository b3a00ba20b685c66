"""Copy the output of a running program, and kill it at a limit."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, Final, Protocol

from service.domain.building.sandbox_command import StoppedBy

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from service.domain.building.sandbox_command import Limits
    from service.ports.building import ByteSink

# The promise is 0.25 s; the check itself takes the rest.
LOOK_EVERY_SECONDS: Final = 0.2
CHUNK_BYTES: Final = 1 << 16
TAIL_BYTES: Final = 2000
END_WITHIN_SECONDS: Final = 60.0  # a process that waits for a disk ends only when the disk answers


class Tree(Protocol):
    """All processes of one run."""

    def kill(self) -> None:
        """Kill every process, and return when none is left. Harmless if all have ended.

        Raises:
            Transient: a process does not end.
        """

    def memory_bytes(self) -> int | None:
        """Return the resident memory of all processes in bytes, or None if the kernel enforces the limit."""


class BoundedOutput:
    """The output of a program, copied up to a limit.

    Args:
        descriptor: the reading end of the pipe, which becomes non-blocking.
        log: the destination; None: nothing is stored, so there is no limit.
        bound: the number of bytes to copy; None: any number.
    """

    def __init__(self, descriptor: int, log: ByteSink | None, bound: int | None) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.is_open = True
        self.is_over = False
        self._log = log
        self._left = bound
        self._last = b""

    def copy(self) -> bool:
        """Copy one chunk; return whether there may be more to read now."""
        try:
            chunk = os.read(self.descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return False
        self.is_open = bool(chunk)
        self._last = (self._last + chunk)[-TAIL_BYTES:]
        if self._log is not None:
            kept = chunk[: self._left]
            self._log.write(kept)
            if self._left is not None:
                self._left -= len(kept)
            self.is_over = self.is_over or len(kept) < len(chunk)
        return self.is_open

    def drain(self) -> None:
        """Copy the rest of the pipe, without waiting for a writer; without a log, only one chunk."""
        while self.copy() and self._log is not None and not self.is_over:
            pass

    def last_line(self) -> str:
        """Return the last line so far, which may be an error message of the sandbox."""
        return next(reversed(self._last.decode(errors="replace").strip().splitlines()), "")


def supervise(
    process: subprocess.Popen[bytes],
    tree: Tree,
    limits: Limits,
    output: BoundedOutput,
    watch: Callable[[], None],
) -> StoppedBy | None:
    """Wait for the end of ``process``, and kill the rest of its tree.

    ``watch`` is called from this thread at least every 0.25 s. If it raises, the error is raised from here
    after every process of the tree has ended.

    Returns:
        The limit that ended the program; None if it ended by itself.
    """
    try:
        stopped_by = _follow(process, tree, limits, output, watch)
    finally:
        # Also after a normal end: a daemon of the program must not outlive the run.
        tree.kill()
        process.wait()
    if not output.is_over:
        output.drain()
    return StoppedBy.LOG if output.is_over else stopped_by


def _follow(
    process: subprocess.Popen[bytes],
    tree: Tree,
    limits: Limits,
    output: BoundedOutput,
    watch: Callable[[], None],
) -> StoppedBy | None:
    handle = os.pidfd_open(process.pid)
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        poller.register(output.descriptor, select.POLLIN)
        deadline = time.monotonic() + limits.wall_seconds
        look_at = 0.0
        while True:
            now = time.monotonic()
            if now >= deadline:
                return StoppedBy.WALL
            if now >= look_at:
                watch()
                if (tree.memory_bytes() or 0) > limits.memory_bytes:
                    return StoppedBy.MEMORY
                look_at = time.monotonic() + LOOK_EVERY_SECONDS
            left = max(0.0, min(look_at, deadline) - time.monotonic())
            ready = [number for number, _ in poller.poll(int(left * 1000) + 1)]
            if output.descriptor in ready:
                output.copy()
                if output.is_over:
                    return StoppedBy.LOG
                if not output.is_open:
                    # A closed pipe is always ready, so the loop would spin until the program ends.
                    poller.unregister(output.descriptor)
            if handle in ready:
                return None
    finally:
        os.close(handle)
