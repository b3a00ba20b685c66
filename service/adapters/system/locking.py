"""Lock files and directories; unlike a process ID, a lock works across containers."""

from __future__ import annotations

import fcntl
import math
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadInput, Transient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_LOOK_EVERY_SECONDS: Final = 0.05


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; return False if another open file holds the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(path: Path, seconds: float = math.inf, watch: Callable[[], None] = lambda: None) -> Iterator[int]:
    """Lock out other processes and threads by the file ``path``.lock, and yield its descriptor.

    Raises Transient after ``seconds``, and what ``watch`` raises; it is called while others hold the lock.
    """
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + seconds
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise Transient(f"{path.name} was in use for longer than {seconds:.0f} s")
            watch()
            time.sleep(_LOOK_EVERY_SECONDS)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def lock_on(path: Path, *, is_shared: bool = False, waits: bool = True) -> Iterator[int]:
    """Lock a file or directory itself, which takes no room on the disk, and yield its descriptor.

    Raises FileNotFoundError if it is missing, and BlockingIOError if others hold it and ``waits`` is False.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind if waits else kind | fcntl.LOCK_NB)
        yield descriptor
    finally:
        os.close(descriptor)


def make_locked(directory: Path) -> int:
    """Create a directory, and return the descriptor that locks it until it is closed."""
    directory.mkdir()
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def take_unlocked(root: Path) -> Iterator[tuple[Path, int]]:
    """Lock each directory below ``root`` that no process has locked, and yield it with the descriptor."""
    for directory in root.iterdir():
        if directory.is_symlink() or not directory.is_dir():
            continue
        try:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # its process has just removed it
            continue
        if try_lock(descriptor):
            yield directory, descriptor
        else:
            os.close(descriptor)


@contextmanager
def own_turn(home: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Let local gates take turns: side by side, they would spoil each other's measurements.

    Args:
        home: the directory of this user's gates; created if it is missing.
        on_wait: called once if another process has its turn.

    Raises:
        BadInput: ``home`` cannot be written.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(home / "gate.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BadInput(error.strerror or str(error), str(home)) from None
    try:
        if not try_lock(descriptor):
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
