"""Commit the state of a working tree: nothing else in the person's repository changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources import repository
from service.adapters.sources.git.mirror import GitSource
from service.adapters.sources.repository import changed_submodules, commit_sources, commit_working_tree
from service.domain.values.errors import BadInput
from tests.support.project.tiny_project import TinyProject

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration


@pytest.fixture
def project(tmp_path: Path) -> TinyProject:
    return TinyProject(tmp_path / "tiny")


def changes(project: TinyProject, commit: str) -> list[str]:
    return project.git("diff", "--name-status", "HEAD", commit).splitlines()


def test_the_commit_has_changed_deleted_and_untracked_files_but_no_ignored_ones(project: TinyProject) -> None:
    project.commit({".gitignore": "*.o\n"})
    (project.path / "time.txt").write_text("130")
    (project.path / "program.sh").unlink()
    (project.path / "sources").mkdir()
    (project.path / "sources" / "new.txt").write_text("new")
    (project.path / "made.o").write_text("ignored")

    commit = commit_working_tree(project.path)

    assert changes(project, commit) == ["D\tprogram.sh", "A\tsources/new.txt", "M\ttime.txt"]
    assert project.git("rev-parse", f"{commit}^") == project.git("rev-parse", "HEAD")


def test_a_staged_file_has_its_content_in_the_working_tree(project: TinyProject) -> None:
    (project.path / "time.txt").write_text("110")
    project.git("add", "time.txt")
    (project.path / "time.txt").write_text("120")

    assert project.git("show", f"{commit_working_tree(project.path)}:time.txt") == "120"


def test_index_branches_and_stashes_stay_as_they_are(project: TinyProject) -> None:
    (project.path / "time.txt").write_text("110")
    project.git("stash")
    (project.path / "time.txt").write_text("120")
    project.git("add", "time.txt")
    (project.path / "new.txt").write_text("new")

    def state() -> tuple[bytes, str, str, str]:
        seen = [project.git(*words) for words in (("status", "--short"), ("stash", "list"), ("show-ref",))]
        return ((project.path / ".git" / "index").read_bytes(), seen[0], seen[1], seen[2])

    before = state()
    commit_working_tree(project.path)

    assert state() == before


def test_one_state_is_one_commit_at_any_time(project: TinyProject, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.path / "new.txt").write_text("new")
    commits = set()
    for second in (1, 2):
        for who in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{who}_DATE", f"@{second} +0000")
        commits.add(commit_working_tree(project.path))

    assert len(commits) == 1


def test_a_file_that_changed_in_the_moment_of_the_index_is_seen(project: TinyProject) -> None:
    """Its times and size are those that the index has, so that git must read it."""
    index, file = project.path / ".git" / "index", project.path / "time.txt"
    project.git("config", "core.trustctime", "false")
    moment = (10**18, 10**18)
    for text in ("999", "998"):
        file.write_text(text)
        os.utime(file, ns=moment)
        if text == "999":
            project.git("add", "time.txt")
    os.utime(index, ns=moment)

    assert project.git("show", f"{commit_working_tree(project.path)}:time.txt") == "998"


def test_a_mirror_can_fetch_it(project: TinyProject, tmp_path: Path) -> None:
    """No branch leads to it."""
    (project.path / "time.txt").write_text("130")
    commit = commit_working_tree(project.path)
    source = GitSource(tmp_path / "root", lambda _: str(project.path))
    source.fetch("tiny", commit)

    assert source.read("tiny", commit, "time.txt") == "130"


def test_a_linked_working_tree_has_its_own_state(project: TinyProject, tmp_path: Path) -> None:
    other = tmp_path / "other"
    project.git("worktree", "add", "-q", str(other))
    (other / "time.txt").write_text("130")
    (project.path / "time.txt").write_text("70")

    assert project.git("show", f"{commit_working_tree(other)}:time.txt") == "130"


def test_many_untracked_bytes_are_refused_with_their_place(
    project: TinyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most likely they are a build directory that nobody ignores."""
    monkeypatch.setattr(repository, "MOST_UNTRACKED_BYTES", 1 << 20)
    (project.path / "out").mkdir()
    (project.path / "out" / "huge").write_bytes(b"x" * (3 << 20))
    with pytest.raises(
        BadInput, match=r"untracked files have 3 MiB, at most 1 .* such as out/, in .gitignore"
    ):
        commit_working_tree(project.path)


def test_a_bare_repository_has_no_working_tree(project: TinyProject, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    project.git("clone", "-q", "--bare", str(project.path), str(bare))
    with pytest.raises(
        BadInput, match="git cannot read the working tree: this operation must be run in a work"
    ):
        commit_working_tree(bare)


@pytest.mark.parametrize("words", [("init", "-q"), ("worktree", "add", "-q", "--detach")])
def test_a_nested_working_tree_is_refused_because_its_files_would_be_missing(
    project: TinyProject, words: tuple[str, ...]
) -> None:
    project.git(*words, "nested")
    with pytest.raises(BadInput, match=r"nested/ is a working tree of its own, .* name it in .gitignore"):
        commit_working_tree(project.path)
    project.commit({".gitignore": "nested/\n"})
    assert changes(project, commit_working_tree(project.path)) == []


def test_submodules_with_uncommitted_changes_are_named(project: TinyProject, tmp_path: Path) -> None:
    library = TinyProject(tmp_path / "library")
    for name in ("changed", "more files", "clean"):
        project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.path), name)
    project.git("commit", "-qm", "submodules")
    (project.path / "changed" / "time.txt").write_text("130")
    (project.path / "more files" / "new.txt").write_text("new")
    index = (project.path / ".git" / "index").read_bytes()

    assert changed_submodules(project.path) == ("changed", "more files")
    assert (project.path / ".git" / "index").read_bytes() == index


def test_a_repository_without_a_commit_has_no_head(tmp_path: Path, project: TinyProject) -> None:
    project.git("init", "-q", str(tmp_path / "empty"))
    with pytest.raises(BadInput, match="there is no revision 'HEAD'"):
        commit_working_tree(tmp_path / "empty")


def test_sources_are_committed_without_a_commit_before_and_without_a_build_directory(
    tmp_path: Path, project: TinyProject
) -> None:
    top = tmp_path / "new"
    for name in ("a.cc", "build/CMakeCache.txt"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    project.git("init", "-q", str(top))
    project.git("init", "-q", str(top / "build" / "fetched"))

    commit = commit_sources(top)

    assert project.git("-C", str(top), "ls-tree", "-r", "--name-only", commit).splitlines() == ["a.cc"]


def test_a_build_directory_among_the_sources_stays_with_its_changes(project: TinyProject) -> None:
    (project.path / "build").mkdir()
    project.commit({"build/cmake.txt": "old"})
    (project.path / "build" / "cmake.txt").write_text("new")

    commit = commit_sources(project.path)

    assert project.git("show", f"{commit}:build/cmake.txt") == "new"
