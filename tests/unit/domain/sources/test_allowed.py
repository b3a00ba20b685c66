"""Decide what a machine may fetch from."""

from __future__ import annotations

import pytest

from service.domain.sources.allowed import AllowedSources, SourceUrl
from service.domain.values.errors import BadInput

ARCHIVE = "https://example.org/team/lib/archive/v1.tar.gz"


def allows(entry: str, url: str) -> bool:
    try:
        AllowedSources.parse([entry]).require(url)
    except BadInput:
        return False
    return True


@pytest.mark.parametrize(
    "entry",
    [
        "example.org",
        "Example.ORG",
        "example.org:443",
        "example.org/team",
        "https://example.org",
        "https://example.org/",
        "https://example.org/team",
        "https://example.org/team/",
        "https://example.org/team/lib/archive/v1.tar.gz",
    ],
)
def test_a_url_below_an_entry_is_allowed(entry: str) -> None:
    assert allows(entry, ARCHIVE)


@pytest.mark.parametrize(
    "entry",
    [
        "example.com",
        "xample.org",
        "org",
        "sub.example.org",
        "example.org:8443",
        "https://example.org/teams",
        "https://example.org/tea",
        "https://example.org/team//",
        "file:///team",
    ],
)
def test_a_url_beside_an_entry_is_refused(entry: str) -> None:
    assert not allows(entry, ARCHIVE)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org.evil.net/team/x",
        "https://example.org@evil.net/team/x",
        "https://user:secret@example.org/team/x",
        "https://evil.net/https://example.org/team/x",
        "https://example.org\\@evil.net/team/x",
        "https://example.org/team/../other/x",
        "https://example.org/team/%2e%2E/other/x",
        "https://example.org/team/.%2e/other/x",
        "https://example.org/team/..%2fother/x",
        "https://example.org/team/..;/other/x",
        "https://example.org/team/%2e.;a=b/other/x",
        "https://example.org/team/x#fragment",
        "https://example.org/team/x\n",
        "https://example.org/team/\u202ex",
        "http://example.org/team/x",
        "HTTPS://example.org/team/x",
        "ssh://example.org/team/x",
        "ext::sh -c 'echo https://example.org/team/x'",
        "--upload-pack=https://example.org/team/x",
        "git@example.org:team/x",
        "//example.org/team/x",
        "/team/x",
        "",
        "https:///team/x",
        "https://-example.org/team/x",
        "https://example.org./team/x",
        "https://example.org/team/" + "x" * 2000,
    ],
)
def test_a_url_that_some_program_reads_differently_is_never_allowed(url: str) -> None:
    assert not allows("https://example.org/team/", url)


def test_nothing_is_allowed_without_an_entry() -> None:
    with pytest.raises(BadInput) as refused:
        AllowedSources().require(ARCHIVE)

    assert str(refused.value) == (
        f"{ARCHIVE}: this machine does not fetch from there: its operator can add example.org to "
        "BENCHGATE_FETCH_FROM"
    )


def test_files_are_allowed_only_below_a_listed_directory() -> None:
    assert allows("file:///srv/mirror/", "file:///srv/mirror/lib.tar.gz")
    assert not allows("file:///srv/mirror/", "file:///srv/mirrors/lib.tar.gz")
    assert not allows("file:///srv/mirror/", "file:///srv/mirror/../secret")
    assert not allows("example.org", "file:///srv/mirror/lib.tar.gz")
    assert not allows("file:///srv/mirror/", "file://example.org/srv/mirror/lib.tar.gz")


def test_http_is_allowed_only_on_this_machine() -> None:
    assert allows("http://127.0.0.1:8000/", "http://127.0.0.1:8000/lib.tar.gz")
    assert not allows("http://127.0.0.1:8000/", "http://127.0.0.1:8001/lib.tar.gz")
    assert not allows("127.0.0.1", "http://127.0.0.1/lib.tar.gz")


@pytest.mark.parametrize(
    "entry", ["", "*", "*.example.org", "http://example.org", "example.org/..", "a b", "-x"]
)
def test_an_invalid_entry_is_an_error_that_names_the_forms(entry: str) -> None:
    with pytest.raises(BadInput, match=r"is not allowed .*; allowed is a host"):
        AllowedSources.parse([entry])


def test_the_query_of_a_url_does_not_count() -> None:
    assert allows("https://example.org/team", "https://example.org/team?name=lib/../x")
    assert not allows("https://example.org/team", "https://example.org/?/team/")


def test_a_url_is_compared_by_its_parts() -> None:
    assert SourceUrl.parse("https://Example.org/A%20b/") == SourceUrl(
        "https", "example.org", "443", ("A%20b", "")
    )
