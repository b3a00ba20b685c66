"""The downloads that a configure run left, in directories as FetchContent makes them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Completed
from service.domain.project.starter.cmake_reply import CacheEntry
from service.steps.local.init_fetched import find_fetched
from service.steps.local.init_inquiry import Inquiry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.building.sandbox_command import Command
    from service.domain.project.starter.fetched import Fetched
    from service.ports.building import ByteSink

SAMPLES: Final = Path(__file__).parents[3] / "samples" / "cmake_api"
COMMIT: Final = "79fa7f1c676ff90d516779eb49f29e5f02dd8b23"


@dataclass
class Git:
    """A runner of git that knows one commit."""

    exit_code: int = 0
    notes: list[str] = field(default_factory=list)
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def in_force(self) -> Mapping[str, str]:
        return {}

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        assert log is not None
        self.calls.append(command.argv)
        log.write(f"{COMMIT}\n".encode())
        return Completed(self.exit_code, 0.1)

    def say(self, text: str, done: float | None = None) -> None:
        pass

    def note(self, text: str) -> None:
        self.notes.append(text)


def populate(base: Path, name: str, sample: str) -> Path:
    directory = base / f"{name}-subbuild"
    directory.mkdir()
    (directory / "CMakeLists.txt").write_bytes((SAMPLES / sample).read_bytes())
    return directory


def find(base: Path, git: Git, **more: str) -> tuple[Fetched, ...]:
    cache = {"FETCHCONTENT_BASE_DIR": str(base), **more}
    return find_fetched(
        Inquiry(git, base, base, git), {name: CacheEntry("INTERNAL", value) for name, value in cache.items()}
    )


def test_a_repository_is_pinned_by_the_commit_of_its_directory(tmp_path: Path) -> None:
    populate(tmp_path, "benchmark", "populate_git.txt")
    git = Git()

    (fetched,) = find(tmp_path, git, CPM_PACKAGES="fmt;Benchmark")

    assert (fetched.name, fetched.pin) == ("Benchmark", COMMIT)
    assert git.calls == [("git", "-C", "/home/dev/build/_deps/benchmark-src", "rev-parse", "HEAD")]


def test_an_archive_is_pinned_by_the_file_that_was_downloaded(tmp_path: Path) -> None:
    kept = populate(tmp_path, "fmt", "populate_url.txt") / "fmt-populate-prefix" / "src"
    (kept / "fmt-populate-stamp").mkdir(parents=True)
    (kept / "fmt-1.2.zip").write_bytes(b"archive")

    (fetched,) = find(tmp_path, Git())

    assert (fetched.name, fetched.pin) == ("fmt", hashlib.sha256(b"archive").hexdigest())


def test_downloads_without_a_pin_are_named(tmp_path: Path) -> None:
    populate(tmp_path, "benchmark", "populate_git.txt")
    populate(tmp_path, "fmt", "populate_url.txt")
    git = Git(exit_code=128)

    assert find(tmp_path, git) == ()
    assert [note.split(",")[0] for note in git.notes] == ["not pinned: benchmark", "not pinned: fmt"]


def test_a_project_that_fetches_nothing_has_no_dependencies(tmp_path: Path) -> None:
    assert find_fetched(Inquiry(Git(), tmp_path, tmp_path, Git()), {}) == ()
