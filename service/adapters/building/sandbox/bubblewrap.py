"""Sandbox programs with bubblewrap: namespaces, no network, limited resources."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.adapters.building.sandbox.launcher import (
    CORE_LIMIT,
    TOOLS,
    require_cpus,
    require_tools,
    settings_of,
)
from service.adapters.building.sandbox.limits import ControlGroups, describe, find_hierarchies
from service.adapters.building.sandbox.mounts import (
    ENVIRONMENT,
    SYNTHETIC,
    explain_refusal,
    in_memory,
    mount_arguments,
)
from service.adapters.building.sandbox.namespace import START_WITHIN_SECONDS, Namespace, adopting_orphans
from service.adapters.building.sandbox.supervision import BoundedOutput, supervise
from service.adapters.building.sandbox.syscalls import filter_for
from service.adapters.system.priority import IN_FORCE, can_raise_priority, raise_session, raised_priority
from service.adapters.system.removal import clear_special_rights
from service.domain.building.sandbox_command import Command, Completed, Limits, StoppedBy
from service.domain.values.errors import Permanent, Transient, Unfit
from service.ports.building import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.adapters.building.sandbox.limits import Hierarchy
    from service.domain.machines.mounts import MachineMount
    from service.ports.building import ByteSink

# The number of the call `keyctl`: the C library has no function for it.
KEYCTL: Final = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
COLLECTED: Final = "/out"
"""The mount whose files the host reads; they get no set-user-ID or set-group-ID bits."""
JOIN_SESSION_KEYRING: Final = 1
# The kernel has no keys, or a filter around this process refuses the call, to the sandbox too.
UNAVAILABLE: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.EACCES})


def join_new_keyring() -> None:
    """Give the calling thread, and the processes that it starts, a new and empty session keyring.

    No namespace isolates the session keyring: a program could read the keys of the login that started the
    worker, and leave keys for the next program. The thread loses its former keyring for good.

    Raises:
        Transient: the kernel cannot create a keyring now.
    """
    number = KEYCTL.get(os.uname().machine)
    if number is None:
        return
    long, no_name = ctypes.c_long, ctypes.c_void_p(None)
    done = ctypes.CDLL(None, use_errno=True).syscall(long(number), long(JOIN_SESSION_KEYRING), no_name)
    if done < 0 and ctypes.get_errno() not in UNAVAILABLE:
        raise Transient(f"the sandbox cannot get a keyring: {os.strerror(ctypes.get_errno())}")


SYSTEM_CALLS: Final = filter_for(os.uname().machine)


class BubblewrapSandbox(Sandbox):
    """A sandbox that runs each command under bubblewrap in new namespaces.

    A program sees only the read-only system, the directories that the operator shows, its mounts and an empty
    ``/tmp``; it has no network, no capability and no user ID of the host. All its processes have ended when
    ``run`` returns, and end if this process dies. Creating the object tries all this.

    Args:
        program: path of bubblewrap; None: the installed one.
        hierarchies: the control groups to use; None: those that this host allows.
        mounts: the directories of the machine that each program sees, read-only.

    Raises:
        Unfit: this host cannot isolate a program; the message has the reason and the fix.
    """

    def __init__(
        self,
        program: str | None = None,
        hierarchies: Sequence[Hierarchy] | None = None,
        mounts: Sequence[MachineMount] = (),
    ) -> None:
        self._program = program or shutil.which("bwrap", path=ENVIRONMENT["PATH"]) or ""
        if not os.access(self._program, os.X_OK):
            raise Unfit(
                "bubblewrap (bwrap) is not installed, and programs of a patch set only run inside it; "
                "install it: sudo apt-get install bubblewrap"
            )
        require_tools()
        # The operator chose this program.
        done = subprocess.run([self._program, "--version"], check=False, capture_output=True, text=True)  # noqa: S603
        self._version = done.stdout.strip() or "bubblewrap of unknown version"
        self._hierarchies = find_hierarchies() if hierarchies is None else hierarchies
        self._mounts = mounts
        trial = Command(argv=("true",), limits=Limits(wall_seconds=START_WITHIN_SECONDS))
        try:
            ended = self.run(trial, log=None, watch=lambda: None)
        except Unfit as refused:
            raise Unfit(explain_refusal(str(refused))) from refused
        if not ended.is_success:
            raise Unfit(explain_refusal(f"`true` fails in the sandbox: {ended.end}"))

    @override
    def in_force(self) -> Mapping[str, str]:
        in_force = {
            "sandbox": self._version,
            "network": "none",
            "filesystem": "read-only system, mounts, private /tmp",
            "user": "own namespace, uid 1000, no capabilities",
            "system calls": "no foreign sockets, no io_uring" if SYSTEM_CALLS else "all",
            "limits": describe(self._hierarchies),
        }
        # These are added only if they are in force, so that other machines keep their fingerprint.
        if can_raise_priority():
            in_force["priority"] = IN_FORCE
        if self._mounts:
            in_force["mounts"] = ", ".join(f"{each.path} ({each.digest})" for each in self._mounts)
        return in_force

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        require_cpus(command.cpus)
        started = time.monotonic()
        with ExitStack() as cleanup:
            for mount in command.mounts:
                if mount.writable and mount.target == COLLECTED:  # called when all processes have ended
                    cleanup.callback(clear_special_rights, Path(mount.source))
            is_raised = command.has_priority and cleanup.enter_context(raised_priority())
            try:
                group = ControlGroups(self._hierarchies, command.limits, command.cpus, has_priority=is_raised)
            except OSError as refused:
                raise Transient(f"the control groups of a run cannot be created: {refused}") from refused
            cleanup.callback(group.close)
            kept, kept_write = _pipe(cleanup)
            stdout = subprocess.DEVNULL if log is None else kept_write
            cleanup.enter_context(adopting_orphans())
            tree: Namespace | None = None
            # A monitor that is killed leaves the first process to this one.
            cleanup.callback(lambda: tree and tree.reap())
            process, status = self._start(group, command, (stdout, kept_write), cleanup)
            if is_raised:  # otherwise, starting alone takes seconds on a busy machine
                raise_session(process.pid)
            tree = Namespace(process, status, watches_memory=not group.limits_memory)
            cleanup.callback(tree.close)
            if tree.first is not None and is_raised:
                raise_session(tree.first)
            output = BoundedOutput(kept, log, command.limits.log_bytes)
            stopped_by = supervise(process, tree, command.limits, output, watch)
            seconds = time.monotonic() - started
            exit_code = tree.exit_code()
            is_host_out_of_memory = _is_host_out_of_memory(group)
            if stopped_by is None and exit_code != 0 and group.memory_kills() and not is_host_out_of_memory:
                stopped_by = StoppedBy.MEMORY
            if exit_code is None and stopped_by is None and not is_host_out_of_memory:
                watch()  # it may raise, if the work was ended on purpose
                if process.returncode < 0:
                    raise Transient(f"the sandbox was ended from outside (signal {-process.returncode})")
                raise Unfit(f"the sandbox did not start: {output.last_line() or process.returncode}")
            code = 128 + signal.SIGKILL if exit_code is None else exit_code
            return Completed(
                code, seconds, stopped_by, group.cpu_seconds(), is_host_out_of_memory, tree.reap()
            )

    def _start(
        self, group: ControlGroups, command: Command, outputs: tuple[int, int], cleanup: ExitStack
    ) -> tuple[subprocess.Popen[bytes], int]:
        """Start bubblewrap; ``cleanup`` ends it."""
        status, status_write = _pipe(cleanup)
        with ExitStack() as ours:
            ours.callback(os.close, status_write)
            ours.callback(os.close, outputs[1])
            files = {target: in_memory(text.encode(), ours) for target, text in SYNTHETIC.items()}
            mounts = mount_arguments(command, files, self._mounts)
            arguments = (*mounts, "--json-status-fd", str(status_write))
            passed = [status_write, *files.values()]
            if SYSTEM_CALLS is not None:
                passed.append(in_memory(SYSTEM_CALLS, ours))
                arguments = (*arguments, "--seccomp", str(passed[-1]))
            # The program can read the arguments of its namespace's first process, so these must not contain
            # paths of the host.
            passed.append(in_memory(_listed(arguments), ours))
            argv = (
                *(TOOLS[0], CORE_LIMIT, "--"),  # here, because inside the filter keeps the limit as it is
                *group.join,
                *(self._program, "--args", str(passed[-1]), "--"),
                *settings_of(command, bound_processes=True),
                *command.argv,
            )

            def start() -> subprocess.Popen[bytes]:
                join_new_keyring()
                return subprocess.Popen(  # noqa: S603  # an argument list, never a shell's
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=outputs[0],
                    stderr=outputs[1],
                    cwd="/",
                    env={"PATH": ENVIRONMENT["PATH"]},
                    pass_fds=passed,
                    start_new_session=True,
                )

            # Bubblewrap ends with the thread that started it. This one lives until the run is cleaned up.
            starter = cleanup.enter_context(ThreadPoolExecutor(1, "sandbox"))
            try:
                process = starter.submit(start).result()
            except (OSError, ValueError) as refused:
                raise Permanent(f"{command.argv[0]} cannot be started: {refused}") from refused
        # Needed if an interrupt comes before its supervision starts.
        cleanup.enter_context(process)
        cleanup.callback(process.kill)
        return process, status


def _is_host_out_of_memory(group: ControlGroups) -> bool | None:
    """Return whether the kernel killed a process of a group below its limit; None if it counts no kills."""
    if not group.limits_memory:
        return None
    return group.memory_kills() > 0 and not group.has_reached_memory_limit()


def _listed(words: Sequence[str]) -> bytes:
    """Encode arguments for bubblewrap's argument file: a zero byte ends each."""
    if any("\0" in word for word in words):
        raise Permanent("a mount or a variable of a command contains a zero byte")
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def _pipe(cleanup: ExitStack) -> tuple[int, int]:
    """Open a pipe; ``cleanup`` closes the reading end, the caller closes the writing end."""
    read, write = os.pipe()
    cleanup.callback(os.close, read)
    return read, write
