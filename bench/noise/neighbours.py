"""Run other work on the machine while programs are measured, as neighbours do."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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


PROGRAMS: Final = MappingProxyType({"copies memory": _MEMORY, "wakes up often": _WAKE_UPS})
"""Programs by what they do."""


@contextmanager
def neighbours(programs: Mapping[str, str] = PROGRAMS) -> Iterator[Callable[[], str]]:
    """Run programs until the block ends; yield a function that describes them, and names those that ended."""
    with ExitStack() as running:
        processes = {}
        for name, program in programs.items():
            process = running.enter_context(subprocess.Popen([sys.executable, "-I", "-S", "-c", program]))
            running.callback(process.terminate)
            processes[name] = process

        def describe() -> str:
            each = (
                f"one that {name}{'' if process.poll() is None else ', which ended too early'}"
                for name, process in processes.items()
            )
            return f"beside other programs: {'; '.join(each)}"

        yield describe
