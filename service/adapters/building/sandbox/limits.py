"""Limit a program and all its children with control groups v2, else v1, else process limits."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Limits
from service.domain.values.errors import Transient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

PREFIX: Final = "benchgate"
# `cpu` gives a program with priority the largest share of the CPUs; only version 2 must be asked for it.
CONTROLLERS: Final = ("memory", "pids", "cpuset", "cpu")
UNIFIED: Final = 2  # the version with one hierarchy for all controllers
# The group of version 2 to which a process moves out of its own, so that the kernel lets it divide that one.
PARTS: Final = "benchgate-parts"
# Joins the groups named before `--`, then execs the program after it. Not in Python, because a forked Python
# could wait for a lock that another thread holds.
JOIN: Final = (
    "/bin/sh",
    "-c",
    'while [ "$1" != -- ]; do echo 0 > "$1/cgroup.procs" || exit 125; shift; done; shift; exec "$@"',
    PREFIX,
)
# A sandbox has its own processes: the monitor outside, the first process inside, the launcher.
OWN_PROCESSES: Final = 4
# The kernel kills if it cannot get up to 8 pages at once; a page has at most 64 KiB.
NEAR_LIMIT_BYTES: Final = 1 << 20
REMOVE_WITHIN_SECONDS: Final = 30.0

_serial = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A directory for groups that Benchgate creates, and the controllers there."""

    parent: Path
    controllers: frozenset[str]
    version: int


class ControlGroups:
    """The control groups of one run.

    Args:
        hierarchies: the hierarchies to create them in; empty if this host has no writable one.
        limits: limits for all processes of the run together.
        cpus: the CPUs for these processes; None: all.
        has_priority: they get the largest share of the CPUs that their groups divide with others.

    Raises:
        OSError: the kernel refuses a group or a limit.
    """

    def __init__(
        self,
        hierarchies: Sequence[Hierarchy],
        limits: Limits,
        cpus: tuple[int, ...] | None = None,
        *,
        has_priority: bool = False,
    ) -> None:
        name = f"{_owner()}-{next(_serial)}"
        self._members = [(hierarchy, hierarchy.parent / name) for hierarchy in hierarchies]
        try:
            for hierarchy, directory in self._members:
                directory.mkdir()
                _configure(hierarchy, directory, limits, cpus)
                if has_priority:
                    _take_cpus(directory)
        except OSError:
            self.close()
            raise

    @property
    def join(self) -> tuple[str, ...]:
        """The words to put before a program so that it starts inside the groups."""
        if not self._members:
            return ()
        return (*JOIN, *(str(directory) for _, directory in self._members), "--")

    @property
    def limits_memory(self) -> bool:
        """Return whether the kernel enforces the memory limit."""
        return any("memory" in hierarchy.controllers for hierarchy, _ in self._members)

    def memory_kills(self) -> int:
        """Count the processes that the kernel killed for lack of memory, of the group or of the host."""
        return sum(self._of_memory(_kills))

    def has_reached_memory_limit(self) -> bool:
        """Return whether the group itself lacked memory, and not a group above it or the whole host.

        On version 1 this is also true if the kernel could free enough at the limit, such as cached files.
        """
        return any(self._of_memory(_has_reached_limit))

    def _of_memory(self, read: Callable[[int, Path], int]) -> Iterator[int]:
        for hierarchy, directory in self._members:
            with suppress(OSError, ValueError):
                if "memory" in hierarchy.controllers:
                    yield read(hierarchy.version, directory)

    def cpu_seconds(self) -> float | None:
        """Return the CPU time of all processes so far, or None if no group counts it."""
        for hierarchy, directory in self._members:
            with suppress(OSError, ValueError):
                if hierarchy.version == UNIFIED:
                    return _field(directory / "cpu.stat", "usage_usec") / 1e6
                if "cpuacct" in hierarchy.controllers:
                    return int((directory / "cpuacct.usage").read_text()) / 1e9
        return None

    def close(self) -> None:
        """Kill the processes in the groups, and remove the groups.

        Raises:
            Transient: a process of the run cannot be ended.
        """
        for _, directory in reversed(self._members):
            _remove(directory)


def can_divide(hierarchy: Hierarchy) -> bool:
    """Return whether a program can join a new group; only a trial covers all permissions and rules."""
    try:
        with closing(ControlGroups([hierarchy], Limits())) as group:
            command = [*group.join, "/bin/true"]
            # A fixed program of the system.
            return subprocess.run(command, check=False, capture_output=True).returncode == 0  # noqa: S603
    except OSError:
        return False


