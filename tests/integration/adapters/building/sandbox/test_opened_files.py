"""Programs in the real sandbox, and which files the kernel says they opened."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.adapters.building import opened_files
from service.adapters.building.opened_files import LOST, observe
from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.domain.building.built_files import Opened
from service.domain.building.sandbox_command import Mount
from tests.integration.adapters.building.sandbox.sandboxed import PYTHON, run, writable

if TYPE_CHECKING:
    from service.ports.building import Sandbox

pytestmark = pytest.mark.integration

PROGRAM = {"build/bench"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A built tree; its program is a script that runs its arguments."""
    tree = tmp_path / "tree"
    (tree / "build").mkdir(parents=True)
    (tree / "data" / "inner").mkdir(parents=True)
    (tree / "data" / "keys.h").write_text("1 2 3")
    (tree / "data" / "other.h").write_text("4 5 6")
    (tree / "data" / "inner" / "page.md").write_text("text")
    (tree / "link.h").symlink_to("data/keys.h")
    (tree / "inside").symlink_to("data/inner")
    os.link(tree / "data" / "keys.h", tree / "second_name.h")
    for path, line in (("build/bench", 'exec "$@"'), ("data/step.inl", "exit 0")):
        (tree / path).write_text(f"#!/bin/sh\n{line}\n")
        (tree / path).chmod(0o755)
    return tree


@pytest.fixture(params=["sandboxed", "direct"])
def runner(request: pytest.FixtureRequest) -> Sandbox:
    return BubblewrapSandbox() if request.param == "sandboxed" else DirectRunner()


def launched(runner: Sandbox, tree: Path, *argv: str) -> Opened:
    """Launch the program as a benchmark is, and return what it opened."""
    mounts = (Mount(tree, "/src"), Mount(tree / "build", "/build"))
    with observe(tree) as opened:
        ended, output = run(runner, "build/bench", *argv, mounts=mounts, cwd="/src")
        assert ended.is_success, output
        return opened()


def python(line: str) -> tuple[str, ...]:
    return PYTHON, "-I", "-S", "-c", line


MAP = "import mmap; f = open('data/keys.h'); mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[0]"
UNSEEN = "import os; os.open('data/keys.h', os.O_RDONLY | os.O_NOATIME)"
FROM_DIRECTORY = """
import os
directory = os.open("data", os.O_PATH)
os.open("keys.h", os.O_RDONLY, dir_fd=directory)
"""
AGAIN = """
import os
place = os.open("data/keys.h", os.O_PATH)
os.open(f"/proc/self/fd/{place}", os.O_RDONLY)
"""
IN_A_CHILD = """
import os
if os.fork():
    os.wait()
else:
    os.setsid()
    open("data/keys.h")
"""


@pytest.mark.parametrize(
    ("argv", "paths"),
    [
        (("cat", "data/keys.h"), {"data/keys.h"}),
        (("cat", "link.h"), {"data/keys.h"}),
        (("cat", "inside/page.md"), {"data/inner/page.md"}),
        (("cat", "second_name.h"), {"second_name.h"}),
        (("cat", "data/keys.h", "data/other.h"), {"data/keys.h", "data/other.h"}),
        (python(MAP), {"data/keys.h"}),
        (python(UNSEEN), {"data/keys.h"}),
        (python(FROM_DIRECTORY), {"data/keys.h"}),
        (python(AGAIN), {"data/keys.h"}),
        (python(IN_A_CHILD), {"data/keys.h"}),
        (("data/step.inl",), {"data/step.inl"}),
        (("ls", "data"), {"data"}),
        (("ls", "."), {"."}),
        (("true",), set[str]()),
    ],
)
def test_the_kernel_reports_what_a_launch_opens(
    runner: Sandbox, tree: Path, argv: tuple[str, ...], paths: set[str]
) -> None:
    assert launched(runner, tree, *argv) == Opened(frozenset(PROGRAM | paths))


def test_a_path_of_the_build_mount_is_one_of_the_tree(tree: Path) -> None:
    (tree / "build" / "words").write_text("a b")

    opened = launched(BubblewrapSandbox(), tree, "cat", "/build/words")

    assert opened == Opened(frozenset(PROGRAM | {"build/words"}))


@pytest.mark.parametrize(
    "argv", [("stat", "data/keys.h"), ("test", "-e", "data/keys.h"), ("readlink", "link.h")]
)
def test_what_is_only_looked_up_is_not_opened(runner: Sandbox, tree: Path, argv: tuple[str, ...]) -> None:
    """This is the limit of what the kernel tells; decision 0017 says why it is accepted."""
    assert launched(runner, tree, *argv) == Opened(frozenset(PROGRAM))


def test_a_directory_of_results_mounted_over_the_tree_is_none_of_its_files(
    tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "result").touch()
    mounts = (Mount(tree, "/src"), writable(tmp_path / "out", "/src/data"))
    with observe(tree) as opened:
        ended, _ = run(BubblewrapSandbox(), "build/bench", "cat", "data/result", mounts=mounts, cwd="/src")

        assert ended.is_success
        assert opened() == Opened(frozenset(PROGRAM))


def test_each_call_returns_what_was_opened_since_the_last(tree: Path) -> None:
    with observe(tree) as opened:
        (tree / "data" / "keys.h").read_text()
        first = opened()
        (tree / "data" / "other.h").read_text()

        assert [first.paths, opened().paths, opened().paths] == [{"data/keys.h"}, {"data/other.h"}, set()]


def test_a_name_may_have_any_bytes(tree: Path) -> None:
    name = os.fsdecode(b"\xff name\n")
    (tree / name).write_text("x")
    with observe(tree) as opened:
        (tree / name).read_text()

        assert opened().paths == {name}


def test_lost_events_leave_everything_unknown(tree: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    with observe(tree) as opened:
        for _ in range(most // 2 + 1):
            os.close(os.open(tree / "data" / "keys.h", os.O_RDONLY))
            os.close(os.open(tree / "data" / "other.h", os.O_RDONLY))

        assert opened().unknown == LOST
        assert opened().unknown == LOST, "a launch after it may have lost events, too"


def test_removed_directories_leave_everything_unknown(tree: Path) -> None:
    with observe(tree) as opened:
        shutil.rmtree(tree / "data" / "inner")

        assert opened().unknown == LOST


def test_a_tree_that_cannot_be_observed_is_unknown(tmp_path: Path) -> None:
    with observe(tmp_path / "missing") as opened:
        assert opened() == Opened(unknown="No such file or directory")


def test_too_many_directories_leave_everything_unknown(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_files, "MAX_DIRECTORIES", 2)
    with observe(tree) as opened:
        (tree / "data" / "keys.h").read_text()

        assert opened() == Opened(unknown="the tree has more than 2 directories")


@pytest.mark.parametrize("limit", ["max_inotify_watches", "max_inotify_instances"])
def test_the_limit_of_the_kernel_that_is_too_low_is_named(tree: Path, limit: str) -> None:
    """In a user namespace of its own, so that nobody else meets the limit."""
    program = f"""
from pathlib import Path
from service.adapters.building.opened_files import observe
Path("/proc/sys/user/{limit}").write_text("0")
with observe(Path({str(tree)!r})) as opened:
    print(opened())
"""
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert limit.replace("max_inotify", "fs.inotify.max_user") in done.stdout
