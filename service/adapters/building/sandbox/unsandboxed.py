"""Run the user's own programs without isolation, behind the sandbox's interface."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from typing_extensions import override

from service.adapters.building.sandbox.launcher import (
    require_cpus,
    require_tools,
    resident_bytes,
    settings_of,
)
from service.adapters.building.sandbox.supervision import END_WITHIN_SECONDS, BoundedOutput, Tree, supervise
from service.adapters.system.priority import IN_FORCE, can_raise_priority, raise_session, raised_priority
from service.domain.building.sandbox_command import Completed
from service.domain.values.errors import Permanent, Transient
from service.ports.building import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from service.domain.building.sandbox_command import Command
    from service.ports.building import ByteSink


class DirectRunner(Sandbox):
    """Run commands with the user's permissions and environment, for code that the user trusts.

    There are no mounts: the working directory is translated to the mount's source, and ``BENCHGATE_SRC``,
    ``BENCHGATE_BUILD`` and so on name the sources of ``/src``, ``/build`` and the other mounts. Arguments are
    not translated. A daemon that leaves its session is not killed. Raises Unfit if this host lacks a tool.

    Args:
        without: variables of the user's environment that the commands do not get.
    """

    def __init__(self, without: Collection[str] = ()) -> None:
        require_tools()
        self._without = without

    @override
    def in_force(self) -> Mapping[str, str]:
        return {
            "sandbox": "none",
            "network": "host",
            "filesystem": "host",
            "user": "own",
            "limits": "prlimit file size; memory watched",
            **({"priority": IN_FORCE} if can_raise_priority() else {}),
        }

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        require_cpus(command.cpus)
        started = time.monotonic()
        own = {name: value for name, value in os.environ.items() if name not in self._without}
        with ExitStack() as cleanup:
            is_raised = command.has_priority and cleanup.enter_context(raised_priority())
            process = cleanup.enter_context(_start(command, own, discard_output=log is None))
            if is_raised:
                raise_session(process.pid)
            tree = _ProcessGroup(process)
            output = BoundedOutput(cast("IO[bytes]", process.stderr).fileno(), log, command.limits.log_bytes)
            stopped_by = supervise(process, tree, command.limits, output, watch)
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        seconds, switches = time.monotonic() - started, tree.voluntary_switches
        return Completed(code, seconds, stopped_by, tree.cpu_seconds, voluntary_switches=switches)


class _ProcessGroup(Tree):
    """The processes in the group of the started process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.cpu_seconds: float | None = None
        self.voluntary_switches: int | None = None

    @override
    def kill(self) -> None:
        # Until the leader is reaped, no other group can get its ID.
        if self._process.returncode is not None:
            return
        os.killpg(self._process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.voluntary_switches = usage.ru_nvcsw or None  # a kernel without the count has 0
        deadline = time.monotonic() + END_WITHIN_SECONDS
        while _lives(self._process.pid):
            if time.monotonic() > deadline:
                raise Transient(f"the processes of {self._process.args!r} cannot be ended")
            time.sleep(0.002)

    @override
    def memory_bytes(self) -> int | None:
        return resident_bytes(self._process.pid)


def _start(command: Command, own: Mapping[str, str], *, discard_output: bool) -> subprocess.Popen[bytes]:
    # One pipe for both keeps their order in the log: standard error is the pipe, standard output its copy.
    argv = [*settings_of(command, bound_processes=False), *command.argv]
    if not discard_output:
        argv = ["/bin/sh", "-c", 'exec "$@" >&2', "benchgate", *argv]
    places = {f"BENCHGATE_{PurePosixPath(m.target).name.upper()}": str(m.source) for m in command.mounts}
    try:
        return subprocess.Popen(  # noqa: S603  # the user requested this program
            argv,
            cwd=_on_host(command, command.cwd),
            env={**own, **places, **command.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as refused:
        raise Permanent(f"{command.argv[0]} cannot be started: {refused}") from refused


def _on_host(command: Command, target: str) -> Path:
    """Translate a directory of the sandbox to the host; unchanged if no mount contains it."""
    inside = PurePosixPath(target)
    # A program sees the last mount that contains a path.
    for mount in reversed(command.mounts):
        if inside.is_relative_to(mount.target):
            return Path(mount.source) / inside.relative_to(mount.target)
    return Path(target)


def _lives(group: int) -> bool:
    """Return whether a process of the group still runs; a zombie does not."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            state, _, own_group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(own_group) == group and state not in "ZX":
                return True
    return False
