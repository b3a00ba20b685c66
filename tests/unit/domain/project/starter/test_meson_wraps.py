"""Wrap files as projects write them: archives with and without a patch, repositories and redirections."""

from __future__ import annotations

import pytest

from service.domain.project.starter.fetched import Download
from service.domain.project.starter.meson_wraps import Wrap, WrapFile, WrapRepository, parse_wrap

URL, PATCH = (
    "https://example.org/fmt/archive/v12.tar.gz",
    "https://wraps.example.org/v2/fmt_12.0.0-1/get_patch",
)
ARCHIVE = f"""\
# Licensed to everybody.
[wrap-file]
directory = fmt-12.0.0
source_url = {URL}
source_filename = fmt-12.0.0.tar.gz
source_hash = {"A" * 64}
patch_filename = fmt_12.0.0-1_patch.zip
patch_url = {PATCH}
patch_hash = {"b" * 64}
wrapdb_version = 12.0.0-1

[provide]
fmt = fmt_dep
dependency_names = fmt, 100%
"""
GIT = """\
[wrap-git]
url = https://git.example.org/fmt.git
revision = v12
depth = 1
patch_directory = fmt
"""
REPOSITORY = WrapRepository("fmt", Download(git="https://git.example.org/fmt.git"), "v12")
SOURCE = WrapFile("fmt-12.0.0.tar.gz", Download(URL), "a" * 64)


def test_the_archive_and_its_patch_have_the_names_by_which_meson_knows_them() -> None:
    patch = WrapFile("fmt_12.0.0-1_patch.zip", Download(PATCH), "b" * 64)
    assert parse_wrap(ARCHIVE, "fmt") == Wrap((SOURCE, patch))


def test_a_patch_in_the_sources_is_no_download() -> None:
    lines = [line for line in ARCHIVE.splitlines() if not line.startswith("patch_url")]
    assert parse_wrap("\n".join(lines), "fmt") == Wrap((SOURCE,))


@pytest.mark.parametrize("digest", ["abc", f"{'a' * 64}\n  jobs: {{}}", f"{'a' * 64} # x"])
def test_a_digest_that_is_none_does_not_get_into_the_project_file(digest: str) -> None:
    (source, _) = parse_wrap(ARCHIVE.replace("A" * 64, digest), "fmt").files
    assert source.sha256 == ""


@pytest.mark.parametrize("url", ["http://example.org/fmt.tar.gz", "https://example.org/get?file=fmt.tar.gz"])
def test_the_second_url_counts_if_machines_cannot_fetch_the_first(url: str) -> None:
    text = ARCHIVE.replace(URL, url) + "\n"
    fallback = text.replace("source_hash", "source_fallback_url = https://example.org/f.tgz\nsource_hash")

    assert parse_wrap(text, "fmt").files[0].download == Download(url)
    assert parse_wrap(fallback, "fmt").files[0].download == Download("https://example.org/f.tgz")


def test_a_repository_has_the_directory_of_the_wrap_or_its_name() -> None:
    named = GIT.replace("depth", "directory = fmt-git\ndepth")

    assert parse_wrap(GIT, "fmt") == Wrap(repository=REPOSITORY)
    assert parse_wrap(named, "fmt").repository == WrapRepository("fmt-git", REPOSITORY.download, "v12")


def test_the_wrap_of_a_subproject_names_another_file() -> None:
    text = "[wrap-redirect]\nfilename = core/subprojects/fmt.wrap\n"
    assert parse_wrap(text, "fmt") == Wrap(redirect="core/subprojects/fmt.wrap")


def test_other_kinds_of_downloads_are_named() -> None:
    assert parse_wrap("[wrap-svn]\nurl = https://example.org/svn\nrevision = 7\n", "x") == Wrap(unknown="svn")


@pytest.mark.parametrize("text", ["", "[provide]\nfmt = fmt_dep\n", "url = x\n", "[wrap-file]\nx\n", "\0["])
def test_what_is_no_wrap_downloads_nothing(text: str) -> None:
    assert parse_wrap(text, "fmt") == Wrap()
