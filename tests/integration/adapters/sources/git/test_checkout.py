"""A checkout is a private directory that is always removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from service.adapters.sources.git.command import Until, run_git
from service.adapters.sources.git.mirror import GitSource
from service.adapters.system.locking import locked
from service.domain.values.errors import BenchgateError, Cancelled
from tests.integration.adapters.sources.git.git_repository import Repository

pytestmark = pytest.mark.integration

PROJECT = "kv_engine"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def source(tmp_path: Path, repository: Repository) -> GitSource:
    return GitSource(tmp_path / "root", lambda _: str(repository.path))


def worktrees(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "root/worktrees").iterdir() if path.is_dir()]


def test_a_checkout_has_the_files_and_is_removed_afterwards(
    source: GitSource, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit({"a/b.txt": b"x", "out": Path("/etc/passwd"), "in": Path("a/b.txt")})
    source.fetch(PROJECT, commit)
    with source.checkout(PROJECT, commit) as directory:
        assert (directory / "a/b.txt").read_text() == "x"
        assert (directory / "out").readlink() == Path("/etc/passwd")
        assert (directory / "in").read_text() == "x"
    assert not worktrees(tmp_path)


def test_a_checkout_that_waits_for_another_process_can_be_ended(
    source: GitSource, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit({"x": b"x"})
    source.fetch(PROJECT, commit)
    (mirror,) = (tmp_path / "root/mirrors").glob("*.git")

    def cancel() -> None:
        raise Cancelled("not needed")

    with locked(mirror, 1.0), pytest.raises(Cancelled), source.checkout(PROJECT, commit, watch=cancel):
        pass
    assert not worktrees(tmp_path)


def test_a_git_that_writes_nothing_can_be_ended(tmp_path: Path) -> None:
    looks = []

    def cancel() -> None:
        looks.append("look")
        if len(looks) > 1:
            raise Cancelled("not needed")

    with pytest.raises(Cancelled):
        run_git(tmp_path, ("-c", "alias.wait=!sleep 60", "wait"), until=Until(watch=cancel))


def test_checkouts_of_one_revision_are_separate(source: GitSource, repository: Repository) -> None:
    commit = repository.commit({"x": b"x"})
    source.fetch(PROJECT, commit)
    with source.checkout(PROJECT, commit) as one, source.checkout(PROJECT, commit) as other:
        (one / "x").write_text("changed")
        assert (other / "x").read_text() == "x"


def test_a_checkout_names_no_path_of_the_host(
    source: GitSource, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit({"x": b"x"})
    source.fetch(PROJECT, commit)
    with source.checkout(PROJECT, commit) as one, source.checkout(PROJECT, commit) as other:
        assert [path.name for place in (one, other) for path in place.iterdir()] == ["x", "x"]
    with source.checkout(PROJECT, commit):
        (mirror,) = (tmp_path / "root/mirrors").glob("*.git")
        assert len(list((mirror / "worktrees").iterdir())) == 1


def test_a_modified_checkout_is_removed_afterwards(
    source: GitSource, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit({"x": b"x"})
    source.fetch(PROJECT, commit)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").touch()
    with source.checkout(PROJECT, commit) as directory:
        (directory / ".git").write_text(f"gitdir: {outside}\n")
        (directory / "link").symlink_to(outside)
        (directory / "locked").mkdir()
        (directory / "locked/x").touch()
        (directory / "locked").chmod(0)
        os.mkfifo(directory / "fifo")
    assert not worktrees(tmp_path)
    assert (outside / "mine").exists()
    with source.checkout(PROJECT, commit) as directory:
        assert (directory / "x").read_text() == "x"


def test_a_checkout_is_removed_after_an_error(
    source: GitSource, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit({"x": b"x"})
    source.fetch(PROJECT, commit)
    with pytest.raises(ZeroDivisionError), source.checkout(PROJECT, commit):
        raise ZeroDivisionError
    assert not worktrees(tmp_path)


HOLDER = """
import pathlib, sys
from service.adapters.sources.git.mirror import GitSource
root, remote, commit = sys.argv[1:]
with GitSource(pathlib.Path(root), lambda _: remote).checkout("kv_engine", commit) as directory:
    print(directory, flush=True)
    sys.stdin.read()
"""


def test_only_checkouts_of_dead_processes_are_removed_at_start(
    source: GitSource, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit({"x": b"x"})
    source.fetch(PROJECT, commit)
    argv = [sys.executable, "-c", HOLDER, str(tmp_path / "root"), str(repository.path), commit]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().strip())
        again = GitSource(tmp_path / "root", lambda _: str(repository.path))
        assert (held / "x").exists()
        holder.kill()
    assert held.exists()
    again = GitSource(tmp_path / "root", lambda _: str(repository.path))
    assert not worktrees(tmp_path)
    with again.checkout(PROJECT, commit):
        (mirror,) = (tmp_path / "root/mirrors").glob("*.git")
        assert len(list((mirror / "worktrees").iterdir())) == 1


def test_processes_fetch_and_check_out_at_once(tmp_path: Path, repository: Repository) -> None:
    commits = [repository.commit({"x": str(n).encode()}, ref=f"refs/changes/01/1/{n}") for n in range(1, 5)]
    program = """
import pathlib, sys
from service.adapters.sources.git.mirror import GitSource
root, remote, *commits = sys.argv[1:]
source = GitSource(pathlib.Path(root), lambda _: remote)
for number, commit in enumerate(commits, 1):
    source.fetch("kv_engine", commit, f"refs/changes/01/1/{number}")
    with source.checkout("kv_engine", commit) as directory:
        assert (directory / "x").read_text() == str(number)
"""
    argv = [sys.executable, "-c", program, str(tmp_path / "root"), str(repository.path), *commits]
    processes = [subprocess.Popen(argv) for _ in range(3)]
    assert [process.wait(120) for process in processes] == [0] * 3
    assert not worktrees(tmp_path)


def test_a_tree_that_names_gits_own_directory_is_not_checked_out(
    source: GitSource, repository: Repository, tmp_path: Path
) -> None:
    blob = repository.git("hash-object", "-w", "--stdin", given=b"[core]\nfsmonitor = touch ran\n").strip()
    inner = repository.git("mktree", given=f"100644 blob {blob}\tconfig\n".encode()).strip()
    tree = repository.git("mktree", given=f"040000 tree {inner}\t.git\n".encode()).strip()
    commit = repository.git("commit-tree", tree, given=b"Evil\n").strip()
    repository.git("update-ref", "refs/heads/master", commit)
    source.fetch(PROJECT, commit)
    with pytest.raises(BenchgateError), source.checkout(PROJECT, commit):
        pass
    assert not worktrees(tmp_path)
