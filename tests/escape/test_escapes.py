"""Real programs try to leave the sandbox; each attempt is refused, and work of the same kind succeeds."""

from __future__ import annotations

import ctypes
import os
import platform
import secrets
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import (
    KEYCTL,
    UNAVAILABLE,
    BubblewrapSandbox,
    join_new_keyring,
)
from service.adapters.building.sandbox.machine_mounts import read_mount
from service.domain.building.sandbox_command import Mount
from service.domain.values.errors import Unfit
from tests.escape import files, kernel, network, processes
from tests.escape.attempt import ESCAPED, LIMITS, PROPERTY, Attempt, Control, answer_of, program
from tests.integration.adapters.building.sandbox.sandboxed import PYTHON, run, writable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

pytestmark = pytest.mark.integration

ATTEMPTS = (*processes.PROCESSES, *files.FILES, *network.COMMUNICATION, *kernel.REST)
CONTROLS = (*processes.CONTROLS, *files.CONTROLS, *network.CONTROLS, *kernel.CONTROLS)
HERE = Path(__file__).parent
TEXT = "only the host may read this"
ADD_KEY = {"x86_64": 248, "aarch64": 217}


@dataclass(frozen=True)
class Host:
    """Lures that the host offers: a process, servers, files, shared memory."""

    lures: Mapping[str, str]
    process: subprocess.Popen[bytes]
    file: Path
    source: Path
    tools: Path
    shown: Path


@pytest.fixture(scope="module")
def sandbox() -> BubblewrapSandbox:
    if platform.machine() not in ADD_KEY:
        pytest.skip("the attempts know the system calls of x86-64 and aarch64 only")
    try:
        return BubblewrapSandbox()
    except Unfit as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    top = tmp_path_factory.mktemp("host")
    file, source, tools, shown = top / "secret", top / "src", top / "tools", top / "shown"
    file.write_text(TEXT)
    for directory in (source, tools, shown):
        directory.mkdir()
    for directory in (source, shown):
        (directory / "file").write_text(TEXT)
    (shown / "link").symlink_to(file)
    subprocess.run(["cc", "-O1", "-o", tools / "interface", HERE / "interface.c"], check=True)
    name, key = f"benchgate-escape-{os.getpid()}", secrets.randbelow(1 << 30) + 1
    shared = Path("/dev/shm", name)  # noqa: S108
    shared.write_text(TEXT)
    memory = ctypes.CDLL(None).shmget(key, 4096, 0o1666)
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(socket.socket(socket.AF_UNIX)) as abstract,
        closing(socket.socket(socket.AF_UNIX)) as named,
        subprocess.Popen(["sleep", "infinity"], start_new_session=True) as process,
    ):
        abstract.bind("\0" + name)
        abstract.listen()
        named.bind(str(top / "socket"))
        named.listen()
        lures = {
            "HOST_PID": str(process.pid),
            "HOST_PORT": str(server.getsockname()[1]),
            "HOST_ABSTRACT": name,
            "HOST_SOCKET": str(top / "socket"),
            "HOST_FILE": str(file),
            "HOST_SHM": str(key),
            "HOST_KEY": name,
            "HOST_SHOWN": str(shown),
        }
        try:
            yield Host(lures, process, file, source, tools, shown)
        finally:
            process.kill()
            shared.unlink()
            ctypes.CDLL(None).shmctl(memory, 0, None)


@pytest.fixture(scope="module")
def showing(sandbox: BubblewrapSandbox, host: Host) -> Mapping[str, BubblewrapSandbox]:
    """The sandboxes of the families that need another one."""
    return {files.OF_MACHINE: BubblewrapSandbox(mounts=[read_mount(str(host.shown), {})])}


def answer(sandbox: BubblewrapSandbox, host: Host, build: Path, attempt: Attempt | Control) -> str:
    limits = attempt.limits if isinstance(attempt, Attempt) else LIMITS
    mounts = (Mount(host.source, "/src"), Mount(host.tools, "/attempt"), writable(build))
    command = (PYTHON, "-I", "-S", "-c", program(attempt.body))
    return answer_of(*run(sandbox, *command, mounts=mounts, env=host.lures, limits=limits))


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda it: f"{it.family}: {it.attempted}")
def test_an_escape_is_refused(
    sandbox: BubblewrapSandbox,
    showing: Mapping[str, BubblewrapSandbox],
    host: Host,
    attempt: Attempt,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if attempt.only not in {"", platform.machine()}:
        pytest.skip(f"only on {attempt.only}")
    if attempt is kernel.FORK and os.geteuid() == 0 and not sandbox.in_force()["limits"].startswith("cgroup"):
        pytest.skip("without control groups, the kernel does not count the processes of root's sandbox")
    monkeypatch.setenv("HOST_SECRET", TEXT)
    found = answer(showing.get(attempt.family, sandbox), host, tmp_path, attempt)
    record_property(PROPERTY, (attempt.family, attempt.attempted, str(attempt.by), found))

    assert found in attempt.refused.split()


@pytest.mark.parametrize("control", CONTROLS, ids=lambda it: f"{it.family}: {it.works}")
def test_work_of_the_same_kind_succeeds(
    sandbox: BubblewrapSandbox,
    showing: Mapping[str, BubblewrapSandbox],
    host: Host,
    control: Control,
    tmp_path: Path,
) -> None:
    used = showing.get(control.family, sandbox)
    assert answer(used, host, tmp_path, control) == ESCAPED  # it reached its end


def test_the_same_calls_for_keys_succeed_outside_the_sandbox() -> None:
    def act() -> int:
        join_new_keyring()
        library = ctypes.CDLL(None, use_errno=True)
        added = library.syscall(
            ADD_KEY[platform.machine()], b"user", b"benchgate", b"x", ctypes.c_long(1), -3
        )
        if added < 0 and ctypes.get_errno() in UNAVAILABLE:
            pytest.skip("this kernel has no keys, or a container refuses them")
        found = library.syscall(KEYCTL[platform.machine()], 10, -3, b"user", b"benchgate", 0)
        return int(found - added)

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(act).result() == 0


def test_the_lures_can_be_reached_outside_the_sandbox(host: Host) -> None:
    assert host.process.poll() is None
    assert host.file.read_text() == (host.source / "file").read_text() == TEXT
    assert [path.name for path in host.source.iterdir()] == ["file"]
    socket.create_connection(("127.0.0.1", int(host.lures["HOST_PORT"])), 5).close()
    with closing(socket.socket(socket.AF_UNIX)) as client:
        client.connect("\0" + host.lures["HOST_ABSTRACT"])
    assert ctypes.CDLL(None).shmget(int(host.lures["HOST_SHM"]), 0, 0) >= 0


def test_each_family_has_a_control_and_the_suite_has_a_hundred_attempts() -> None:
    assert {it.family for it in ATTEMPTS} == {it.family for it in CONTROLS} | {"keys"}
    assert len(ATTEMPTS) >= 100
    assert len({(it.family, it.attempted) for it in ATTEMPTS}) == len(ATTEMPTS)
