"""Other work on the machine while programs are measured, such as neighbours cause it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Copies memory in bursts of 0.05 to 0.5 s, with pauses of the same length.
_MEMORY: Final = """
import random, time
source, copy = bytearray(64 << 20), bytearray(64 << 20)
while True:
    end = time.monotonic() + random.uniform(0.05, 0.5)
    while time.monotonic() < end:
        copy[:] = source
    time.sleep(random.uniform(0.05, 0.5))
"""
# Wakes up every 10 to 50 ms on a CPU that the scheduler chooses, and computes for 3 ms.
_WAKE_UPS: Final = """
import random, time
while True:
    end = time.monotonic() + 0.003
    while time.monotonic() < end:
        pass
    time.sleep(random.uniform(0.01, 0.05))
"""


@contextmanager
def neighbours() -> Iterator[None]:
    """Run one program that copies memory and one that wakes up often, until the block ends."""
    with ExitStack() as running:
        for program in (_MEMORY, _WAKE_UPS):
            process = running.enter_context(subprocess.Popen([sys.executable, "-I", "-S", "-c", program]))
            running.callback(process.terminate)
        yield
