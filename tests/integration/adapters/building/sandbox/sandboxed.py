"""Helpers to run small programs in a sandbox, and to find processes that survive."""

from __future__ import annotations

import ctypes
import io
import os
import subprocess
import sys
import traceback
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from service.adapters.building.sandbox.host_faults import HostFaults
from service.domain.building.sandbox_command import Command, Limits, Mount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.domain.building.sandbox_command import Completed
    from service.ports.building import Sandbox
    from service.steps.building.session import BuildHost

PYTHON = "/usr/bin/python3"
NOBODY = 65534
SET_DUMPABLE = 4
# Computes for a while without waiting.
COMPUTING = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
# A small program that waits for nothing has one or two, more if its file is not cached.
MOST_AT_START = 5
QUICK = Limits(wall_seconds=60.0, memory_bytes=1 << 30, processes=256)


def without_neighbours(host: BuildHost) -> BuildHost:
    """Return a build host that no other test's lack of memory makes at fault."""
    assert isinstance(host.sandbox, HostFaults)
    return replace(host, sandbox=replace(host.sandbox, vmstat=Path(os.devnull)))


@contextmanager
def a_busy_neighbour() -> Iterator[int]:
    """Yield a CPU that another program uses all the time."""
    cpu = max(os.sched_getaffinity(0))
    argv = ["taskset", "--cpu-list", str(cpu), "sh", "-c", "while :; do :; done"]
    with subprocess.Popen(argv) as neighbour:
        try:
            yield cpu
        finally:
            neighbour.kill()


def run(runner: Sandbox, *argv: str, **given: object) -> tuple[Completed, str]:
    """Run a program, and return its end and its output."""
    log = io.BytesIO()
    command = Command(argv=argv, **{"limits": QUICK, **given})  # type: ignore[arg-type]
    ended = runner.run(command, log=log, watch=lambda: None)
    return ended, log.getvalue().decode(errors="replace")


def writable(source: Path, target: str = "/build") -> Mount:
    return Mount(source, target, writable=True)


def processes_named(token: str) -> list[int]:
    """List every other running process of the host with ``token`` among its arguments."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            arguments = (directory / "cmdline").read_bytes()
            if token.encode() in arguments and int(directory.name) != os.getpid():
                found.append(int(directory.name))
    return found


def in_child(act: Callable[[], None]) -> int:
    """Run ``act`` in a new process, and return its ID. It exits with 0 if ``act`` returns."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        except BaseException:  # noqa: BLE001  # a child must never go on as pytest
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)
    return child


def as_other_user(act: Callable[[], None]) -> int:
    """Run ``act`` without privileges, and return the exit code, 0 if ``act`` returns.

    Root becomes nobody; anyone else has no privileges already.
    """

    def change_and_act() -> None:
        if os.geteuid() == 0:
            os.chdir("/")
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            # Changing user hides a process from itself until it starts a program.
            ctypes.CDLL(None).prctl(SET_DUMPABLE, 1, 0, 0, 0)
        act()

    _, status = os.waitpid(in_child(change_and_act), 0)
    return os.waitstatus_to_exitcode(status)
