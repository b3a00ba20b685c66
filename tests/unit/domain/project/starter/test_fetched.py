"""The directories in which FetchContent of CMake 3.25.1 downloads, recorded; paths and hosts are replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import yaml

from service.domain.project.project_file import parse_project_file, problems_of
from service.domain.project.starter.fetched import (
    Download,
    Fetched,
    dependencies_lines,
    download_of,
    fetched_from,
    proper_name,
)
from service.domain.project.starter_file import BuildSystem, ProjectFacts, starter_file

SAMPLES: Final = Path(__file__).parents[4] / "samples" / "cmake_api"
COMMIT: Final = "79fa7f1c676ff90d516779eb49f29e5f02dd8b23"
GIT: Final = Fetched("benchmark", Download(git="https://example.org/team/benchmark.git"), COMMIT)
ARCHIVE: Final = Fetched("fmt", Download(url="https://example.net/fmt-1.2.zip"), "a" * 64)


def read(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def test_a_repository_is_read_with_its_directory() -> None:
    expected = Download(
        git="https://example.org/team/benchmark.git", place="/home/dev/build/_deps/benchmark-src"
    )
    assert download_of(read("populate_git.txt")) == expected


def test_an_archive_is_read_with_its_directory() -> None:
    expected = Download(url="https://example.org/fmt-1.2.zip", place="/home/dev/build/_deps/fmt-src")
    assert download_of(read("populate_url.txt")) == expected


def test_the_first_of_several_urls_and_a_patch_are_noticed() -> None:
    text = read("populate_url.txt").replace(
        '"URL_HASH"', '"https://example.net/mirror.zip" "PATCH_COMMAND" "sed" "URL_HASH"'
    )
    download = download_of(text)
    assert download is not None
    assert (download.url, download.is_patched) == ("https://example.org/fmt-1.2.zip", True)


@pytest.mark.parametrize("text", ["", 'ExternalProject_Add(x-populate\n "SVN_REPOSITORY" "x"\n'])
def test_another_way_of_downloading_is_none(text: str) -> None:
    assert download_of(text) is None


def test_cpm_names_its_packages_in_their_own_capitals() -> None:
    assert proper_name("googletest", "fmt;GoogleTest") == "GoogleTest"
    assert proper_name("googletest", "") == "googletest"


def written(*fetched: Fetched) -> str:
    return "".join(f"{line}\n" for line in dependencies_lines(fetched))


def test_repositories_and_archives_are_pinned() -> None:
    assert yaml.safe_load(written(GIT, ARCHIVE)) == {
        "dependencies": {
            "benchmark": {"git": "https://example.org/team/benchmark.git", "commit": COMMIT},
            "fmt": {"url": "https://example.net/fmt-1.2.zip", "sha256": "a" * 64},
        }
    }


@pytest.mark.parametrize(
    "git",
    [
        *("git@example.org:team/x.git", "http://example.org/x.git", "https://me:secret@example.org/x.git"),
        *(
            "https://example.org/../x.git",
            "../x.git",
            "https://example.org/x.git # y",
            "https://a.org/x\n  b: 1",
        ),
    ],
)
def test_a_source_that_no_machine_may_fetch_is_marked_and_not_repeated(git: str) -> None:
    text = written(Fetched("x", Download(git=git), COMMIT), GIT)

    assert "  # EDIT: x has no https:// URL here, so machines cannot fetch it\n" in text
    assert git not in text
    assert list(yaml.safe_load(text)["dependencies"]) == ["benchmark"]


def test_a_patched_download_is_marked() -> None:
    text = written(Fetched("x", Download(git="/srv/x", is_patched=True), COMMIT))

    assert text.splitlines()[1:3] == [
        "  x:   # EDIT: its PATCH_COMMAND does not run",
        "    git: file:///srv/x",
    ]


def test_without_downloads_there_is_no_key() -> None:
    assert written() == ""


def test_the_sources_to_allow_are_hosts_and_directories() -> None:
    local = Fetched("x", Download(git="/srv/mirror/x"), COMMIT)
    assert fetched_from((GIT, GIT, ARCHIVE, local)) == ("example.org", "example.net", "file:///srv/mirror/")


@pytest.mark.parametrize("fetched", [(GIT, ARCHIVE), (Fetched("x", Download(git="git@host:x"), COMMIT),)])
def test_the_project_file_accepts_what_is_written(fetched: tuple[Fetched, ...]) -> None:
    text = starter_file(ProjectFacts(BuildSystem.CMAKE, dependencies=fetched, is_tried=True))

    assert problems_of(text) == ()
    (job,) = parse_project_file(text).jobs
    pins = [each.commit or each.sha256 for each in job.benchmark.build.dependencies.values()]
    assert pins == [each.pin for each in fetched if each in {GIT, ARCHIVE}]
