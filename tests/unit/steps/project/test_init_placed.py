"""The downloads of a project without FetchContent, in directories as CMake and git leave them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.project.starter.fetched import Download, Fetched
from service.steps.project.init_inquiry import Inquiry
from service.steps.project.init_placed import find_clones, find_files, trace_file
from tests.support.project.fake_git import COMMIT, REMOTE, FakeGit

if TYPE_CHECKING:
    from pathlib import Path

URL: Final = "https://example.org/releases/1.2/tool.cmake"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    directory = tmp_path / "scratch" / "plain"
    directory.mkdir(parents=True)
    return directory


def inquiry_of(build: Path, git: FakeGit) -> Inquiry:
    return Inquiry(git, build.parent.parent / "sources", build.parent, git)


def traced(build: Path, git: FakeGit, path: Path, url: str = URL) -> tuple[Fetched, ...]:
    """Find the files after a configure run that downloaded one."""
    inquiry = inquiry_of(build, git)
    call = {"args": ["DOWNLOAD", url, str(path)], "cmd": "file"}
    trace_file(inquiry, build).write_text(f"{json.dumps(call)}\n")
    return find_files(inquiry, build)


def write(path: Path, content: bytes = b"content") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_file_below_the_build_directory_is_pinned_with_its_place(build: Path) -> None:
    git = FakeGit()
    digest = hashlib.sha256(b"content").hexdigest()

    found = traced(build, git, write(build / "cmake" / "tool_1.2.cmake"))

    assert found == (Fetched("tool", Download(URL), digest, "build/cmake/tool_1.2.cmake"),)
    assert git.notes == []


def test_a_file_among_the_sources_is_pinned_with_its_place(build: Path) -> None:
    (found,) = traced(build, FakeGit(), write(build.parent.parent / "sources" / "data" / "x.txt"))
    assert found.place == "data/x.txt"


def test_the_files_of_all_configure_runs_are_found_once(build: Path) -> None:
    path = write(build / "tool.cmake")
    assert traced(build, FakeGit(), path) == traced(build, FakeGit(), path)


def test_a_download_that_failed_and_may_fail_is_left_out(build: Path) -> None:
    git = FakeGit()
    assert traced(build, git, write(build / "tool.cmake", b"")) == ()
    assert git.notes == []


def test_a_download_that_cannot_be_put_back_is_named(build: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("a"))
    git = FakeGit()

    found = (
        *traced(build, git, build / "gone.zip"),
        *traced(build, git, write(build / "x.tar.gz", archive.getvalue())),
        *traced(build, git, write(build.parent.parent / "elsewhere")),
        *traced(build, git, write(build / "a: b")),
        *traced(build, git, write(build / "_deps" / "lib-src" / "x.txt")),
    )

    assert found == ()
    reasons = {note.removeprefix(f"not pinned: {URL}, because ") for note in git.notes}
    assert reasons == {
        "the project removes the file",
        "the project unpacks it by itself",
        "its place or name is unusual",
        "it belongs to another download, which no build can write to",
    }


def test_a_repository_that_the_build_cloned_is_pinned_with_its_place(build: Path) -> None:
    (build / "test" / "data" / ".git").mkdir(parents=True)

    (found,) = find_clones(inquiry_of(build, FakeGit()), build)

    assert found == Fetched("data", Download(git=REMOTE), COMMIT, "build/test/data")


def test_a_file_in_a_repository_that_was_cloned_is_not_put_there(build: Path) -> None:
    """The directory above it would keep the link to the repository away."""
    git = FakeGit()
    (build / "data" / ".git").mkdir(parents=True)

    assert traced(build, git, write(build / "data" / "more" / "x.txt")) == ()
    assert git.notes == [
        f"not pinned: {URL}, because it belongs to another download, which no build can write to"
    ]


@pytest.mark.parametrize("place", ["_deps/x-src", "x-prefix/src/x", "data/.git/modules/x"])
def test_repositories_of_fetch_content_and_external_projects_and_submodules_are_left_out(
    build: Path, place: str
) -> None:
    (build / "data" / ".git").mkdir(parents=True)
    (build / place / ".git").mkdir(parents=True)

    assert [each.place for each in find_clones(inquiry_of(build, FakeGit()), build)] == ["build/data"]


def test_a_clone_without_an_origin_is_named(build: Path) -> None:
    (build / "data" / ".git").mkdir(parents=True)
    git = FakeGit(exit_code=1)

    assert find_clones(inquiry_of(build, git), build) == ()
    assert git.notes == ["not pinned: the repository in data"]
