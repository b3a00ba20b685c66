"""Attempts on mounts, on files and on devices."""

from __future__ import annotations

from typing import Final

from tests.escape.attempt import Attempt, By, Control

DETACH: Final = 2
MOUNTS: Final = tuple(
    Attempt("mounts", attempted, By.PRIVILEGES, refused, body)
    for attempted, refused, body in (
        ("mount a file system in memory", "EPERM", "call('mount', b'x', b'/build', b'tmpfs', 0, None)"),
        ("mount a new /proc", "EPERM", "call('mount', b'proc', b'/build', b'proc', 0, None)"),
        ("bind / to /build", "EPERM", "call('mount', b'/', b'/build', None, 4096, None)"),
        ("make /usr writable", "EPERM", "call('mount', None, b'/usr', None, 32 | 4096, None)"),
        (
            "make /usr writable by mount_setattr",
            "EPERM",
            "call('mount_setattr', -100, b'/usr', 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32)",
        ),
        ("unmount the cover of /proc/1", "EPERM", f"call('umount2', b'/proc/1', {DETACH})"),
        (
            "unmount the cover of /proc/kcore",
            "EPERM EINVAL ENOENT",
            f"call('umount2', b'/proc/kcore', {DETACH})",
        ),
        ("unmount the read-only /proc/sys", "EPERM", f"call('umount2', b'/proc/sys', {DETACH})"),
        ("copy the tree of mounts", "EPERM", "call('open_tree', -100, b'/', 1 | 0x8000)"),
        ("open a new file system", "EPERM", "call('fsopen', b'proc', 0)"),
        ("exchange the root", "EPERM", "call('pivot_root', b'/build', b'/build')"),
    )
)

READ_ONLY: Final = "EROFS EACCES"
WRITES: Final = tuple(
    Attempt("files: writing", attempted, By.READ_ONLY, refused, body)
    for attempted, refused, body in (
        ("create a file in /", READ_ONLY, "write('/x')"),
        ("create a program in /usr/bin", READ_ONLY, "write('/usr/bin/x')"),
        ("replace /usr/bin/env", READ_ONLY, "os.rename('/usr/bin/env', '/usr/bin/env.old')"),
        ("change /etc/passwd", READ_ONLY, "write('/etc/passwd')"),
        ("change the dynamic linker's cache", READ_ONLY, "write('/etc/ld.so.cache')"),
        ("write the sources that are mounted read-only", READ_ONLY, "write('/src/file')"),
        ("add to these sources", READ_ONLY, "open('/src/file', 'ab')"),
        ("remove one of them", READ_ONLY, "os.remove('/src/file')"),
        ("rename one of them", READ_ONLY, "os.rename('/src/file', '/src/other')"),
        ("shorten one of them", READ_ONLY, "os.truncate('/src/file', 0)"),
        ("change its mode", READ_ONLY, "os.chmod('/src/file', 0o777)"),
        ("change its time", READ_ONLY, "os.utime('/src/file', (1, 1))"),
        ("give it an attribute", f"{READ_ONLY} EOPNOTSUPP", "os.setxattr('/src/file', 'user.x', b'x')"),
        (
            "open it again for writing by its descriptor",
            READ_ONLY,
            "os.open(f'/proc/self/fd/{os.open(\"/src/file\", 0)}', os.O_WRONLY)",
        ),
        ("link it into a writable mount", "EXDEV EPERM", "os.link('/src/file', '/build/link')"),
        ("move it into a writable mount", f"{READ_ONLY} EXDEV", "os.rename('/src/file', '/build/moved')"),
        (
            "write it through a symbolic link",
            READ_ONLY,
            "os.symlink('/src/file', '/build/way')\nwrite('/build/way')",
        ),
        (
            "write over its own running program",
            f"{READ_ONLY} ETXTBSY",
            "os.open('/proc/self/exe', os.O_WRONLY)",
        ),
        (
            "have the host run a program at a crash",
            READ_ONLY,
            "write('/proc/sys/kernel/core_pattern', '|/x')",
        ),
        (
            "have the host run a program for a module",
            f"{READ_ONLY} ENOENT",
            "write('/proc/sys/kernel/modprobe', '/x')",
        ),
        (
            "have the host run a program for a format",
            f"{READ_ONLY} ENOENT",
            "write('/proc/sys/fs/binfmt_misc/register')",
        ),
        (
            "change the memory overcommit of the host",
            READ_ONLY,
            "write('/proc/sys/vm/overcommit_memory', '1')",
        ),
        ("press a magic key", f"{READ_ONLY} ENOENT", "write('/proc/sysrq-trigger', 'h')"),
        ("switch a CPU off", f"{READ_ONLY} ENOENT", "write('/sys/devices/system/cpu/cpu1/online', '0')"),
        (
            "change huge pages of the host",
            f"{READ_ONLY} ENOENT",
            "write('/sys/kernel/mm/transparent_hugepage/enabled', 'never')",
        ),
        ("leave its control group", f"{READ_ONLY} ENOENT", "write('/sys/fs/cgroup/cgroup.procs', '0')"),
    )
)

