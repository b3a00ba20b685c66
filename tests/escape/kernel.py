"""Attempts on the kernel, and on limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tests.escape.attempt import LIMITS, Attempt, By, Control

KERNEL: Final = tuple(
    Attempt("kernel", attempted, By.PRIVILEGES, refused, body)
    for attempted, refused, body in (
        (
            "load a program into the kernel (bpf)",
            "EPERM",
            "call('bpf', 5, (ctypes.c_uint64 * 16)(2 | 1 << 32), 128)",
        ),
        ("load a module", "EPERM ENOSYS", "call('init_module', b'x', 1, b'')"),
        (
            "load a module from a file",
            "EPERM ENOSYS",
            "call('finit_module', os.open('/usr/bin/env', 0), b'', 0)",
        ),
        ("unload a module", "EPERM ENOSYS", "call('delete_module', b'x', 0)"),
        ("start another kernel", "EPERM ENOSYS", "call('kexec_load', 0, 0, None, 0)"),
        ("restart the machine", "EPERM", "call('reboot', 0xFEE1DEAD, 672274793, 0x89ABCDEF, None)"),
        ("add swap space", "EPERM ENOSYS", "call('swapon', b'/build/swap', 0)"),
        ("remove swap space", "EPERM ENOSYS", "call('swapoff', b'/build/swap')"),
        ("set the time", "EPERM", "call('settimeofday', (ctypes.c_long * 2)(1, 0), None)"),
        ("set a clock", "EPERM", "call('clock_settime', 0, (ctypes.c_long * 2)(1, 0))"),
        ("bend the clock", "EPERM", "call('adjtimex', (ctypes.c_long * 32)(2, 0, 100))"),
        ("rename the host", "EPERM", "call('sethostname', b'x', 1)"),
        ("account the processes of the host", "EPERM ENOSYS", "call('acct', b'/build/acct')"),
        (
            "change disk quotas",
            "EPERM ENOSYS ENOENT ENODEV",
            "call('quotactl', 0x80000200, b'/dev/x', 0, None)",
        ),
        ("watch all files", "EPERM ENOSYS", "call('fanotify_init', 4, 0)"),
        (
            "count events of all processes",
            "EACCES EPERM ENOENT ENOSYS",
            "call('perf_event_open', (ctypes.c_uint64 * 16)(112 << 32), -1, 0, -1, 0)",
        ),
        ("hang the terminal up", "EPERM", "call('vhangup')"),
        ("raise its priority", "EACCES EPERM", "os.setpriority(os.PRIO_PROCESS, 0, -20)"),
        ("run in real time", "EPERM", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))"),
        ("read the disk in real time", "EPERM", "call('ioprio_set', 1, 0, 1 << 13)"),
    )
) + tuple(
    Attempt("kernel", attempted, By.PRIVILEGES, refused, body, only="x86_64")
    for attempted, refused, body in (
        (
            "use the ports of devices",
            "EPERM ENOSYS",
            "if libc.ioperm(0x70, 1, 1):\n    raise OSError(ctypes.get_errno(), '')",
        ),
        (
            "raise its level for ports",
            "EPERM ENOSYS",
            "if libc.iopl(3):\n    raise OSError(ctypes.get_errno(), '')",
        ),
    )
)

MESSAGES: Final = (
    Attempt(
        *("kernel", "read the kernel's messages", By.FILTER, "ENOSYS"),
        "call('syslog', 3, ctypes.create_string_buffer(64), 64)",
    ),
    Attempt("kernel", "clear the kernel's messages", By.FILTER, "ENOSYS", "call('syslog', 5, None, 0)"),
    Attempt(
        *("kernel", "read its messages by the 32-bit interface", By.FILTER, "ENOSYS"),
        *("foreign('32', 103, 3, '', 64)",),
        only="x86_64",
    ),
)
SMALL: Final = replace(LIMITS, memory_bytes=100 << 20)
FORKS: Final = """
import time
made = 0
try:
    while made < 400:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
except BlockingIOError:
    need(made > 250)
    raise
"""
FORK: Final = Attempt("limits", "fork without end", By.LIMIT, "held", FORKS)
CHILDREN: Final = """
import time
for _ in range(3):
    if os.fork() == 0:
        held = bytearray(b"x") * (60 << 20)
        time.sleep(1)
        os._exit(0)
