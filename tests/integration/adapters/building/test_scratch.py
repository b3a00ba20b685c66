"""A worker's scratch space is its own while it lives, and is removed after its death."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.scratch import DirectoryScratch
from tests.integration.adapters.building.sandbox.sandboxed import in_child
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

DEEP = 3000


def start_worker(root: Path) -> int:
    """Start a process that holds a directory with a file, and waits."""

    def work() -> None:
        with DirectoryScratch(root).directory() as directory:
            (directory / "held").touch()
            signal.pause()

    before = len(held_in(root))
    worker = in_child(work)
    assert eventually(lambda: len(held_in(root)) == before + 1)
    return worker


def held_in(root: Path) -> list[Path]:
    return list(root.glob("*/*/held"))


def kill(worker: int) -> None:
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)


def test_the_next_worker_removes_the_directories_of_a_killed_one_only(tmp_path: Path) -> None:
    killed, living = start_worker(tmp_path / "scratch"), start_worker(tmp_path / "scratch")
    try:
        kill(killed)
        assert len(held_in(tmp_path / "scratch")) == 2

        DirectoryScratch(tmp_path / "scratch")

        assert [path.parents[1].name.split("-")[1] for path in held_in(tmp_path / "scratch")] == [str(living)]
    finally:
        kill(living)


def test_directories_of_an_earlier_version_are_removed_after_a_day(tmp_path: Path) -> None:
    """It created them directly in the root, without a lock, and may still run during an upgrade."""
    now = time.time()
    for name, hours in (("tmpold", 25), ("tmpnew", 23)):
        (tmp_path / "scratch" / name / "out").mkdir(parents=True)
        os.utime(tmp_path / "scratch" / name, (now, now - hours * 3600))
    DirectoryScratch(tmp_path / "scratch")

    assert {path.name for path in (tmp_path / "scratch").glob("tmp*")} == {"tmpnew"}


def test_a_tree_deeper_than_python_can_recurse_is_removed(tmp_path: Path) -> None:
    with DirectoryScratch(tmp_path / "scratch").directory() as directory:
        inside = os.open(directory, os.O_RDONLY)
        for _ in range(DEEP):
            os.mkdir("d", dir_fd=inside)
            deeper = os.open("d", os.O_RDONLY, dir_fd=inside)
            os.close(inside)
            inside = deeper
        os.close(inside)

    assert not directory.exists()
