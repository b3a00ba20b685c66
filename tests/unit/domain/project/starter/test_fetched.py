"""The directories in which FetchContent of CMake 3.25.1 downloads, recorded; paths and hosts are replaced."""

from __future__ import annotations

import re
from dataclasses import replace
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
    kept_places,
    placing_lines,
    proper_name,
    with_own_names,
)
from service.domain.project.starter.file import BuildSystem, ProjectFacts, starter_file

SAMPLES: Final = Path(__file__).parents[4] / "samples" / "cmake_api"
COMMIT: Final = "79fa7f1c676ff90d516779eb49f29e5f02dd8b23"
GIT: Final = Fetched("benchmark", Download(git="https://example.org/team/benchmark.git"), COMMIT)
ARCHIVE: Final = Fetched("fmt", Download(url="https://example.net/fmt-1.2.zip"), "a" * 64)


FILE: Final = Fetched(
    "tool", Download(url="https://example.org/1.2/tool.cmake"), "b" * 64, "build/cmake/tool_1.2.cmake"
)
CLONE: Final = Fetched("data", Download(git="https://example.org/data.git"), COMMIT, "build/data")


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


@pytest.mark.parametrize("name", ["libs/x.zip", "_x", "a: b", "x\njobs: 1"])
def test_a_name_that_no_dependency_can_have_is_marked_as_the_reason(name: str) -> None:
    text = written(Fetched(name, Download("https://example.org/x.zip"), "a" * 64), GIT)

    shown = re.sub(r"[/: \n]", "?", name)
    assert f"  # EDIT: {shown} cannot be the name of a dependency: let the build use another\n" in text
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


def test_what_has_a_place_is_put_there_and_kept_for_programs_if_it_is_a_directory() -> None:
    assert list(placing_lines((GIT, FILE, CLONE))) == [
        'mkdir -p build/cmake && cp "$BENCHGATE_DEPS/tool/tool.cmake" build/cmake/tool_1.2.cmake',
        'mkdir -p build && ln -sfn "$BENCHGATE_DEPS/data" build/data',
    ]
    assert kept_places((GIT, FILE, CLONE)) == ("data",)


def test_what_no_entry_can_name_is_not_put_anywhere() -> None:
    unusable = replace(CLONE, download=Download(git="git@example.org:data.git"))
    assert (list(placing_lines((unusable,))), kept_places((unusable,))) == ([], ())


def test_names_with_a_place_are_numbered_if_they_are_used() -> None:
    found = (replace(FILE, name="FMT"), GIT, ARCHIVE, replace(CLONE, name="fmt"))
    assert [each.name for each in with_own_names(found)] == ["benchmark", "fmt", "FMT-2", "fmt-3"]


def test_the_project_file_has_the_commands_that_put_dependencies_in_place() -> None:
    facts = ProjectFacts(BuildSystem.CMAKE, dependencies=(GIT, FILE, CLONE), is_tried=True, directory="bench")
    text = starter_file(facts)

    assert problems_of(text) == ()
    (job,) = parse_project_file(text).jobs
    build = job.benchmark.build
    *placing, configure = build.configure.splitlines()
    assert placing == [f"{line} &&" for line in placing_lines(facts.dependencies)]
    assert configure == "cmake -S bench -B build -DCMAKE_BUILD_TYPE=Release"
    assert build.keep == ("data",)


@pytest.mark.parametrize(
    ("path", "others"),
    [
        ("/team/x/archive/v1.zip", ("codeload.github.com",)),
        ("/team/x/releases/download/v1/x.zip", ("release-assets.githubusercontent.com",)),
        ("/team/x.zip", ()),
    ],
)
def test_the_host_to_which_github_redirects_a_download_is_allowed_too(
    path: str, others: tuple[str, ...]
) -> None:
    fetched = Fetched("x", Download(url=f"https://github.com{path}"), "a" * 64)
    assert fetched_from((fetched,)) == ("github.com", *others)
