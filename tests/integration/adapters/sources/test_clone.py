"""A developer's clone: where git keeps its submodules."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.repository import read_clone
from tests.integration.adapters.sources.git.git_repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def test_a_clone_has_one_directory_and_an_origin(repository: Repository) -> None:
    (repository.path / "below").mkdir()
    assert read_clone(repository.path / "below") == ((repository.path / ".git",), "")
    repository.git("remote", "add", "origin", "https://review.example.com/kv")
    assert read_clone(repository.path) == ((repository.path / ".git",), "https://review.example.com/kv")


def test_an_added_work_tree_has_a_directory_of_its_own(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit({"x": b"x"})
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "added"), commit)
    own = repository.path / ".git"
    assert read_clone(tmp_path / "added") == ((own / "worktrees/added", own), "")


def test_no_repository_has_none(tmp_path: Path) -> None:
    assert not os.environ.get("GIT_DIR")
    assert subprocess.run(
        ["git", "-C", str(tmp_path), "rev-parse"], check=False, capture_output=True
    ).returncode
    assert read_clone(tmp_path) == ((), "")
