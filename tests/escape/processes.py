"""Attempts on keys, on processes and on user identities."""

from __future__ import annotations

from typing import Final

from tests.escape.attempt import Attempt, By, Control

KEYS: Final = (
    *(
        Attempt("keys", attempted, By.FILTER, "ENOSYS", body, only=only)
        for attempted, body, only in (
            ("add a key to the session keyring", "call('add_key', b'user', b'left', b'x', 1, -3)", ""),
            ("add a key to the user keyring", "call('add_key', b'user', b'left', b'x', 1, -4)", ""),
            (
                "search a key by request_key",
                "call('request_key', b'user', lure('HOST_KEY').encode(), None, -3)",
                "",
            ),
            ("read the session keyring", "call('keyctl', 11, -3, ctypes.create_string_buffer(64), 64)", ""),
            (
                "search the session keyring",
                "call('keyctl', 10, -3, b'user', lure('HOST_KEY').encode(), 0)",
                "",
            ),
            ("get the persistent keyring of the user", "call('keyctl', 22, -1, -3)", ""),
            ("join a keyring by its name", "call('keyctl', 1, b'_uid_ses.0')", ""),
            (
                "add_key by the 32-bit interface",
                "foreign('32', 286, 'user', 'left', 'x', 1, -3)",
                "x86_64",
            ),
            ("request_key by the 32-bit interface", "foreign('32', 287, 'user', 'left', 0, -3)", "x86_64"),
            ("keyctl by the 32-bit interface", "foreign('32', 288, 0, -3, 0)", "x86_64"),
            ("keyctl by the numbers of x32", "foreign('x32', 250, 0, -3, 0)", "x86_64"),
        )
    ),
    Attempt("keys", "list the keys", By.HIDDEN, "EACCES held", "need(read('/proc/keys'))"),
    Attempt("keys", "list the users of keys", By.HIDDEN, "EACCES held", "need(read('/proc/key-users'))"),
)

BUFFER: Final = "data = ctypes.create_string_buffer(8)\n"
FIRST_PROCESS: Final = (
    Attempt("first process", "attach with ptrace", By.FILTER, "EPERM", "call('ptrace', 16, 1, 0, 0)"),
    Attempt("first process", "seize with ptrace", By.FILTER, "EPERM", "call('ptrace', 0x4206, 1, 0, 0)"),
    Attempt(
        *("first process", "attach with an upper half in the argument", By.FILTER, "EPERM"),
        "call('ptrace', 16, 1 | 1 << 32, 0, 0)",
    ),
    Attempt(
        *("first process", "attach by the 32-bit interface", By.FILTER, "EPERM"),
        *("foreign('32', 26, 16, 1, 0, 0)",),
        only="x86_64",
    ),
    Attempt(
        *("first process", "attach by the numbers of x32", By.FILTER, "ENOSYS"),
        *("foreign('x32', 521, 16, 1, 0, 0)",),
        only="x86_64",
    ),
    Attempt(
        *("first process", "read its memory", By.FILTER, "EPERM"),
        BUFFER + "call('process_vm_readv', 1, vector(data), 1, vector(data, 1 << 20), 1, 0)",
    ),
    Attempt(
        *("first process", "write its memory", By.FILTER, "EPERM"),
        BUFFER + "call('process_vm_writev', 1, vector(data), 1, vector(data, 1 << 20), 1, 0)",
    ),
    Attempt(
        *("first process", "write its memory by the 32-bit interface", By.FILTER, "EPERM"),
        *("foreign('32', 348, 1, 0, 0, 0, 0)",),
        only="x86_64",
    ),
    Attempt(
        *("first process", "copy its pipe for the exit code", By.FILTER, "ENOSYS"),
        "call('pidfd_getfd', call('pidfd_open', 1, 0), 3, 0)",
    ),
    Attempt(
        *("first process", "end it by a limit on CPU time", By.FILTER, "EPERM"),
        "call('prlimit64', 1, 0, (ctypes.c_long * 2)(0, 0), None)",
    ),
    Attempt("first process", "open its memory", By.HIDDEN, "ENOENT", "open('/proc/1/mem', 'r+b')"),
    Attempt("first process", "read its arguments", By.HIDDEN, "ENOENT", "read('/proc/1/cmdline')"),
    Attempt("first process", "read its environment", By.HIDDEN, "ENOENT", "read('/proc/1/environ')"),
    Attempt("first process", "list its mounts", By.HIDDEN, "ENOENT", "read('/proc/1/mountinfo')"),
    Attempt("first process", "list its descriptors", By.HIDDEN, "ENOENT", "os.listdir('/proc/1/fd')"),
    Attempt("first process", "list its root directory", By.HIDDEN, "ENOENT", "os.listdir('/proc/1/root/')"),
    Attempt(
        *("first process", "open its memory through its thread", By.HIDDEN, "ENOENT"),
        "open('/proc/1/task/1/mem', 'r+b')",
    ),
    Attempt("first process", "join its namespaces", By.HIDDEN, "ENOENT", "os.open('/proc/1/ns/mnt', 0)"),
    *(
        Attempt(
            *("first process", f"send it {name}", By.PROCESSES, "held"),
            f"os.kill(1, {number})\nos.kill(1, 0)\nraise Held",
        )
        for name, number in (("SIGKILL", 9), ("SIGSTOP", 19), ("SIGTERM", 15))
    ),
)