def leave_own_group(root: Path = Path("/")) -> None:
    """Move this process from its delegated group of version 2 to a new one in it, if it is alone there.

    The kernel lets a process divide a group only if the group has no member, and systemd starts a service in
    the group that ``Delegate=yes`` gives it. Call it before the first child starts: children inherit the
    group, and their groups then stand beside it.
    """
    for mount in _mounts(root, "cgroup2"):
        own = _own_directory(root, mount, "")
        if own is None or own.name == PARTS or _words(own / "cgroup.procs") != [str(os.getpid())]:
            continue
        if {"memory", "pids"} <= {*_words(own / "cgroup.controllers")} and _is_delegated(root, own):
            with suppress(OSError):
                (own / PARTS).mkdir(exist_ok=True)
                (own / PARTS / "cgroup.procs").write_text(str(os.getpid()))


def _is_delegated(root: Path, directory: Path) -> bool:
    """Return whether systemd, if it runs here, leaves a group to its members.

    It takes the controllers away from the groups in any other service, and the limits with them, whenever an
    administrator reloads its units.
    """
    if not (root / "run/systemd/system").is_dir():  # as sd_booted(3) asks
        return True
    for name in ("user.delegate", "trusted.delegate"):  # only root may read the second, which is older
        with suppress(OSError):
            if os.getxattr(directory, name) == b"1":
                return True
    return False


def find_hierarchies(
    root: Path = Path("/"), can_be_used: Callable[[Hierarchy], bool] = can_divide
) -> tuple[Hierarchy, ...]:
    """Find the control groups that this process may divide: version 2, else 1, else none.

    Version 2 is used only if it limits memory and processes; on hybrid hosts it often has no controller. This
    process leaves its own group for that if it is alone there. The groups of dead workers are removed.

    Args:
        root: the root directory of the system.
        can_be_used: the trial that a hierarchy must pass.
    """
    leave_own_group(root)
    usable = _find_version_2(root, can_be_used) or _find_version_1(root, can_be_used)
    for hierarchy in usable:
        _remove_stale(hierarchy.parent)
    return tuple(usable)


def describe(hierarchies: Sequence[Hierarchy]) -> str:
    """Describe the limits of a program; runs are comparable only with equal descriptions."""
    if not hierarchies:
        return "prlimit processes, file size; memory watched"
    offered = frozenset[str]().union(*(hierarchy.controllers for hierarchy in hierarchies))
    named = ",".join(name for name in CONTROLLERS if name in offered)
    return f"cgroup v{hierarchies[0].version} {named}"


def _find_version_2(root: Path, can_be_used: Callable[[Hierarchy], bool]) -> list[Hierarchy]:
    for mount in _mounts(root, "cgroup2"):
        own = _own_directory(root, mount, "")
        while own is not None and own.is_relative_to(mount.point):
            controllers = _delegate(own)
            if {"memory", "pids"} <= controllers and can_be_used(Hierarchy(own, controllers, UNIFIED)):
                return [Hierarchy(own, controllers, UNIFIED)]
            # The kernel does not divide a group with member processes; a parent group may work.
            own = own.parent
    return []


def _delegate(directory: Path) -> frozenset[str]:
    """Enable the controllers for children of ``directory``, and return the enabled ones."""
    for controller in CONTROLLERS:
        with suppress(OSError):
            if controller not in _words(directory / "cgroup.subtree_control"):
                (directory / "cgroup.subtree_control").write_text(f"+{controller}")
    with suppress(OSError):
        return frozenset(_words(directory / "cgroup.subtree_control")).intersection(CONTROLLERS)
    return frozenset()


def _find_version_1(root: Path, can_be_used: Callable[[Hierarchy], bool]) -> list[Hierarchy]:
    mounted: dict[Path, Hierarchy] = {}
    for controller in ("memory", "pids", "cpuset", "cpuacct"):
        for mount in _mounts(root, "cgroup"):
            if controller in mount.options and (own := _own_directory(root, mount, controller)):
                shared = mounted[own].controllers if own in mounted else frozenset()
                mounted[own] = Hierarchy(own, shared | {controller}, 1)
    usable = [hierarchy for hierarchy in mounted.values() if can_be_used(hierarchy)]
    bounds = frozenset[str]().union(*(hierarchy.controllers for hierarchy in usable))
    return usable if {"memory", "pids"} <= bounds else []


