"""Let local gates take turns: side by side, they would spoil each other's measurements."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def own_turn(home: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Wait until no other process with the same ``home`` is in this block, and keep others out.

    The kernel ends the turn of a process that is killed.

    Args:
        home: the directory of this user's gates; created if it is missing.
        on_wait: called once if another process has its turn.

    Raises:
        BadInput: ``home`` cannot be written.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = os.open(home / "gate.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BadInput(error.strerror or str(error), str(home)) from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