READS: Final = tuple(
    Attempt("files: reading", attempted, By.MOUNTS, refused, body)
    for attempted, refused, body in (
        ("open a file of the host by its path", "ENOENT", "read(lure('HOST_FILE'))"),
        (
            "open it through a symbolic link",
            "ENOENT",
            "os.symlink(lure('HOST_FILE'), '/build/out')\nread('/build/out')",
        ),
        ("open it above the mount", "ENOENT", "read('/build/../' + lure('HOST_FILE'))"),
        (
            "open it through the working directory",
            "ENOENT",
            "os.chdir('/build')\nread('/proc/self/cwd/..' + lure('HOST_FILE'))",
        ),
        ("open it through the root in /proc", "ENOENT", "read('/proc/self/root' + lure('HOST_FILE'))"),
        ("leave the root by many ..", "held", "need(os.listdir('/' + '../' * 99) != os.listdir('/'))"),
        (
            "open a file by its handle",
            "EPERM ESTALE",
            "call('open_by_handle_at', -100, (ctypes.c_uint32 * 4)(8, 1), 0)",
        ),
        ("list /home", "ENOENT", "os.listdir('/home')"),
        ("list /root", "ENOENT", "os.listdir('/root')"),
        ("list /var", "ENOENT", "os.listdir('/var')"),
        ("list /run", "ENOENT", "os.listdir('/run')"),
        ("read the passwords", "ENOENT", "read('/etc/shadow')"),
        ("read the host's name", "held", "need(os.uname().nodename != 'benchgate')"),
        ("inherit a descriptor", "held", "need(len(os.listdir('/proc/self/fd')) > 4)"),
        ("inherit the worker's environment", "held", "need('HOST_SECRET' in os.environ)"),
        ("read files in /tmp", "held", "need(os.listdir('/tmp'))"),
    )
)

DEVICES: Final = tuple(
    Attempt("devices", attempted, by, refused, body)
    for attempted, by, refused, body in (
        ("open the memory of the host", By.MOUNTS, "ENOENT", "read('/dev/mem')"),
        (
            "open a disk",
            By.MOUNTS,
            "held",
            "need([n for n in os.listdir('/dev') if n.startswith(('sd', 'vd', 'nvme', 'dm-', 'loop'))])",
        ),
        ("open the log of the kernel", By.MOUNTS, "ENOENT", "read('/dev/kmsg')"),
        ("open the virtual machine monitor", By.MOUNTS, "ENOENT", "read('/dev/kvm')"),
        ("open a file system in user space", By.MOUNTS, "ENOENT", "read('/dev/fuse')"),
        ("open a network tunnel", By.MOUNTS, "ENOENT", "read('/dev/net/tun')"),
        ("read the kernel's memory", By.HIDDEN, "EACCES held ENOENT", "need(read('/proc/kcore'))"),
        ("read the addresses of the kernel", By.HIDDEN, "EACCES held ENOENT", "need(read('/proc/kallsyms'))"),
        ("read the kernel's messages", By.HIDDEN, "EACCES held ENOENT", "need(read('/proc/kmsg'))"),
        ("create a device", By.PRIVILEGES, "EPERM", "os.mknod('/build/sda', 0o60600, os.makedev(8, 0))"),
        ("add to /dev", By.READ_ONLY, "EROFS EACCES", "write('/dev/x')"),
    )
)

