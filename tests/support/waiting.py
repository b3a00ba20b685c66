"""Waiting for the effect of another process."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def eventually(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait until ``holds`` returns true, and return whether it did in time.

    On a busy machine, a worker takes half a minute to start.
    """
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not holds():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.02)
    return True
