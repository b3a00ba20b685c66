"""After any end of a run, no process and no control group is left."""

from __future__ import annotations

import io
import os
import signal
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.limits import PREFIX, find_hierarchies
from service.domain.building.sandbox_command import Command, Limits, StoppedBy
from service.domain.values.errors import Cancelled, Drained, Transient
from tests.integration.adapters.building.sandbox.sandboxed import (
    COMPUTING,
    MOST_AT_START,
    PYTHON,
    QUICK,
    a_busy_neighbour,
    as_other_user,
    in_child,
    processes_named,
    run,
    writable,
)
from tests.support.waiting import eventually

pytestmark = pytest.mark.integration

# A child, an orphaned grandchild, and a daemon in a session of its own, all of them deaf
# to what can be ignored. Each leaves a file when it runs.
FAMILY = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
def live(name):
    open("/build/" + name, "w").close()
    time.sleep(600)
if os.fork() == 0:
    live("child")
if os.fork() == 0:
    if os.fork() == 0:
        live("grandchild")
    os._exit(0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        live("daemon")
    os._exit(0)
while len(os.listdir("/build")) < 3:
    time.sleep(0.01)
"""
WAIT = "live('first')"
MEMBERS = {"child", "grandchild", "daemon", "first"}


@pytest.fixture(scope="module")
def sandbox() -> BubblewrapSandbox:
    return BubblewrapSandbox()


@pytest.fixture
def token(tmp_path: Path) -> str:
    return f"token-{os.getpid()}-{tmp_path.name}"


def _family(build: Path, token: str, end: str, limits: Limits = QUICK) -> Command:
    build.mkdir()
    return Command((PYTHON, "-c", FAMILY + end, token), mounts=(writable(build),), limits=limits)


def _groups() -> list[str]:
    return [
        path.name
        for hierarchy in find_hierarchies()
        for path in hierarchy.parent.glob(f"{PREFIX}-*-{os.getpid()}-*")
    ]


def test_a_daemon_does_not_outlive_the_program(
    sandbox: BubblewrapSandbox, tmp_path: Path, token: str
) -> None:
    command = _family(tmp_path / "build", token, "sys.exit(7)")
    ended = sandbox.run(command, log=io.BytesIO(), watch=lambda: None)

    assert ended.exit_code == 7
    assert ended.seconds < 30
    assert processes_named(token) == []
    assert _groups() == []


def test_all_processes_have_ended_before_a_cancellation_is_raised(
    sandbox: BubblewrapSandbox, tmp_path: Path, token: str
) -> None:
    build = tmp_path / "build"

    def watch() -> None:
        if {path.name for path in build.iterdir()} == MEMBERS:
            assert len(processes_named(token)) >= 4
            raise Cancelled

    with pytest.raises(Cancelled):
        sandbox.run(_family(build, token, WAIT), log=io.BytesIO(), watch=watch)

    assert processes_named(token) == []
    assert _groups() == []


def test_the_wall_time_limit_ends_all_processes(
    sandbox: BubblewrapSandbox, tmp_path: Path, token: str
) -> None:
    build = tmp_path / "build"
    ended = sandbox.run(
        _family(build, token, WAIT, Limits(wall_seconds=1.0)), log=io.BytesIO(), watch=lambda: None
    )

    assert ended.stopped_by is StoppedBy.WALL
    assert ended.exit_code == 128 + signal.SIGKILL
    assert 1.0 <= ended.seconds < 10.0
    assert {path.name for path in build.iterdir()} == MEMBERS
    assert processes_named(token) == []


def _end_bubblewrap(token: str, number: int) -> None:
    """Send a signal to the run's process that is a child of this one."""
    for process in processes_named(token):
        with suppress(FileNotFoundError, ProcessLookupError):  # one of the others may end meanwhile
            parent = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                os.kill(process, number)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_sandbox_killed_from_outside_is_transient(
    sandbox: BubblewrapSandbox, tmp_path: Path, token: str, number: signal.Signals
) -> None:
    build = tmp_path / "build"
    ended: list[int] = []

    def watch() -> None:
        if not ended and {path.name for path in build.iterdir()} == MEMBERS:
            ended.extend(processes_named(token))
            _end_bubblewrap(token, number)

    with pytest.raises(Transient, match=rf"ended from outside \(signal {int(number)}\)"):
        sandbox.run(_family(build, token, WAIT), log=io.BytesIO(), watch=watch)

    assert len(ended) >= len(MEMBERS)
    assert processes_named(token) == []
    assert _groups() == []


def test_watch_may_raise_after_a_kill_from_outside(
    sandbox: BubblewrapSandbox, tmp_path: Path, token: str
) -> None:
    build = tmp_path / "build"
    ended: list[int] = []

    def watch() -> None:
        if ended:
            raise Drained
        if {path.name for path in build.iterdir()} == MEMBERS:
            ended.extend(processes_named(token))
            _end_bubblewrap(token, signal.SIGKILL)

    with pytest.raises(Drained):
        sandbox.run(_family(build, token, WAIT), log=io.BytesIO(), watch=watch)

    assert processes_named(token) == []


def test_all_processes_die_with_the_worker_and_the_next_worker_cleans_up(tmp_path: Path, token: str) -> None:
    build = tmp_path / "build"
    command = _family(build, token, WAIT)

    def work() -> None:
        BubblewrapSandbox().run(command, log=io.BytesIO(), watch=lambda: None)

    worker = in_child(work)
    assert eventually(lambda: {path.name for path in build.iterdir()} == MEMBERS)
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)

    assert eventually(lambda: processes_named(token) == [])
    BubblewrapSandbox()
    left = [path for found in find_hierarchies() for path in found.parent.glob(f"{PREFIX}-*-{worker}-*")]
    assert left == []