OF_MACHINE: Final = "directories of the machine"
_SHOWN: Final = "lure('HOST_SHOWN')"
SHOWN: Final = tuple(
    Attempt(OF_MACHINE, attempted, by, refused, body.replace("SHOWN", _SHOWN))
    for attempted, by, refused, body in (
        ("create a file in one", By.READ_ONLY, READ_ONLY, "write(SHOWN + '/x')"),
        ("add to a file in it", By.READ_ONLY, READ_ONLY, "open(SHOWN + '/file', 'ab')"),
        ("remove one of its files", By.READ_ONLY, READ_ONLY, "os.remove(SHOWN + '/file')"),
        ("rename one of them", By.READ_ONLY, READ_ONLY, "os.rename(SHOWN + '/file', SHOWN + '/other')"),
        ("change its mode", By.READ_ONLY, READ_ONLY, "os.chmod(SHOWN + '/file', 0o777)"),
        (
            "open it again for writing by its descriptor",
            By.READ_ONLY,
            READ_ONLY,
            "os.open('/proc/self/fd/' + str(os.open(SHOWN + '/file', 0)), os.O_WRONLY)",
        ),
        (
            "link it into a writable mount",
            By.MOUNTS,
            "EXDEV EPERM",
            "os.link(SHOWN + '/file', '/build/link')",
        ),
        (
            "make the directory writable",
            By.PRIVILEGES,
            "EPERM",
            "call('mount', None, SHOWN.encode(), None, 32 | 4096, None)",
        ),
        ("unmount it", By.PRIVILEGES, "EPERM", f"call('umount2', SHOWN.encode(), {DETACH})"),
        ("open a file beside it", By.MOUNTS, "ENOENT", "read(SHOWN + '/../secret')"),
        ("follow a link that leads out of it", By.MOUNTS, "ENOENT", "read(SHOWN + '/link')"),
        (
            "get rights or a device from a file in it",
            By.MOUNTS,
            "held",
            "need(~os.statvfs(SHOWN).f_flag & (os.ST_NOSUID | os.ST_NODEV))",
        ),
    )
)

FILES: Final = (*MOUNTS, *WRITES, *READS, *DEVICES, *SHOWN)
CONTROLS: Final = (
    Control("mounts", "the program sees its mounts", "need(os.listdir('/src') == ['file'])"),
    Control(
        *("files: writing", "a writable mount and /tmp take files, links and attributes of time"),
        """
for top in ("/build", "/tmp"):
    write(top + "/one")
    os.link(top + "/one", top + "/two")
    os.symlink("one", top + "/three")
    os.utime(top + "/two", (1, 1))
    need(read(top + "/three") == b"x")
""",
    ),
    Control(OF_MACHINE, "its files can be read", f"need(read({_SHOWN} + '/file'))"),
    Control(
        *("files: reading", "the system, the sources and the kernel's figures can be read"),
        "for path in ('/src/file', '/usr/bin/env', '/proc/meminfo'):\n    need(read(path))",
    ),
    Control(
        *("devices", "harmless devices work"),
        "write('/dev/null')\nneed(read('/dev/zero') == bytes(100))\nneed(read('/dev/urandom'))\nos.openpty()",
    ),
)
