"""A runner for the user's own programs, without isolation, with the sandbox's interface."""

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
    """A runner of commands with the user's permissions and environment, for code that the user trusts.

    There are no mounts: the working directory is translated to the mount's source, and ``BENCHGATE_SRC``,
    ``BENCHGATE_BUILD`` and so on name the sources of ``/src``, ``/build`` and the other mounts. Arguments are
    not translated. A daemon that leaves its session is not killed.
    """

    def check(self) -> None:
        """Raise Unfit if the host lacks a required program."""
        require_tools()

    def in_force(self) -> Mapping[str, str]:
        """Describe the isolation and the limits: hardly any."""
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
        """Run ``command`` to its end, like the sandbox.

        Args:
            command: the command to run.
            log: receives standard output and error, at most ``limits.log_bytes``; None: both are discarded.
            watch: called at least every 0.25 s from this thread. If it raises, the error is raised from here
                after the process group has ended.
            discard_output: discard standard output, and keep only standard error.

        Raises:
            Unfit: a CPU is not available, or a system program is missing.
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
    """The processes in the group of the started process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.cpu_seconds: float | None = None

    def kill(self) -> None:
        # Until the leader is reaped, no other group can get its ID.
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
    # One pipe for both keeps their order in the log: standard error is the pipe, standard output its copy.
    argv = [*settings_of(command, bound_processes=False), *command.argv]
    if keep and not discard_output:
        argv = ["/bin/sh", "-c", 'exec "$@" >&2', "benchgate", *argv]
    try:
        return subprocess.Popen(  # noqa: S603  # the user requested this program
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
    """Make ``BENCHGATE_SRC`` for ``/src``, and so on for every mount."""
    return {f"BENCHGATE_{PurePosixPath(m.target).name.upper()}": str(m.source) for m in command.mounts}


def _on_host(command: Command, target: str) -> Path:
    """Translate a directory of the sandbox to the host; unchanged if no mount contains it."""
    inside = PurePosixPath(target)
    # A program sees the last mount that contains a path.
    for mount in reversed(command.mounts):
        if inside.is_relative_to(mount.target):
            return Path(mount.source) / inside.relative_to(mount.target)
    return Path(target)


def _lives(group: int) -> bool:
    """Whether a process of the group still runs; a zombie does not."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            state, _, own_group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(own_group) == group and state not in "ZX":
                return True
    return False
