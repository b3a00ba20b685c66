"""Read CPU and memory of the parts of the control plane."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds so far and bytes of memory of a part, with all its processes."""

    cpu: float
    memory: int
    processes: int


def usage_of(pids: Mapping[str, int]) -> dict[str, Usage]:
    """Read each part; processes that it ended and waited for count with their CPU seconds."""
    return {name: _usage(psutil.Process(pid)) for name, pid in pids.items()}


def _usage(root: psutil.Process) -> Usage:
    cpu, memory, processes = 0.0, 0, 0
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # a session or a git that ends just now
            times = process.cpu_times()
            cpu += times.user + times.system + times.children_user + times.children_system
            memory += process.memory_full_info().pss  # what processes share counts once
            processes += 1
    return Usage(cpu, memory, processes)
