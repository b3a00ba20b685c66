"""The supervision of a running program: its output is copied, and it is killed at a limit."""

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

# The promise is 0.25 s; the check itself takes the rest.
LOOK_EVERY_SECONDS: Final = 0.2
CHUNK_BYTES: Final = 1 << 16


class Tree(Protocol):
    """All processes of one run."""

    def kill(self) -> None:
        """Kill every process, and return when none is left. Harmless if all have ended."""

    def memory_bytes(self) -> int | None:
        """Read the resident memory of all processes in bytes; None if the kernel enforces the limit."""


class Sink(Protocol):
    """A destination of output."""

    def write(self, data: bytes, /) -> object:
        """Write all of ``data``."""


class Output:
    """The output of a program, copied up to a limit.

    Args:
        descriptor: the reading end of the pipe, which becomes non-blocking.
        log: the destination.
        bound: the number of bytes to copy.
    """

    def __init__(self, descriptor: int, log: Sink, bound: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self._log = log
        self._left = bound
        self.is_open = True
        self.is_over = False

    def copy(self) -> bool:
        """Copy one chunk, and return True; False if there is nothing to read now."""
        try:
            chunk = os.read(self.descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self.is_open = False
            return False
        if kept := chunk[: self._left]:
            self._log.write(kept)
        self.is_over = self.is_over or len(chunk) > self._left
        self._left -= len(kept)
        return True

    def drain(self) -> None:
        """Copy the rest of the pipe, without waiting for a writer."""
        while not self.is_over and self.copy():
            pass


def supervise(
    process: subprocess.Popen[bytes],
    tree: Tree,
    limits: Limits,
    output: Output | None,
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
    if output is not None and stopped_by is not StoppedBy.LOG:
        output.drain()
        if output.is_over:
            return StoppedBy.LOG
    return stopped_by


def _follow(
    process: subprocess.Popen[bytes],
    tree: Tree,
    limits: Limits,
    output: Output | None,
    watch: Callable[[], None],
) -> StoppedBy | None:
    handle = os.pidfd_open(process.pid)
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        if output is not None:
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
            ready = [number for number, _ in poller.poll(_milliseconds(min(look_at, deadline)))]
            if output is not None and output.descriptor in ready and not _copy_or_stop(output, poller):
                return StoppedBy.LOG
            if handle in ready:
                return None
    finally:
        os.close(handle)


def _copy_or_stop(output: Output, poller: select.poll) -> bool:
    """Copy a chunk; return False if the program wrote more than the limit."""
    output.copy()
    if not output.is_open:
        # A closed pipe is always ready, so the loop would spin until the program ends.
        poller.unregister(output.descriptor)
    return not output.is_over


def _milliseconds(until: float) -> int:
    return max(0, int((until - time.monotonic()) * 1000) + 1)
