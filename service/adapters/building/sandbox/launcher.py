"""Set a command's process limits, ASLR and CPUs through a chain of system programs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import Unfit

if TYPE_CHECKING:
    from service.domain.building.sandbox_command import Command

TOOLS: Final = ("/usr/bin/prlimit", "/usr/bin/setarch", "/usr/bin/taskset")
# If the kernel passes core dumps to a program of the host, which it starts as root, 0 does not stop it: the
# dump is not a file. One byte does, because it marks that program itself. No file fits into it either.
CORE_LIMIT: Final = "--core=1:1"


def settings_of(command: Command, *, bound_processes: bool) -> tuple[str, ...]:
    """Return the words to put before ``command.argv``; each program execs the next.

    ``bound_processes`` needs a user namespace: outside one, the kernel counts all processes of the user.
    """
    limits = command.limits
    # Nobody inside may raise a priority.
    chain = [TOOLS[0], CORE_LIMIT, "--nice=0:0", f"--fsize={limits.file_bytes}:{limits.file_bytes}"]
    if bound_processes:
        chain.append(f"--nproc={limits.processes}:{limits.processes}")
    chain.append("--")
    if not command.aslr:
        chain += [TOOLS[1], "-R", "--"]
    if command.cpus is not None:
        chain += [TOOLS[2], "-c", ",".join(map(str, command.cpus))]
    return tuple(chain)


def require_tools() -> None:
    """Raise Unfit if a program of the chain is missing."""
    missing = [tool for tool in TOOLS if not os.access(tool, os.X_OK)]
    if missing:
        raise Unfit(f"{', '.join(missing)} is missing; install it: sudo apt-get install util-linux")


def require_cpus(cpus: tuple[int, ...] | None) -> None:
    """Raise Unfit if this host cannot pin a program to ``cpus``."""
    if cpus is None:
        return
    # Only the kernel knows offline CPUs, cpusets and containers. The trial affects this thread for a moment.
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
        granted = os.sched_getaffinity(0)
    except (OSError, ValueError):
        granted = set()
    finally:
        os.sched_setaffinity(0, before)
    if not cpus or set(cpus) - granted:
        refused = ", ".join(map(str, sorted(set(cpus) - granted))) or "an empty list"
        raise Unfit(
            f"these requested CPUs are not available here: {refused}; "
            "choose others (`lscpu --extended` lists the online CPUs)"
        )


def resident_bytes(process: int) -> int:
    """Sum the resident bytes of a process and all its descendants; shared pages count in each."""
    total, waiting, seen = 0, [process], set[int]()
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        # A process or thread may end meanwhile.
        with suppress(OSError, IndexError, ValueError):
            total += int(Path(f"/proc/{number}/statm").read_text().split()[1])
            for thread in Path(f"/proc/{number}/task").iterdir():
                with suppress(OSError):
                    waiting += map(int, (thread / "children").read_text().split())
    return total * os.sysconf("SC_PAGE_SIZE")
