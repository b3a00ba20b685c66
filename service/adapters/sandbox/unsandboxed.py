"""Runs the user's own programs without isolation, behind the sandbox's interface."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Final

from service.adapters.sandbox.launcher import require_cpus, require_tools, resident_bytes, settings_of
from service.adapters.sandbox.supervision import Output, supervise
from service.domain.building.sandbox_command import Completed
from service.domain.errors import Permanent, Transient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.building.sandbox_command import Command

END_WITHIN_SECONDS: Final = 60.0  # a process that waits for a disk ends only when the disk answers


class DirectRunner:
    """Runs commands as the user, in the user's environment, for code the user trusts.

    There are no mounts: the working directory is translated to the mount's source, and
    ``BENCHGATE_SRC``, ``BENCHGATE_BUILD`` and so on name the sources of ``/src``, ``/build`` and the other
    mounts. Arguments are passed as they are. A daemon that leaves its session is not found again.
    """

    def check(self) -> None:
        """Raise Unfit when the host lacks a program that this needs."""
        require_tools()

    def in_force(self) -> Mapping[str, str]:
        """What isolates and bounds a program: hardly anything."""
        return {
            "sandbox": "none",
            "network": "host",
            "filesystem": "host",
            "user": "own",
            "limits": "prlimit file size; memory watched",
        }

    def run(
        self,
        command: Command,
        *,
        log: BinaryIO | None,
        watch: Callable[[], None],
        discard_output: bool = False,
    ) -> Completed:
        """Run ``command`` to its end, as the sandbox does.

        Args:
            command: what to run.
            log: gets standard output and error as written, at most ``limits.log_bytes``; None: both
                are thrown away.
            watch: called at least every 0.25 s from this thread. What it raises is raised from here
                after the process group has ended.
            discard_output: throw standard output away and keep standard error only.

        Raises:
            Unfit: no such CPUs, or a system program is missing.
            Permanent: the command cannot be started at all.
            Transient: a process of the command cannot be ended.
        """
        require_tools()
        require_cpus(command.cpus)
        started = time.monotonic()
        process = _start(command, keep=log is not None, discard_output=discard_output)
        tree = _ProcessGroup(process)
        with process:
            output = None
            if log is not None and process.stderr is not None:
                output = Output(process.stderr.fileno(), log, command.limits.log_bytes)
            stopped_by = supervise(process, tree, command.limits, output, watch)
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        return Completed(code, time.monotonic() - started, stopped_by, tree.cpu_seconds)


class _ProcessGroup:
    """The processes that stayed in the group of the one we started."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.cpu_seconds: float | None = None

    def kill(self) -> None:
        # Until it is waited for, the leader's number cannot become another group's.
        if self._process.returncode is not None:
            return
        os.killpg(self._process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        deadline = time.monotonic() + END_WITHIN_SECONDS
        while _lives(self._process.pid):
            if time.monotonic() > deadline:
                raise Transient(f"the processes of {self._process.args!r} cannot be ended")
            time.sleep(0.002)

    def memory_bytes(self) -> int | None:
        return resident_bytes(self._process.pid)


def _start(command: Command, *, keep: bool, discard_output: bool) -> subprocess.Popen[bytes]:
    # One pipe for both, so that the log keeps their order: standard error is the pipe, standard
    # output a copy of it.
    argv = [*settings_of(command, bound_processes=False), *command.argv]
    if keep and not discard_output:
        argv = ["/bin/sh", "-c", 'exec "$@" >&2', "benchgate", *argv]
    try:
        return subprocess.Popen(  # noqa: S603  # the user's own program, asked for as such
            argv,
            cwd=_on_host(command, command.cwd),
            env={**os.environ, **_places(command), **command.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE if keep else subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as refused:
        raise Permanent(f"{command.argv[0]} cannot be started: {refused}") from refused


def _places(command: Command) -> dict[str, str]:
    """``BENCHGATE_SRC`` for ``/src``, and so on for every mount."""
    return {f"BENCHGATE_{PurePosixPath(m.target).name.upper()}": str(m.source) for m in command.mounts}


def _on_host(command: Command, target: str) -> Path:
    """Where a directory of the sandbox lies on the host; as it is when no mount holds it."""
    inside = PurePosixPath(target)
    # The last mount that holds a path is the one a program sees.
    for mount in reversed(command.mounts):
        if inside.is_relative_to(mount.target):
            return Path(mount.source) / inside.relative_to(mount.target)
    return Path(target)


def _lives(group: int) -> bool:
    """Whether a process of the group still runs; one that nobody has asked for yet does not."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            state, _, own_group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(own_group) == group and state not in "ZX":
                return True
    return False
