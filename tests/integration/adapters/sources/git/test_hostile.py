"""No name, remote, repository or user setting can start a program or read a file of the host."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.git.mirror import GitSource
from service.domain.values.errors import BenchgateError, NotFound, Transient
from tests.integration.adapters.sources.git.git_repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

PROJECT = "kv_engine"
NOBODY = 65534
HOSTILE_REFS = [
    "--upload-pack=touch x",
    "-h",
    "",
    "HEAD",
    "master",
    "refs/heads/",
    "refs/heads/--upload-pack=x",
    "refs/heads/-x",
    "refs/heads/a b",
    "refs/heads/a:refs/heads/b",
    "refs/heads/*",
    "refs/heads/a..b",
    "refs/heads/../../x",
    "refs/heads/a.lock",
    "refs/heads/a\n",
    "refs/heads/@{-1}",
    "refs/changes/1/1/1",
    "refs/changes/01/1/1\n",
    "refs/changes/01/1/meta/x",
    "refs/worktree/x",
    "refs/benchgate/commits/x",
    "^" + "a" * 40,
    "a" * 39,
    "A" * 40,
    "a" * 40 + "\n",
    "a" * 40 + "^{/x}",
    "ext::sh -c touch% x",
]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def source(tmp_path: Path, repository: Repository) -> GitSource:
    return GitSource(tmp_path / "root", lambda _: str(repository.path))


@pytest.mark.parametrize("ref", HOSTILE_REFS)
def test_a_hostile_ref_is_refused(
    source: GitSource, repository: Repository, tmp_path: Path, ref: str
) -> None:
    repository.commit({"x": b"x"})
    source.fetch(PROJECT, "refs/heads/master")
    with pytest.raises(NotFound):
        source.fetch(PROJECT, ref)
    with pytest.raises(NotFound):
        source.tree(PROJECT, ref)
    assert not list(tmp_path.rglob("x"))


@pytest.mark.parametrize(
    "project", ["", "-x", "--upload-pack=x", "../x", "a/../b", "/a", "a/", "a//b", "a\n", "a b", "a" * 201]
)
def test_a_hostile_project_name_is_refused(source: GitSource, project: str) -> None:
    with pytest.raises(NotFound):
        source.fetch(project, "refs/heads/master")


@pytest.mark.parametrize("remote", ["--upload-pack=touch x", "ext::sh -c touch% x", "fd::0", "x::y"])
def test_a_remote_that_starts_programs_is_refused(tmp_path: Path, remote: str) -> None:
    source = GitSource(tmp_path / "root", lambda _: remote)
    with pytest.raises(BenchgateError):
        source.fetch(PROJECT, "refs/heads/master")
    assert not list(tmp_path.rglob("x"))


def test_a_missing_repository_is_not_found(tmp_path: Path) -> None:
    source = GitSource(tmp_path / "root", lambda _: str(tmp_path / "missing"))
    with pytest.raises(NotFound, match="does not appear to be a git repository"):
        source.fetch(PROJECT, "refs/heads/master")


def test_a_remote_that_refuses_is_transient_and_the_error_has_no_password(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    source = GitSource(tmp_path / "root", lambda _: f"http://bot:hunter2@127.0.0.1:{port}/x")
    with pytest.raises(Transient) as refused:
        source.fetch(PROJECT, "refs/heads/master")
    assert "hunter2" not in str(refused.value)


def test_a_remote_that_never_answers_times_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        remote = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        source = GitSource(tmp_path / "root", lambda _: remote, fetch_seconds=0.5)
        with pytest.raises(Transient, match="git fetch took longer"):
            source.fetch(PROJECT, "refs/heads/master")


def test_a_mirror_in_use_is_transient(tmp_path: Path, repository: Repository) -> None:
    """One fetch hangs on a silent remote; another one of the same project does not wait forever."""
    repository.commit({"x": b"x"})
    with socket.create_server(("127.0.0.1", 0)) as server:
        remote = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        silent = GitSource(tmp_path / "root", lambda _: remote, fetch_seconds=5.0)

        def hang() -> None:
            with pytest.raises(Transient):
                silent.fetch(PROJECT, "refs/heads/master")

        thread = threading.Thread(target=hang)
        thread.start()
        connection, _ = server.accept()
        impatient = GitSource(tmp_path / "root", lambda _: str(repository.path), fetch_seconds=0.2)
        with pytest.raises(Transient, match="in use"):
            impatient.fetch(PROJECT, "refs/heads/master")
        connection.close()
        thread.join()


def test_a_repository_of_another_user_is_read(source: GitSource, repository: Repository) -> None:
    commit = repository.commit({"x": b"x"})
    if os.geteuid() == 0:  # nobody else can give files away
        subprocess.run(["chown", "-R", str(NOBODY), str(repository.path)], check=True)
    source.fetch(PROJECT, commit)
    assert source.read(PROJECT, commit, "x") == "x"


def test_a_lock_of_a_killed_git_is_removed(source: GitSource, repository: Repository, tmp_path: Path) -> None:
    repository.commit({"x": b"x"}, ref="refs/changes/01/1/1")
    source.fetch(PROJECT, "refs/changes/01/1/1")
    (kept,) = (tmp_path / "root/mirrors").glob("*.git/refs/benchgate/refs/*")
    kept.with_name(kept.name + ".lock").touch()
    repository.commit({"x": b"y"}, ref="refs/changes/01/1/1")
    with pytest.raises(Transient):
        source.fetch(PROJECT, "refs/changes/01/1/1")
    source.fetch(PROJECT, "refs/changes/01/1/1")


def test_no_setting_of_the_user_is_used(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    hook = home / "hooks/post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[core]\nhooksPath = {hook.parent}\n[filter "lfs"]\nsmudge = touch {tmp_path}/ran; cat\n'
        f"required = true\n[diff]\nrenames = true\n"
    )
    (home / ".config/git/attributes").write_text("* filter=lfs\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.hooksPath'='{hook.parent}'")
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {tmp_path}/ran")
    source = GitSource(tmp_path / "root", lambda _: str(repository.path))
    with monkeypatch.context() as plain:
        plain.delenv("GIT_DIR")
        plain.delenv("GIT_CONFIG_PARAMETERS")
        commit = repository.commit({".gitattributes": b"* filter=lfs\n", "x": b"version lfs\n"})
    source.fetch(PROJECT, commit)
    with source.checkout(PROJECT, commit) as directory:
        assert (directory / "x").read_text() == "version lfs\n"
    assert not (tmp_path / "ran").exists()


def test_a_hook_of_the_users_repository_does_not_run(
    source: GitSource, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit({"x": b"x"})
    for name in ("post-checkout", "reference-transaction", "post-upload-pack"):
        hook = repository.path / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
    repository.git("config", "uploadpack.packObjectsHook", f"touch {tmp_path}/ran; false")
    source.fetch(PROJECT, commit)
    with source.checkout(PROJECT, commit):
        pass
    assert not (tmp_path / "ran").exists()


def test_a_git_that_outlives_its_killed_worker_keeps_the_mirror(
    tmp_path: Path, repository: Repository
) -> None:
    """Otherwise its locks would look abandoned."""
    commit = repository.commit({"x": b"x"})
    program = """
import pathlib, sys
from service.adapters.sources.git.mirror import GitSource
GitSource(pathlib.Path(sys.argv[1]), lambda _: sys.argv[2]).fetch("kv_engine", "refs/heads/master")
"""
    impatient = GitSource(tmp_path / "root", lambda _: str(repository.path), fetch_seconds=0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        remote = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        argv = [sys.executable, "-c", program, str(tmp_path / "root"), remote]
        with subprocess.Popen(argv) as worker:
            connection, _ = server.accept()
            worker.kill()
        with pytest.raises(Transient, match="in use"):
            impatient.fetch(PROJECT, commit)
        connection.close()
    patient = GitSource(tmp_path / "root", lambda _: str(repository.path), fetch_seconds=30)
    started = time.monotonic()
    patient.fetch(PROJECT, commit)
    assert time.monotonic() - started < 30
