"""Addresses in build files, and the same files with those of local mirrors."""

from __future__ import annotations

import pytest

from bench.real.addresses import BUILD_FILE, Archive, Replacements, archive_of, archives_in

OLD, NEW, OTHER = "a" * 64, "b" * 64, "c" * 64
PLACE = "example/hashes/archive/refs/tags/v1.8.4.tar.gz"
LOCAL = Replacements("file:///m/", {PLACE: NEW})


@pytest.mark.parametrize(
    ("place", "commit", "prefix", "form"),
    [
        (PLACE, "v1.8.4", "hashes-1.8.4/", "tar.gz"),
        ("example/hashes/archive/refs/heads/main.zip", "main", "hashes-main/", "zip"),
        (f"example/hashes/archive/{'1f' * 20}.zip", "1f" * 20, f"hashes-{'1f' * 20}/", "zip"),
        ("example/hashes/archive/release-1.10.0.zip", "release-1.10.0", "hashes-release-1.10.0/", "zip"),
        ("example/hashes/archive/vnext.zip", "vnext", "hashes-vnext/", "zip"),
    ],
)
def test_an_archive_has_the_folder_that_github_gives_it(
    place: str, commit: str, prefix: str, form: str
) -> None:
    archive = archive_of(place)

    assert archive == Archive(place, "example/hashes", commit)
    assert (archive.prefix, archive.format) == (prefix, form)


@pytest.mark.parametrize("place", ["example/hashes.git", "example/hashes/releases/download/v1/x.zip"])
def test_other_addresses_are_no_archives(place: str) -> None:
    assert archive_of(place) is None


def test_archives_are_found_among_other_addresses() -> None:
    text = (
        f'FetchContent_Declare(hashes URL "https://github.com/{PLACE}")\n'
        "# https://example.org/a/b/archive/v1.zip https://github.com/example/hashes.git\n"
        "URL https://github.com/${REPOSITORY}/archive/${COMMIT}.zip)\n"
    )
    assert [each.place for each in archives_in(text)] == [PLACE]


def test_the_origin_is_replaced_also_in_front_of_variables() -> None:
    text = "GIT_REPOSITORY https://github.com/${REPOSITORY}.git # https://example.org/x"

    assert LOCAL.in_text(text) == "GIT_REPOSITORY file:///m/${REPOSITORY}.git # https://example.org/x"


def test_a_wrap_gets_the_hash_of_the_archive_and_keeps_others() -> None:
    wrap = (
        f"source_url = https://github.com/{PLACE}\nsource_filename = hashes-1.8.4.tar.gz\n"
        "source_fallback_url = https://github.com/other/releases/download/hashes-1.8.4.tar.gz\n"
        f"source_hash = {OLD}\npatch_url = https://example.org/patch\npatch_hash = {OTHER}\n"
    )
    found = LOCAL.in_text(wrap)

    assert f"source_url = file:///m/{PLACE}\n" in found
    assert f"source_hash = {NEW}\n" in found
    assert f"patch_hash = {OTHER}\n" in found


def test_a_hash_behind_another_address_or_far_away_is_that_of_something_else() -> None:
    for text in (
        f"URL https://github.com/{PLACE}\nURL https://example.org/x.zip\nURL_HASH SHA256={OLD}",
        f"URL https://github.com/{PLACE}\n" + "\n" * 6 + f"SHA256={OLD}",
    ):
        assert OLD in LOCAL.in_text(text)


def test_a_named_download_gets_its_address_and_hash_wherever_they_are() -> None:
    local = Replacements("file:///m/", {}, {"https://example.org/patch": "file:///m/p"}, {OLD: NEW})

    assert local.in_text(f"set(SUM {OLD})\n\n(https://example.org/patch)") == (
        f"set(SUM {NEW})\n\n(file:///m/p)"
    )


def test_a_lone_commit_is_replaced_but_not_one_in_an_archives_address() -> None:
    commit = "1f" * 20
    local = Replacements("file:///m/", ids={commit: "2e" * 20, "72bcabf": "3d" * 20})
    text = f"GIT_TAG {commit}\nGIT_TAG 72bcabf\nGIT_TAG 72bcabf0\nhttps://github.com/a/b/archive/{commit}.zip"

    assert local.in_text(text) == (
        f"GIT_TAG {'2e' * 20}\nGIT_TAG {'3d' * 20}\nGIT_TAG 72bcabf0\nfile:///m/a/b/archive/{commit}.zip"
    )


def test_files_that_name_downloads_are_known_by_their_names() -> None:
    names = ("CMakeLists.txt", "a/CMakeLists.txt.in", "cmake/x.cmake", ".gitmodules", "subprojects/x.wrap")
    others = ("README.md", "src/CMakeLists.cc", "x.cmakes", "docs/.gitmodules.md")

    assert all(map(BUILD_FILE.search, names))
    assert not any(map(BUILD_FILE.search, others))