PID: Final = "pid = int(lure('HOST_PID'))\n"
HOST_PROCESSES: Final = tuple(
    Attempt("processes of the host", attempted, By.PROCESSES, refused, PID + body)
    for attempted, refused, body in (
        ("kill one", "ESRCH", "os.kill(pid, 9)"),
        ("kill all that can be reached", "held ESRCH", "os.kill(-1, 19)\nraise Held"),
        ("kill its process group", "ESRCH", "os.killpg(pid, 9)"),
        ("attach with ptrace", "ESRCH", "call('ptrace', 16, pid, 0, 0)"),
        ("open a handle", "ESRCH EINVAL", "call('pidfd_open', pid, 0)"),
        ("see it in /proc", "ENOENT", "read(f'/proc/{pid}/cmdline')"),
        (
            "see more than the namespace in /proc",
            "held",
            "need(len([p for p in os.listdir('/proc') if p.isdigit()]) > 3)",
        ),
        ("lower its priority", "ESRCH", "os.setpriority(os.PRIO_PROCESS, pid, 19)"),
        ("pin it to a CPU", "ESRCH", "os.sched_setaffinity(pid, {0})"),
        ("lower its limits", "ESRCH", "call('prlimit64', pid, 7, (ctypes.c_long * 2)(0, 0), None)"),
        ("find its parent's process", "held", "need(os.getppid() > 1 or os.getpgid(0) > 9)"),
        ("type into its terminal", "ENXIO", "os.open('/dev/tty', os.O_RDWR)"),
    )
)

USERS: Final = tuple(
    Attempt("users and rights", attempted, by, refused, body)
    for attempted, by, refused, body in (
        ("become root", By.USERS, "EINVAL EPERM", "os.setresuid(0, 0, 0)"),
        ("join the group of root", By.USERS, "EINVAL EPERM", "os.setresgid(0, 0, 0)"),
        ("set additional groups", By.USERS, "EINVAL EPERM", "os.setgroups([0])"),
        ("map another user", By.USERS, "EPERM EACCES", "write('/proc/self/uid_map', '0 0 1')"),
        ("give a file to root", By.USERS, "EPERM EINVAL", "write('/build/f')\nos.chown('/build/f', 0, 0)"),
        ("create a user namespace", By.USERS, "EPERM ENOSPC", "call('unshare', 0x10000000)"),
        (
            "clone into a user namespace",
            By.USERS,
            "EPERM ENOSPC",
            "need(call('clone', 0x10000011, 0, 0, 0, 0) or os._exit(0))",
        ),
        ("create a mount namespace", By.PRIVILEGES, "EPERM", "call('unshare', 0x00020000)"),
        ("create a network namespace", By.PRIVILEGES, "EPERM", "call('unshare', 0x40000000)"),
        ("create a process namespace", By.PRIVILEGES, "EPERM", "call('unshare', 0x20000000)"),
        (
            "join its own mount namespace again",
            By.PRIVILEGES,
            "EPERM",
            "call('setns', os.open('/proc/self/ns/mnt', 0), 0)",
        ),
        (
            *("take all capabilities", By.PRIVILEGES, "EPERM"),
            "call('capset', (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6))",
        ),
        (
            "give a file capabilities",
            By.PRIVILEGES,
            "EPERM",
            "write('/tmp/f')\nos.setxattr('/tmp/f', 'security.capability', bytes([0, 0, 0, 2] + [255] * 16))",
        ),
        (
            "gain rights from a set-user-ID program",
            By.PRIVILEGES,
            "held",
            "need(libc.prctl(39, 0, 0, 0, 0) != 1)",
        ),
        (
            "start set-user-ID programs of the system",
            By.READ_ONLY,
            "held",
            "need(not os.statvfs('/usr').f_flag & os.ST_NOSUID)",
        ),
        ("change the root directory", By.PRIVILEGES, "EPERM", "call('chroot', b'/build')"),
    )
)

PROCESSES: Final = (*KEYS, *FIRST_PROCESS, *HOST_PROCESSES, *USERS)
CONTROLS: Final = (
    Control(
        *("first process", "a program reads the memory of its own child, and traces it"),
        """
data = ctypes.create_string_buffer(b"12345678", 8)
child = os.fork()
if child == 0:
    os.read(os.pipe()[0], 1)
found = ctypes.create_string_buffer(8)
call("process_vm_readv", child, vector(found), 1, vector(data), 1, 0)
need(found.raw == data.raw)
call("ptrace", 0x4206, child, 0, 0)
os.kill(child, 9)
""",
    ),
    Control(
        *("processes of the host", "a program kills its own child"),
        "child = subprocess.Popen(['sleep', '60'])\nos.kill(child.pid, 9)\nneed(child.wait() == -9)",
    ),
    Control(
        *("users and rights", "a program is an ordinary user and owns its files"),
        "need(os.getuid() == 1000)\nwrite('/build/f')\nos.chmod('/build/f', 0o700)\nos.remove('/build/f')",
    ),
)
