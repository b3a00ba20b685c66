"""A download has the promised content, from an allowed place, within bounds."""

from __future__ import annotations

import hashlib
import socket
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.dependencies.download import MOST_REDIRECTS, download
from service.domain.sources.allowed import AllowedSources
from service.domain.values.errors import BadInput, Cancelled, Transient
from tests.integration.adapters.sources.dependencies.mirror import Mirror, running_mirror

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.integration

CONTENT = b"content"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with running_mirror() as running:
        running.answers["/allowed/file"] = CONTENT
        yield running


@pytest.fixture
def other() -> Iterator[Mirror]:
    with running_mirror() as running:
        running.answers["/allowed/file"] = CONTENT
        yield running


def keep_on() -> None:
    """Do not end the work."""


def downloaded(mirror: Mirror, into: Path, path: str = "/allowed/file", *, most_bytes: int = 1000) -> bytes:
    allowed = AllowedSources.parse([f"{mirror.url}/allowed/"])
    download(mirror.url + path, SHA256, into / "file", allowed, keep_on, most_bytes=most_bytes)
    return (into / "file").read_bytes()


def test_a_file_is_downloaded(mirror: Mirror, tmp_path: Path) -> None:
    assert downloaded(mirror, tmp_path) == CONTENT


def test_another_content_is_refused_with_both_digests(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers["/allowed/file"] = b"changed"
    found = hashlib.sha256(b"changed").hexdigest()

    with pytest.raises(BadInput, match=f"the file has the SHA-256 {found}, not {SHA256}"):
        downloaded(mirror, tmp_path)


def test_a_redirect_to_an_allowed_place_is_followed(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers |= {"/allowed/old": "/allowed/newer", "/allowed/newer": f"{mirror.url}/allowed/file"}

    assert downloaded(mirror, tmp_path, "/allowed/old") == CONTENT


@pytest.mark.parametrize(
    "target", ["{other}/allowed/file", "//{other_host}/allowed/file", "/beside", "/allowed/../x"]
)
def test_a_redirect_to_another_place_is_refused_before_it_is_asked(
    mirror: Mirror, other: Mirror, tmp_path: Path, target: str
) -> None:
    mirror.answers["/allowed/old"] = target.format(
        other=other.url, other_host=other.url.removeprefix("http://")
    )
    mirror.answers["/beside"] = mirror.answers["/x"] = CONTENT

    with pytest.raises(BadInput, match=r"/allowed/old: redirects to .*BENCHGATE_FETCH_FROM"):
        downloaded(mirror, tmp_path, "/allowed/old")
    assert (mirror.requests, other.requests) == (["/allowed/old"], [])


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://example.org/x"])
def test_a_redirect_to_another_protocol_is_refused(mirror: Mirror, tmp_path: Path, target: str) -> None:
    mirror.answers["/allowed/old"] = target

    with pytest.raises(BadInput, match="/allowed/old: redirects to"):
        downloaded(mirror, tmp_path, "/allowed/old")


def test_a_circle_of_redirects_ends(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers["/allowed/old"] = "/allowed/old"

    with pytest.raises(BadInput, match="more than 5 redirects"):
        downloaded(mirror, tmp_path, "/allowed/old")
    assert len(mirror.requests) == MOST_REDIRECTS + 1


def test_a_forbidden_place_is_not_asked(mirror: Mirror, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="BENCHGATE_FETCH_FROM"):
        downloaded(mirror, tmp_path, "/beside")
    assert mirror.requests == []


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_file_that_the_server_refuses_is_an_error_of_the_project(
    mirror: Mirror, tmp_path: Path, status: int
) -> None:
    mirror.answers["/allowed/file"] = status

    with pytest.raises(BadInput, match=f"/allowed/file: the server answers {status}"):
        downloaded(mirror, tmp_path)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_in_trouble_is_asked_again_later(mirror: Mirror, tmp_path: Path, status: int) -> None:
    mirror.answers["/allowed/file"] = status

    with pytest.raises(Transient, match=f"the server answers {status}"):
        downloaded(mirror, tmp_path)


def test_a_server_that_does_not_run_is_asked_again_later(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        mirror = Mirror(f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(Transient, match="cannot be fetched"):
            downloaded(mirror, tmp_path)


def test_an_overlarge_file_is_not_read_to_its_end(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers["/allowed/file"] = bytes(5_000_000)

    with pytest.raises(BadInput, match="larger than"):
        downloaded(mirror, tmp_path, most_bytes=1000)
    assert (tmp_path / "file").stat().st_size <= 1000


def test_the_work_can_end_while_a_slow_server_sends_little(mirror: Mirror, tmp_path: Path) -> None:
    """So can the time: both are looked at for each piece that arrives."""
    allowed = AllowedSources.parse([f"{mirror.url}/allowed/"])
    mirror.goes_on.clear()

    def end() -> None:
        mirror.goes_on.set()
        raise Cancelled

    with pytest.raises(Cancelled):
        download(f"{mirror.url}/allowed/file", SHA256, tmp_path / "file", allowed, end)
