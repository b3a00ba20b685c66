"""Check before a machine takes work whether other work would spoil its measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.machines.environment import load_between
from service.domain.machines.fitness import obstacles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.machines.environment import Load, MachineFinding

# On a quiet machine a build waits for the first reading only, half a second. That reading can include a
# compiler that is about to end; only work that the second, longer one also sees is a lasting obstacle.
READINGS: Final = (0.5, 2.0)


def obstacle_to_measuring(
    read_load: Callable[[], Load], cpus: Sequence[int], pause: Callable[[float], object]
) -> str:
    """Return the reason not to measure on these CPUs now; empty if there is none.

    Call it while this machine measures nothing: all work that it sees counts as foreign.
    """
    found: tuple[MachineFinding, ...] = ()
    for seconds in READINGS:
        before = read_load()
        pause(seconds)
        found = obstacles(load_between(before, read_load(), cpus, 0.0))
        if not found:
            return ""
    return "; ".join(finding.value for finding in found)
