"""Downloads that fail for lack of network, in logs that the tools of Debian 12 wrote in a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.domain.building.missing_downloads import MissingDownload, missing_download

SAMPLES = Path(__file__).parents[3] / "samples" / "downloads"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fetch_content_git", MissingDownload("https://example.org/x/fmtlite.git", "fmtlite")),
        ("fetch_content_url", MissingDownload("https://example.org/fmt-1.2.zip", "fmt")),
        ("file_download", MissingDownload("/src/build/data.txt")),
        (
            "external_project_url",
            MissingDownload("https://example.org/zlib.tar.gz", "zlib", is_external=True),
        ),
        ("external_project_ssh", MissingDownload("git.example.org", "zlib", is_external=True)),
        (
            "external_project_configured",
            MissingDownload("https://example.org/google/googletest.git", "googletest", is_external=True),
        ),
        ("meson_wrap", MissingDownload("https://example.org/fmt-12.0.0.tar.gz")),
        ("meson_nodownload", MissingDownload("subprojects/fmt.wrap")),
        ("wget", MissingDownload("https://example.org/data.csv")),
        ("curl", MissingDownload("https://example.org/data.csv")),
        ("conan", MissingDownload("benchmark/1.9.5")),
    ],
)
def test_the_source_is_found_and_the_name_if_the_build_system_has_one(
    name: str, expected: MissingDownload
) -> None:
    assert missing_download((SAMPLES / f"{name}.txt").read_bytes()) == expected


@pytest.mark.parametrize(
    ("log", "source"),
    [
        (
            b"fatal: unable to look up example.org (port 9418) (Temporary failure in name resolution)",
            "example.org",
        ),
        (b"urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", ""),
        (b"https://other.org/x\ncurl: (6) Could not resolve host: example.org", "example.org"),
        (b"  Failed to clone repository: 'git@example.org:team/zlib.git'", "git@example.org:team/zlib.git"),
        (b"ERROR: Package 'zlib/1.3.1' not resolved: No remote defined. Required by 'cli'", "zlib/1.3.1"),
        (
            b"Error downloading [https://example.org/z.zip] to /x: Unknown host: example.org",
            "https://example.org/z.zip",
        ),
    ],
)
def test_messages_of_other_tools_are_known(log: bytes, source: str) -> None:
    assert missing_download(log) == MissingDownload(source)


@pytest.mark.parametrize(
    "log",
    [
        b"",
        b"-- see https://example.org for help\n/src/a.cc:1:1: error: expected unqualified-id",
        b"CMake Error at CMakeLists.txt:3 (find_package):\n  Could not find a package configuration file",
        b"ld: cannot find -lfmt",
        b"Automatic wrap-based subproject downloading is disabled\nSubproject a is buildable: NO (disabling)",
    ],
)
def test_other_failures_are_no_downloads(log: bytes) -> None:
    assert missing_download(log) is None


def test_a_hostile_log_is_read_quickly_and_shown_as_one_line() -> None:
    log = b"https://" * 200_000 + b"\x1b[31m\nCould not resolve host: " + b"a." * 100_000 + b"\n"

    found = missing_download(log)

    assert found is not None
    assert found.source.isprintable()
    assert len(found.source) <= 200