def test_groups_of_a_running_worker_are_kept() -> None:
    made = [found.parent / f"{PREFIX}-{_identity()}-x" for found in find_hierarchies()]
    for directory in made:
        directory.mkdir()
    try:
        find_hierarchies()
        assert all(directory.exists() for directory in made)
    finally:
        for directory in made:
            directory.rmdir()


def _identity() -> str:
    """Compute the name of this process in a group's name, independently of the code under test."""
    started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    return f"{Path('/proc/self/ns/pid').stat().st_ino}-{os.getpid()}-{started}"


@pytest.mark.parametrize(
    "program",
    [
        "import time; time.sleep(1.2)",
        "import os, time\nend = time.time() + 1.2\nwhile time.time() < end: os.write(1, b'x' * 60000)",
    ],
    ids=["silent", "flooding"],
)
def test_watch_is_called_four_times_a_second(sandbox: BubblewrapSandbox, program: str) -> None:
    asked: list[float] = []
    command = Command((PYTHON, "-c", program), limits=Limits(wall_seconds=60, log_bytes=1 << 40))
    with Path("/dev/null").open("wb") as log:
        sandbox.run(command, log=log, watch=lambda: asked.append(time.monotonic()))

    # Twice the promise: this machine may be busy with something else.
    assert max(after - before for before, after in pairwise(asked)) < 0.5
    assert len(asked) >= 4


def test_a_log_that_cannot_be_written_ends_the_run(sandbox: BubblewrapSandbox, token: str) -> None:
    with Path("/dev/full").open("wb", buffering=0) as log, pytest.raises(OSError, match="No space left"):
        sandbox.run(
            Command(("sh", "-c", "echo x; sleep 600", token), limits=QUICK), log=log, watch=lambda: None
        )

    assert processes_named(token) == []


HOG = "x = []\nwhile True: x.append(bytearray(b'x') * (8 << 20))"


def test_the_memory_limit_covers_all_children_together(sandbox: BubblewrapSandbox) -> None:
    program = f"import os\nfor _ in range(3): os.fork()\n{HOG}"
    ended, _ = run(sandbox, PYTHON, "-c", program, limits=Limits(wall_seconds=60, memory_bytes=200 << 20))

    assert ended.stopped_by is StoppedBy.MEMORY
    assert not ended.is_success


