"""The downloads that a configure run left, in directories as FetchContent makes them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.project.starter.cmake_reply import CacheEntry
from service.domain.project.starter.fetched import Download
from service.steps.project.init_fetched import find_fetched
from service.steps.project.init_inquiry import Inquiry
from tests.support.project.fake_git import COMMIT, FakeGit

if TYPE_CHECKING:
    from service.domain.project.starter.fetched import Fetched

SAMPLES: Final = Path(__file__).parents[3] / "samples" / "cmake_api"


def populate(base: Path, name: str, sample: str) -> Path:
    directory = base / f"{name}-subbuild"
    directory.mkdir()
    (directory / "CMakeLists.txt").write_bytes((SAMPLES / sample).read_bytes())
    return directory


def find(base: Path, git: FakeGit, **more: str) -> tuple[Fetched, ...]:
    cache = {"FETCHCONTENT_BASE_DIR": str(base), "CMAKE_CACHEFILE_DIR": str(base / "build"), **more}
    return find_fetched(
        Inquiry(git, base, base, git), {name: CacheEntry("INTERNAL", value) for name, value in cache.items()}
    )


def test_a_repository_is_pinned_by_the_commit_of_its_directory(tmp_path: Path) -> None:
    populate(tmp_path, "benchmark", "populate_git.txt")
    git = FakeGit()

    (fetched,) = find(tmp_path, git, CPM_PACKAGES="fmt;Benchmark")

    assert (fetched.name, fetched.pin) == ("Benchmark", COMMIT)
    assert git.calls == [
        ("git", "--git-dir", "/home/dev/build/_deps/benchmark-src/.git", "rev-parse", "HEAD")
    ]


def test_an_archive_is_pinned_by_the_file_that_was_downloaded(tmp_path: Path) -> None:
    kept = populate(tmp_path, "fmt", "populate_url.txt") / "fmt-populate-prefix" / "src"
    (kept / "fmt-populate-stamp").mkdir(parents=True)
    (kept / "fmt-1.2.zip").write_bytes(b"archive")

    (fetched,) = find(tmp_path, FakeGit())

    assert (fetched.name, fetched.pin) == ("fmt", hashlib.sha256(b"archive").hexdigest())


def stamp(base: Path, name: str, *samples: tuple[str, str]) -> None:
    directory = base / "build" / "CMakeFiles" / "fc-stamp" / name
    directory.mkdir(parents=True)
    for what, sample in samples:
        (directory / f"{name}-{what}.txt").write_bytes((SAMPLES / sample).read_bytes())


def test_a_repository_that_cmake_fetched_without_a_project_of_its_own_is_pinned(tmp_path: Path) -> None:
    """As CMake 3.30 does if the project asks for the behaviour of that version."""
    stamp(tmp_path, "benchmark", ("gitinfo", "stamp_git.txt"), ("patch-info", "stamp_no_patch.txt"))

    (fetched,) = find(tmp_path, FakeGit())

    place = "/home/dev/build/_deps/benchmark-src"
    assert fetched.download == Download(git="https://example.org/team/benchmark.git", place=place)
    assert (fetched.name, fetched.pin) == ("benchmark", COMMIT)


def test_an_archive_that_cmake_fetched_without_a_project_of_its_own_is_pinned(tmp_path: Path) -> None:
    stamp(tmp_path, "arch", ("urlinfo", "stamp_url.txt"), ("patch-info", "stamp_patch.txt"))
    (tmp_path / "arch-tmp").mkdir()
    (tmp_path / "arch-tmp" / "arch-1.tar.gz").write_bytes(b"archive")

    (fetched,) = find(tmp_path, FakeGit())

    assert (fetched.download.url, fetched.download.is_patched) == ("https://example.org/arch-1.tar.gz", True)
    assert fetched.pin == hashlib.sha256(b"archive").hexdigest()


def test_a_warning_of_git_is_no_part_of_the_pin(tmp_path: Path) -> None:
    """It would make the project file one that cannot be read."""
    populate(tmp_path, "benchmark", "populate_git.txt")

    (fetched,) = find(tmp_path, FakeGit(answer=f"warning: unable to access 'attributes'\n{COMMIT}"))

    assert fetched.pin == COMMIT


@pytest.mark.parametrize("scheme", ["file://", ""])
def test_an_archive_of_this_machine_is_pinned_where_it_is(tmp_path: Path, scheme: str) -> None:
    """CMake makes no copy of it."""
    archive = tmp_path / "mirror" / "fmt-1.2.zip"
    archive.parent.mkdir()
    archive.write_bytes(b"archive")
    populating = populate(tmp_path, "fmt", "populate_url.txt") / "CMakeLists.txt"
    text = populating.read_text()
    populating.write_text(text.replace("https://example.org/fmt-1.2.zip", f"{scheme}{archive}"))

    (fetched,) = find(tmp_path, FakeGit())

    assert fetched.pin == hashlib.sha256(b"archive").hexdigest()


def test_downloads_without_a_pin_are_named(tmp_path: Path) -> None:
    populate(tmp_path, "benchmark", "populate_git.txt")
    populate(tmp_path, "fmt", "populate_url.txt")
    stamp(tmp_path, "svn", ("svninfo", "stamp_url.txt"))
    git = FakeGit(exit_code=128)

    assert find(tmp_path, git) == ()
    names = [note.split(",")[0].removeprefix("not pinned: ") for note in git.notes]
    assert names == ["benchmark", "fmt", "svn"]


def test_a_project_that_fetches_nothing_has_no_dependencies(tmp_path: Path) -> None:
    assert find_fetched(Inquiry(FakeGit(), tmp_path, tmp_path, FakeGit()), {}) == ()
