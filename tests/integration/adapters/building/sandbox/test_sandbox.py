"""Check which files, sockets and processes a sandboxed program can reach."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.system.removal import remove_tree
from service.domain.building.sandbox_command import Mount
from tests.integration.adapters.building.sandbox.sandboxed import NOBODY, PYTHON, as_other_user, run, writable

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def sandbox() -> BubblewrapSandbox:
    return BubblewrapSandbox()


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that another user can enter, unlike pytest's own."""
    directory = Path(mkdtemp())
    if os.geteuid() == 0:
        os.chown(directory, NOBODY, NOBODY)
    yield directory
    remove_tree(directory)


def test_only_the_loopback_interface_exists(sandbox: BubblewrapSandbox) -> None:
    _, output = run(sandbox, PYTHON, "-c", "import socket; print(socket.if_nameindex())")

    assert output == "[(1, 'lo')]\n"


def test_a_server_on_the_hosts_loopback_cannot_be_reached(sandbox: BubblewrapSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        ended, output = run(sandbox, PYTHON, "-c", program)

    assert ended.exit_code == 1
    assert "ConnectionRefusedError" in output


def test_sockets_that_no_namespace_isolates_cannot_be_opened(sandbox: BubblewrapSandbox) -> None:
    program = """
import ctypes, socket
for family in (socket.AF_VSOCK, socket.AF_ALG, socket.AF_PACKET, 44):
    try:
        socket.socket(family, socket.SOCK_STREAM)
        print("opened", family)
    except OSError as error:
        print(error.errno)
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
    socket.socket(family, socket.SOCK_STREAM).close()
print(ctypes.CDLL(None, use_errno=True).syscall(425, 8, 0), ctypes.get_errno())
"""
    assert run(sandbox, PYTHON, "-c", program)[1].split() == ["97", "97", "97", "97", "-1", "38"]


def test_arguments_environment_and_mounts_of_the_first_process_are_hidden(sandbox: BubblewrapSandbox) -> None:
    assert run(sandbox, "ls", "-A", "/proc/1")[1] == ""


def test_the_home_the_repository_and_the_services_state_are_invisible(sandbox: BubblewrapSandbox) -> None:
    places = [str(Path.home()), str(Path.cwd()), "/var", "/run", "/home", "/root", "/etc/shadow", "/sys/fs"]
    program = f"import os; print([p for p in {places!r} if os.path.exists(p)])"

    assert run(sandbox, PYTHON, "-c", program)[1] == "[]\n"


def test_tmp_is_private_and_empty(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    _, output = run(sandbox, PYTHON, "-c", "import os; print(os.listdir('/tmp'), os.listdir('/dev/shm'))")

    assert output == "[] []\n"


def test_the_environment_is_the_allow_list_and_the_commands_own(
    sandbox: BubblewrapSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_TOKEN", "secret")
    monkeypatch.setenv("LD_PRELOAD", "/nowhere.so")
    _, output = run(
        sandbox, PYTHON, "-c", "import os, json; print(json.dumps(dict(os.environ)))", env={"N": "1"}
    )

    assert json.loads(output) == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",  # noqa: S108
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",  # noqa: S108
        "PWD": "/",
        "N": "1",
    }


def test_the_program_has_no_privilege_and_can_get_none(sandbox: BubblewrapSandbox) -> None:
    program = """
import os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(os.getuid(), os.getgid(), status["CapBnd"].strip(), status["NoNewPrivs"].strip(), os.uname().nodename)
print(os.system("unshare -Ur true 2>/dev/null") == 0)
"""
    _, output = run(sandbox, PYTHON, "-c", program)

    assert output == "1000 1000 0000000000000000 1 benchgate\nFalse\n"


def test_files_of_the_kernel_that_root_owns_cannot_be_opened(sandbox: BubblewrapSandbox) -> None:
    """The kernel treats a program as the owner of root's files if root starts the sandbox."""
    program = """
import os, stat
for name in os.listdir("/proc"):
    path = "/proc/" + name
    if not stat.S_ISREG(os.lstat(path).st_mode):
        continue
    for mode in (os.O_RDONLY, os.O_WRONLY):
        if mode == os.O_RDONLY and os.lstat(path).st_mode & 0o004:
            continue
        try:
            os.close(os.open(path, mode))
            print(path, mode)
        except OSError:
            pass
for top in ("/proc/sys", "/sys"):
    for directory, _, names in os.walk(top):
        for name in names:
            try:
                os.close(os.open(os.path.join(directory, name), os.O_WRONLY))
                print(directory, name)
            except OSError:
                pass
"""
    assert run(sandbox, PYTHON, "-c", program)[1] == ""


def test_the_program_inherits_no_descriptor(sandbox: BubblewrapSandbox) -> None:
    _, output = run(sandbox, PYTHON, "-c", "import os; print(sorted(os.listdir('/proc/self/fd'), key=int))")

    assert output == "['0', '1', '2', '3']\n"  # 3 is the directory being listed


def test_standard_input_is_empty(sandbox: BubblewrapSandbox) -> None:
    assert run(sandbox, PYTHON, "-c", "import sys; print(repr(sys.stdin.read()))")[1] == "''\n"


def test_only_writable_mounts_can_be_written(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    source, build = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    build.mkdir()
    program = """
for path in ("/src/x", "/build/x", "/x", "/usr/x", "/etc/x", "/dev/x", "/sys/x", "/proc/x", "/tmp/x"):
    try:
        open(path, "w").close()
        print(path)
    except OSError:
        pass
"""
    mounts = (Mount(source, "/src"), writable(build))
    _, output = run(sandbox, PYTHON, "-c", program, mounts=mounts)

    assert output.split() == ["/build/x", "/tmp/x"]  # noqa: S108
    assert list(source.iterdir()) == []
    assert [path.name for path in build.iterdir()] == ["x"]


def test_a_later_mount_covers_an_earlier_one(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    source, build = tmp_path / "source", tmp_path / "build"
    (source / "build").mkdir(parents=True)
    build.mkdir()
    (build / "made").write_text("here")
    mounts = (Mount(source, "/src"), Mount(build, "/src/build"))

    assert run(sandbox, "cat", "build/made", mounts=mounts, cwd="/src")[1] == "here"


def test_a_relative_program_is_found_from_the_working_directory(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho ran in $PWD\n")
    (tmp_path / "tool").chmod(0o755)
    ended, output = run(
        sandbox, "./tool", mounts=(Mount(tmp_path, "/build"),), cwd="/build", cpus=(0,), aslr=False
    )

    assert (ended.exit_code, output) == (0, "ran in /build\n")


def test_files_of_a_program_can_be_removed(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    build = tmp_path / "build"
    build.mkdir()
    program = """
import os
os.makedirs("closed/inner")
open("closed/inner/file", "w").close()
os.chmod("closed/inner", 0)
os.chmod("closed", 0)
os.symlink("/etc", "link")
os.makedirs("deep")
os.chdir("deep")
for _ in range(3000):
    os.mkdir("d")
    os.chdir("d")
"""
    ended, output = run(sandbox, PYTHON, "-c", program, mounts=(writable(build),), cwd="/build")
    assert ended.is_success, output
    assert {path.lstat().st_uid for path in build.iterdir()} == {os.geteuid()}

    remove_tree(build)

    assert not build.exists()


def test_another_user_gets_the_same_sandbox_and_can_clean_up(open_directory: Path) -> None:
    def act() -> None:
        sandbox = BubblewrapSandbox()
        build = open_directory / "build"
        build.mkdir()
        program = "mkdir -p closed && touch closed/x && chmod 0 closed && id -u && ls /sys/class/net"
        ended, output = run(sandbox, "sh", "-c", program, mounts=(writable(build),), cwd="/build")
        assert ended.exit_code == 2, output  # ls: nothing of the kernel's network is there
        assert output.startswith("1000\n"), output
        remove_tree(build)
        assert not build.exists()

    assert as_other_user(act) == 0


def test_files_left_in_out_have_no_special_rights(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """The program's user is the worker's on the host, so such a program would run as the worker."""
    script = """
mkdir -p /out/deep && cp /bin/true /out/results && cp /bin/true /out/deep/program
ln -s /usr/bin/true /out/link
chmod 6755 /out/results /out/deep/program && chmod g+s /out/deep && chmod 2700 /out
"""
    ended, output = run(sandbox, "sh", "-c", script, mounts=(writable(tmp_path, "/out"),))

    assert ended.is_success, output
    left = [tmp_path, *tmp_path.rglob("*")]
    assert len(left) == 5
    assert not [path for path in left if path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)]
    assert stat.S_IMODE((tmp_path / "results").stat().st_mode) == 0o755
