"""Make bubblewrap's arguments for a program's file system, and explain why a kernel refuses them."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import ExitStack

    from service.domain.building.sandbox_command import Command
    from service.domain.machines.mounts import MachineMount

USER: Final = 1000
HOSTNAME: Final = "benchgate"
ENVIRONMENT: Final = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108  # the sandbox's own
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",  # noqa: S108
}
# Programs look up their user and localhost; the host's own files must stay hidden.
SYNTHETIC: Final = {
    "/etc/passwd": f"root:x:0:0:root:/:/bin/sh\nbenchgate:x:{USER}:{USER}:benchgate:/tmp:/bin/sh\n",
    "/etc/group": f"root:x:0:\nbenchgate:x:{USER}:\n",
    "/etc/hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n",
}
# The dynamic linker and the compilers' alternatives need these.
ETC: Final = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
# Benchmarks and allocators read the topology of the processor here.
SYS: Final = (
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/kernel/mm/transparent_hugepage",
)
# If root starts the sandbox, its user is the owner of these files and could open them.
HIDDEN: Final = (
    *("acpi", "bus", "driver", "fs", "irq", "pressure", "scsi", "tty", "config.gz", "iomem", "kallsyms"),
    *("kcore", "keys", "key-users", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats"),
    *("mtrr", "pagetypeinfo", "sched_debug", "slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo"),
)
# The first process of the namespace starts outside, and its views show the file system there.
FIRST_PROCESS: Final = "/proc/1"
# Kernel settings, each with the value that forbids the sandbox, and the fix.
REMEDIES: Final = (
    (
        "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        """AppArmor forbids user namespaces to programs without a profile; add a profile for /usr/bin/bwrap \
that grants `userns`, or allow them for all programs: \
sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0""",
    ),
    (
        "proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "the kernel forbids user namespaces; allow them: sudo sysctl kernel.unprivileged_userns_clone=1",
    ),
    (
        "proc/sys/user/max_user_namespaces",
        "0",
        "the kernel allows no user namespaces; allow them: sudo sysctl user.max_user_namespaces=15000",
    ),
)


def mount_arguments(
    command: Command, files: Mapping[str, int], shown: Iterable[MachineMount] = ()
) -> Iterator[str]:
    """Yield bubblewrap's arguments for ``command``.

    ``files`` are open descriptors with the text of the synthetic files, by path; ``shown`` are directories of
    the machine.
    """
    yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
    yield from ("--uid", str(USER), "--gid", str(USER), "--cap-drop", "ALL", "--hostname", HOSTNAME)
    yield "--clearenv"
    for name, value in {**ENVIRONMENT, **command.env}.items():
        yield from ("--setenv", name, value)
    yield from _system()
    for target, descriptor in files.items():
        yield from ("--perms", "0444", "--file", str(descriptor), target)
    yield from _kernel_views()
    yield from ("--size", str(command.limits.memory_bytes), "--perms", "1777", "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--size", str(command.limits.memory_bytes), "--perms", "1777", "--tmpfs", "/tmp")  # noqa: S108
    # Those of a command come later, so that nothing of the machine covers them.
    for directory in shown:
        yield from ("--ro-bind", directory.path, directory.path)
    for mount in command.mounts:
        bind = "--bind" if mount.writable else "--ro-bind"
        yield from (bind, str(Path(mount.source).absolute()), str(PurePosixPath(mount.target)))
    # Last, because bubblewrap creates the mount points above in these.
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", command.cwd)


def in_memory(data: bytes, cleanup: ExitStack) -> int:
    """Make a descriptor to read ``data`` from; ``cleanup`` closes it."""
    descriptor = os.memfd_create("benchgate")
    cleanup.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for name in (*ETC, *jdk_settings(Path("/etc"))):
        yield from ("--ro-bind-try", name, name)


def jdk_settings(etc: Path) -> list[str]:
    """List the directories without which the JDKs of Debian's packages do not start.

    The directory above each may have the passwords of its remote management.
    """
    return [str(path) for path in sorted(etc.glob("java-*-openjdk/security"))]


def _kernel_views() -> Iterator[str]:
    # If the host's root starts bubblewrap, it leaves the kernel's settings writable. A program that writes
    # core_pattern could run programs as root on the host.
    yield from ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
    for name in HIDDEN:
        path = Path("/proc", name)
        if path.is_dir():
            yield from ("--tmpfs", str(path), "--remount-ro", str(path))
        elif path.exists():
            # A device on a bind mount cannot be opened without --dev-bind.
            yield from ("--ro-bind", "/dev/null", str(path))
    yield from ("--tmpfs", FIRST_PROCESS, "--remount-ro", FIRST_PROCESS)
    for name in SYS:
        yield from ("--ro-bind-try", name, name)
    yield from ("--dev", "/dev")


def explain_refusal(complaint: str, root: Path = Path("/")) -> str:
    """Explain in one sentence why bubblewrap fails on this host, and name the fix."""
    if "Unknown option" in complaint:
        return f"bubblewrap 0.8 or newer is needed; upgrade it: sudo apt-get install bubblewrap ({complaint})"
    for name, forbidding, remedy in REMEDIES:
        path = root / name
        if path.exists() and path.read_text().strip() == forbidding:
            return f"programs of a patch set cannot be isolated here: {remedy} ({complaint})"
    return (
        f"programs of a patch set cannot be isolated here: {complaint}; if this is a container, allow it to "
        "create user namespaces (docker run --security-opt seccomp=unconfined --security-opt "
        "apparmor=unconfined --security-opt systempaths=unconfined)"
    )