def test_without_control_groups_memory_is_watched() -> None:
    ended, _ = run(
        BubblewrapSandbox(hierarchies=()),
        *(PYTHON, "-c", "import os, time\nos.fork()\nx = bytearray(b'x') * (150 << 20)\ntime.sleep(60)"),
        limits=Limits(wall_seconds=60, memory_bytes=200 << 20),
    )

    assert ended.stopped_by is StoppedBy.MEMORY


BOMB = """
import os, time
made = 0
try:
    while made < 400:
        if os.fork() == 0:
            time.sleep(600)
        made += 1
except BlockingIOError:
    pass
print(made)
"""


def test_the_limit_on_processes_is_enforced(sandbox: BubblewrapSandbox) -> None:
    _, output = run(sandbox, PYTHON, "-c", BOMB, limits=Limits(wall_seconds=60, processes=50))

    # Without control groups the kernel does not count the processes of root's sandbox (see `in_force`).
    bounded = sandbox.in_force()["limits"].startswith("cgroup") or os.geteuid() != 0
    assert (int(output) <= 60) is bounded


def test_the_limit_on_processes_is_enforced_for_another_user() -> None:
    def act() -> None:
        sandbox = BubblewrapSandbox(hierarchies=())
        _, output = run(sandbox, PYTHON, "-c", BOMB, limits=Limits(wall_seconds=60, processes=50))
        assert 20 < int(output) <= 50, output

    assert as_other_user(act) == 0


def test_a_file_cannot_grow_past_its_limit(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    ended, _ = run(
        sandbox,
        *("sh", "-c", "head -c 2000000 /dev/zero > /build/big"),
        mounts=(writable(tmp_path),),
        limits=Limits(wall_seconds=60, file_bytes=1_000_000),
    )

    assert ended.exit_code == 128 + signal.SIGXFSZ
    assert (tmp_path / "big").stat().st_size == 1_000_000


def test_cpu_time_of_all_children_is_counted_if_groups_count_it(sandbox: BubblewrapSandbox) -> None:
    program = (
        "import os, time\nos.fork()\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
    )
    ended, _ = run(sandbox, PYTHON, "-c", program + "os.wait() if os.getpid() == 2 else None")

    if sandbox.in_force()["limits"].startswith("cgroup"):
        assert ended.cpu_seconds is not None
        assert 0.55 < ended.cpu_seconds < 2.0
    else:
        assert ended.cpu_seconds is None


@pytest.mark.parametrize(
    "program",
    [
        "import time\nfor _ in range(100): time.sleep(0.001)",
        "import os, time\nif not os.fork():\n    for _ in range(100): time.sleep(0.001)\nelse: os.wait()",
    ],
)
def test_waits_of_all_children_are_counted_apart_from_preemptions(
    sandbox: BubblewrapSandbox, program: str
) -> None:
    waiting, _ = run(sandbox, PYTHON, "-c", program)
    with a_busy_neighbour() as cpu:
        computing, _ = run(sandbox, "sh", "-c", COMPUTING, cpus=(cpu,))

    assert waiting.voluntary_switches is not None
    assert computing.voluntary_switches is not None
    assert waiting.voluntary_switches >= 100
    assert computing.voluntary_switches < MOST_AT_START


def test_no_process_is_left_unreaped(sandbox: BubblewrapSandbox) -> None:
    before = _zombies()
    run(sandbox, "sh", "-c", "sleep 60 & exit 3")
    with pytest.raises(RuntimeError):
        sandbox.run(Command(("sleep", "60")), log=None, watch=_raise_error)

    assert _zombies() - before == set()


def _zombies() -> set[str]:
    """List the dead children of this process; those from before a run may belong to other tests."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    stats = [Path(f"/proc/{child}/stat").read_text() for child in children]
    return {stat for stat in stats if stat.rpartition(")")[2].split()[0] == "Z"}


def _raise_error() -> None:
    raise RuntimeError