need([os.wait()[1] for _ in range(3)] == [0, 0, 0])
"""
IGNORE_SIGNALS: Final = """
import signal, time
for number in (1, 2, 15, 18, 20):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
time.sleep(60)
"""
LIMIT: Final = tuple(
    Attempt("limits", attempted, By.LIMIT, refused, body, limits)
    for attempted, refused, body, limits in (
        (
            "use more memory",
            "limit:MEMORY",
            "held = []\nwhile True:\n    held.append(bytearray(b'x') * (8 << 20))",
            SMALL,
        ),
        (
            "use more memory by children",
            "limit:MEMORY held",
            CHILDREN,
            SMALL,
        ),
        (
            "use more memory by files in /tmp",
            "limit:MEMORY ENOSPC",
            "for name in '12345':\n    write('/tmp/' + name, 'x' * (30 << 20))",
            replace(SMALL, file_bytes=1 << 30),
        ),
        (
            "use more memory by files in /dev/shm",
            "limit:MEMORY",
            "for name in '12345':\n    write('/dev/shm/' + name, 'x' * (30 << 20))",
            SMALL,
        ),
        ("run longer", "limit:WALL", "import time\ntime.sleep(60)", replace(LIMITS, wall_seconds=1.0)),
        (
            "run longer without an end by signals",
            "limit:WALL",
            IGNORE_SIGNALS,
            replace(LIMITS, wall_seconds=1.0),
        ),
        (
            "write a log without end",
            "limit:LOG",
            "while True:\n    os.write(1, b'x' * 60000)",
            replace(LIMITS, log_bytes=1 << 20),
        ),
        (
            "write a larger file",
            "EFBIG",
            "os.truncate(os.open('/build/large', 66), 33 << 20)",  # Python ignores the signal
            LIMITS,
        ),
        (
            "raise the limit on files",
            "EPERM",
            "call('prlimit64', 0, 1, (ctypes.c_long * 2)(-1, -1), None)",
            LIMITS,
        ),
        (
            "raise the limit on processes",
            "EPERM",
            "call('prlimit64', 0, 6, (ctypes.c_long * 2)(-1, -1), None)",
            LIMITS,
        ),
    )
)
UNCHANGED: Final = """
import resource
need(resource.getrlimit(resource.RLIMIT_CORE) != (1, 1))
"""
CORE: Final = (
    Attempt(
        "core dumps",
        "raise the limit",
        By.FILTER,
        "held",
        "call('prlimit64', 0, 4, (ctypes.c_long * 2)(-1, -1), None)" + UNCHANGED,
    ),
    Attempt(
        *(
            "core dumps",
            "lower the limit to 0, which does not stop a program that receives dumps",
            By.FILTER,
            "held",
        ),
        "call('prlimit64', 0, 4, (ctypes.c_long * 2)(0, 0), None)" + UNCHANGED,
    ),
    Attempt(
        "core dumps",
        "lower it by the older call",
        By.FILTER,
        "held",
        "call('setrlimit', 4, (ctypes.c_long * 2)(0, 0))" + UNCHANGED,
    ),
    Attempt(
        "core dumps",
        "lower it for a child",
        By.FILTER,
        "held",
        "subprocess.run(['prlimit', '--core=0:0', f'--pid={os.getpid()}'])" + UNCHANGED,
    ),
    Attempt(
        "core dumps",
        "lower it by the 32-bit interface",
        By.FILTER,
        "held",
        "foreign('32', 340, os.getpid(), 4, '', 0)" + UNCHANGED,
        only="x86_64",
    ),
    Attempt(
        *("core dumps", "leave a dump where it crashes", By.LIMIT, "held"),
        """
os.chdir("/build")
if os.fork() == 0:
    os.kill(os.getpid(), 11)
_, status = os.wait()
need(os.WCOREDUMP(status) or os.listdir("."))
""",
    ),
)

REST: Final = (*KERNEL, *MESSAGES, FORK, *LIMIT, *CORE)
CONTROLS: Final = (
    Control(
        "kernel",
        "a program lowers its own priority and reads clocks",
        "import time\nos.nice(1)\nneed(time.clock_gettime(7))",
    ),
    Control(
        *("limits", "work below the limits succeeds"),
        """
held = bytearray(b"x") * (64 << 20)
write("/build/large", "x" * (31 << 20))
for _ in range(50):
    if os.fork() == 0:
        os._exit(0)
for _ in range(50):
    need(os.wait()[1] == 0)
""",
    ),
    Control(
        *(
            "core dumps",
            "a limit can be read, others can be lowered, and a script that switches dumps off goes on",
        ),
        "import resource\nneed(resource.getrlimit(4) == (1, 1))\nresource.setrlimit(7, (50, 50))\n"
        "need(resource.getrlimit(7) == (50, 50))\nsubprocess.run(['sh', '-ec', 'ulimit -c 0'], check=True)",
    ),
)
