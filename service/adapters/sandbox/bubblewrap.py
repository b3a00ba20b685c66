"""The sandbox by bubblewrap: namespaces, no network, limited resources."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO, Final

from service.adapters.sandbox.launcher import require_cpus, require_tools, resident_bytes, settings_of
from service.adapters.sandbox.limits import Group, describe, find_hierarchies
from service.adapters.sandbox.mounts import SYNTHETIC, explain_refusal, in_memory, mount_arguments
from service.adapters.sandbox.namespace import Namespace
from service.adapters.sandbox.supervision import Output, supervise
from service.adapters.sandbox.syscalls import filter_for
from service.domain.building.sandbox_command import Command, Completed, Limits, StoppedBy
from service.domain.errors import Permanent, Transient, Unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from service.adapters.sandbox.limits import Hierarchy

START_WITHIN_SECONDS: Final = 30.0  # a loaded machine needs at most one
TAIL_BYTES: Final = 2000
SYSTEM_CALLS: Final = filter_for(os.uname().machine)
SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


class BubblewrapSandbox:
    """A sandbox that runs each command under bubblewrap in new namespaces.

    A program sees only the read-only system, its mounts and an empty ``/tmp``; it has no network, no
    capability and no user ID of the host. All its processes have ended when ``run`` returns, and end if this
    process dies.

    Args:
        program: path of bubblewrap; None: the installed one.
        system: read-only directories besides ``/usr`` that tool chains need (``/opt/gcc-14``).
        hierarchies: the control groups to use; None: those that this host allows.
    """

    def __init__(
        self,
        program: str | None = None,
        system: Sequence[Path] = (),
        hierarchies: Sequence[Hierarchy] | None = None,
    ) -> None:
        self._program = program
        self._system = tuple(system)
        self._given = hierarchies
        self._probed: tuple[str, str, tuple[Hierarchy, ...]] | None = None

    def check(self) -> None:
        """Try the sandbox, once per object.

        Raises:
            Unfit: this host cannot isolate a program; the message has the reason and the fix.
        """
        self._probe()

    def in_force(self) -> Mapping[str, str]:
        """Describe the isolation and the limits here; results with different ones must not be compared.

        Raises:
            Unfit: this host cannot isolate a program.
        """
        _, version, hierarchies = self._probe()
        return {
            "sandbox": version,
            "network": "none",
            "filesystem": "read-only system, mounts, private /tmp",
            "user": "own namespace, uid 1000, no capabilities",
            "system calls": "no foreign sockets, no io_uring" if SYSTEM_CALLS else "all",
            "limits": describe(hierarchies),
        }

    def run(
        self,
        command: Command,
        *,
        log: BinaryIO | None,
        watch: Callable[[], None],
        discard_output: bool = False,
    ) -> Completed:
        """Run ``command`` to its end.

        Args:
            command: the program, its mounts and its limits.
            log: receives standard output and error, at most ``limits.log_bytes``; None: both are discarded.
            watch: called at least every 0.25 s from this thread. If it raises, the error is raised from here
                after every process of the command has ended.
            discard_output: discard standard output, and keep only standard error.

        Raises:
            Unfit: there is no sandbox, a CPU is not available, or a mount does not exist.
            Permanent: the command cannot be started at all (an argument is too long).
            Transient: a control group could not be created, a process of the command cannot be ended, or
                another program ended the sandbox.
        """
        program, _, hierarchies = self._probe()
        require_cpus(command.cpus)
        return self._run(program, hierarchies, command, log, watch, discard_output=discard_output)

    def _probe(self) -> tuple[str, str, tuple[Hierarchy, ...]]:
        if self._probed is None:
            program = self._program or shutil.which("bwrap", path=SYSTEM_PATH)
            if program is None or not os.access(program, os.X_OK):
                raise Unfit(
                    "bubblewrap (bwrap) is not installed, and programs of a patch set only run inside it; "
                    "install it: sudo apt-get install bubblewrap"
                )
            require_tools()
            version = _version_of(program)
            hierarchies = tuple(find_hierarchies() if self._given is None else self._given)
            try:
                self._try(program, hierarchies)
            except Unfit as refused:
                raise Unfit(explain_refusal(str(refused))) from refused
            self._probed = (program, version, hierarchies)
        return self._probed

    def _try(self, program: str, hierarchies: tuple[Hierarchy, ...]) -> None:
        trial = Command(argv=("true",), limits=Limits(wall_seconds=START_WITHIN_SECONDS))
        ended = self._run(program, hierarchies, trial, None, lambda: None, discard_output=True)
        if not ended.is_success:
            raise Unfit(f"`true` fails in the sandbox: {ended.end}")

    def _run(
        self,
        program: str,
        hierarchies: tuple[Hierarchy, ...],
        command: Command,
        log: BinaryIO | None,
        watch: Callable[[], None],
        *,
        discard_output: bool,
    ) -> Completed:
        started = time.monotonic()
        with ExitStack() as cleanup:
            group = _group(hierarchies, command)
            cleanup.callback(group.close)
            tail = _Tail(log)
            # Without a log nothing is stored, so there is no limit.
            bound = command.limits.log_bytes if log is not None else sys.maxsize
            kept, kept_write = _pipe(cleanup)
            stdout = subprocess.DEVNULL if discard_output or log is None else kept_write
            process, status = self._start(program, group, command, (stdout, kept_write), cleanup)
            tree = Namespace(process, status, None if group.holds_memory else resident_bytes)
            cleanup.callback(tree.close)
            stopped_by = supervise(process, tree, command.limits, Output(kept, tail, bound), watch)
            seconds = time.monotonic() - started
            exit_code = tree.exit_code()
            if stopped_by is None and exit_code != 0 and group.memory_kills():
                stopped_by = StoppedBy.MEMORY
            if exit_code is None and stopped_by is None:
                watch()  # it may raise, if the work was ended on purpose
                raise _unfinished(process.returncode, tail.last_line())
            code = 128 + signal.SIGKILL if exit_code is None else exit_code
            return Completed(code, seconds, stopped_by, group.cpu_seconds())

    def _start(
        self, program: str, group: Group, command: Command, outputs: tuple[int, int], cleanup: ExitStack
    ) -> tuple[subprocess.Popen[bytes], int]:
        """Start bubblewrap. It dies with the calling thread, which must therefore also wait for it."""
        status, status_write = _pipe(cleanup)
        with ExitStack() as ours:
            ours.callback(os.close, status_write)
            ours.callback(os.close, outputs[1])
            files = {target: in_memory(text.encode(), ours) for target, text in SYNTHETIC.items()}
            mounts = mount_arguments(command, self._system, files)
            arguments = (*mounts, "--json-status-fd", str(status_write))
            passed = [status_write, *files.values()]
            if SYSTEM_CALLS is not None:
                passed.append(in_memory(SYSTEM_CALLS, ours))
                arguments = (*arguments, "--seccomp", str(passed[-1]))
            # The program can read the arguments of its namespace's first process, so these must not contain
            # paths of the host.
            passed.append(in_memory(_listed(arguments), ours))
            argv = (
                *group.join,
                *(program, "--args", str(passed[-1]), "--"),
                *settings_of(command, bound_processes=True),
                *command.argv,
            )
            try:
                process = subprocess.Popen(  # noqa: S603  # an argument list, never a shell's
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=outputs[0],
                    stderr=outputs[1],
                    cwd="/",
                    env={"PATH": SYSTEM_PATH},
                    pass_fds=passed,
                    start_new_session=True,
                )
            except (OSError, ValueError) as refused:
                raise Permanent(f"{command.argv[0]} cannot be started: {refused}") from refused
        cleanup.callback(_end, process)
        return process, status


class _Tail:
    """A log that keeps its last bytes, which include an error message of bubblewrap."""

    def __init__(self, log: BinaryIO | None) -> None:
        self._log = log
        self._last = b""

    def write(self, data: bytes) -> None:
        self._last = (self._last + data)[-TAIL_BYTES:]
        if self._log is not None:
            self._log.write(data)

    def last_line(self) -> str:
        lines = self._last.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _unfinished(returncode: int, complaint: str) -> Unfit | Transient:
    """Make the error for a bubblewrap that ended without the program's exit code."""
    if returncode < 0:
        return Transient(f"the sandbox was ended from outside (signal {-returncode})")
    return Unfit(f"the sandbox did not start: {complaint or returncode}")


def _group(hierarchies: Sequence[Hierarchy], command: Command) -> Group:
    try:
        return Group(hierarchies, command.limits, command.cpus)
    except OSError as refused:
        raise Transient(f"the control groups of a run cannot be created: {refused}") from refused


def _listed(words: Sequence[str]) -> bytes:
    """Encode arguments for bubblewrap's argument file, in which a zero byte ends an argument."""
    if any("\0" in word for word in words):
        raise Permanent("a mount or a variable of a command contains a zero byte")
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def _pipe(cleanup: ExitStack) -> tuple[int, int]:
    """Open a pipe; ``cleanup`` closes the reading end, the caller closes the writing end."""
    read, write = os.pipe()
    cleanup.callback(os.close, read)
    return read, write


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill bubblewrap and its namespace; needed if an interrupt comes before its supervision starts."""
    with process:
        process.kill()


def _version_of(program: str) -> str:
    # The operator chose this program.
    done = subprocess.run([program, "--version"], check=False, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip() or "bubblewrap of unknown version"