def _configure(hierarchy: Hierarchy, directory: Path, limits: Limits, cpus: tuple[int, ...] | None) -> None:
    is_unified = hierarchy.version == UNIFIED
    if "memory" in hierarchy.controllers:
        size = str(limits.memory_bytes)
        (directory / ("memory.max" if is_unified else "memory.limit_in_bytes")).write_text(size)
        for name, value in (
            ("memory.swap.max", "0"),
            ("memory.oom.group", "1"),
            ("memory.memsw.limit_in_bytes", size),
        ):
            # Missing on kernels without swap accounting; the main limit works without them.
            with suppress(OSError):
                if (directory / name).exists():
                    (directory / name).write_text(value)
    if "pids" in hierarchy.controllers:
        (directory / "pids.max").write_text(str(limits.processes + OWN_PROCESSES))
    if "cpuset" in hierarchy.controllers:
        if not is_unified:
            _inherit_cpuset(directory)
        if cpus is not None:
            (directory / "cpuset.cpus").write_text(",".join(map(str, cpus)))


def _take_cpus(directory: Path) -> None:
    """Give a group the largest weight, if its hierarchy divides CPUs: priority counts only within a group."""
    for name, largest in (("cpu.weight", 10_000), ("cpu.shares", 262_144)):
        if (directory / name).exists():
            (directory / name).write_text(str(largest))


def _inherit_cpuset(directory: Path) -> None:
    """Copy CPUs and memory nodes from the parent: a new group of version 1 has none and cannot be joined."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        (directory / name).write_text((directory.parent / name).read_text())


@dataclass(frozen=True, slots=True)
class _Mount:
    inner: PurePosixPath  # the group at the root of the mount
    point: Path
    options: frozenset[str]


def _mounts(root: Path, kind: str) -> Iterator[_Mount]:
    with suppress(OSError):
        for line in (root / "proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            place, filesystem = before.split(), after.split()
            if filesystem[0] == kind:
                options = frozenset(filesystem[-1].split(","))
                yield _Mount(PurePosixPath(place[3]), root / place[4].lstrip("/"), options)


def _own_directory(root: Path, mount: _Mount, controller: str) -> Path | None:
    """Return this process's group in a mounted hierarchy, or None if the mount does not show it."""
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            # A container's mount shows its own group as the root.
            if controller in names.split(",") and PurePosixPath(path).is_relative_to(mount.inner):
                return mount.point / PurePosixPath(path).relative_to(mount.inner)
    return None


def _owner() -> str:
    """Name the creator of a group: process namespace, process ID, and start time, because IDs are reused."""
    return f"{PREFIX}-{_namespace()}-{os.getpid()}-{_started(os.getpid())}"


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _started(process: int) -> int | None:
    """Return a process's start time in ticks after boot, or None if there is no such process."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
    return None


def _remove_stale(parent: Path) -> None:
    for directory in parent.glob(f"{PREFIX}-*-*-*-*"):
        namespace, process, started = directory.name.split("-")[1:4]
        if namespace != str(_namespace()) or not process.isdecimal():
            continue  # the creator's state is not visible from this namespace
        if str(_started(int(process))) != started:
            with suppress(OSError, Transient):
                _remove(directory)


def _remove(directory: Path) -> None:
    deadline = time.monotonic() + REMOVE_WITHIN_SECONDS
    while directory.exists():
        with suppress(OSError):
            directory.rmdir()
            return
        # Busy: a process is still in it.
        _kill(directory)
        if time.monotonic() > deadline:
            raise Transient(f"the processes in {directory} cannot be ended")
        time.sleep(0.002)


def _kill(directory: Path) -> None:
    with suppress(OSError):
        (directory / "cgroup.kill").write_text("1")
        return
    for process in _words(directory / "cgroup.procs"):
        with suppress(OSError):
            os.kill(int(process), signal.SIGKILL)


def _kills(version: int, directory: Path) -> int:
    return _field(directory / ("memory.events" if version == UNIFIED else "memory.oom_control"), "oom_kill")


def _has_reached_limit(version: int, directory: Path) -> bool:
    if version == UNIFIED:
        return _field(directory / "memory.events", "oom") > 0
    # Of version 1 only the peak tells: newer kernels leave the count of failures at 0.
    return any(
        int(peak) + NEAR_LIMIT_BYTES >= int(limit)
        for name in ("memory", "memory.memsw")  # the second is missing on kernels without swap accounting
        for peak in _words(directory / f"{name}.max_usage_in_bytes")
        for limit in _words(directory / f"{name}.limit_in_bytes")
    )


def _words(path: Path) -> list[str]:
    with suppress(OSError):
        return path.read_text().split()
    return []


def _field(path: Path, name: str) -> int:
    fields: Mapping[str, str] = dict(line.split(None, 1) for line in path.read_text().splitlines() if line)
    return int(fields.get(name, "0"))
