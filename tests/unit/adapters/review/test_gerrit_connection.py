"""Responses of Gerrit and of proxies, and the errors that they become."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import httpx
import pytest
import structlog

from service.adapters.review.gerrit.connection import (
    MAX_BYTES,
    Bearer,
    Connection,
    Overlong,
    Password,
)
from service.adapters.review.gerrit.review import GerritReview
from service.domain.values.errors import BenchgateError, NotFound, Permanent, Refused, Transient
from tests.support.review.gerrit_model import SECRET, URL, GerritModel

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN = {"Content-Type": "text/plain;charset=utf-8"}


def asking(response: httpx.Response | Exception, credentials: Password | Bearer | None = None) -> Connection:
    def answer(request: httpx.Request) -> httpx.Response:
        if isinstance(response, Exception):
            raise response
        assert request.url.path == "/r/a/thing"
        return response

    return Connection(URL, credentials or Password("buildbot", SECRET), transport=httpx.MockTransport(answer))


def fault(response: httpx.Response | Exception) -> BenchgateError:
    with pytest.raises(BenchgateError) as raised:
        asking(response).get("thing")
    return raised.value


def json_answer(document: object) -> bytes:
    return b")]}'\n" + json.dumps(document).encode()


def test_the_guard_is_removed_from_a_response() -> None:
    assert asking(httpx.Response(200, content=b')]}\'\n{"a":1}\n')).get("thing") == {"a": 1}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Permanent),
        (404, NotFound),
        (405, Permanent),
        (408, Transient),
        (409, Permanent),
        (422, Permanent),
        (429, Transient),
        (500, Transient),
        (502, Transient),
        (503, Transient),
    ],
)
def test_the_status_decides_the_kind_of_error(status: int, kind: type[BenchgateError]) -> None:
    found = fault(httpx.Response(status, headers=PLAIN, text="because"))
    assert type(found) is kind
    assert str(found) == f"Gerrit answers {status}: because"


def test_a_404_by_a_proxy_is_transient() -> None:
    found = fault(httpx.Response(404, headers={"Content-Type": "text/html"}, text="<h1>Not Found</h1>"))
    assert type(found) is Transient
    assert str(found) == "Gerrit answers 404: Not Found (from a proxy, not from Gerrit)"


@pytest.mark.parametrize("words", ["404 page not found\n", "default backend - 404"])
def test_a_plain_text_404_by_a_proxy_is_transient(words: str) -> None:
    assert type(fault(httpx.Response(404, headers=PLAIN, text=words))) is Transient
    assert type(fault(httpx.Response(404, headers=PLAIN, text="Not found: 404"))) is NotFound


@pytest.mark.parametrize("status", [401, 403])
def test_rejected_credentials_raise_refused(status: int) -> None:
    assert isinstance(fault(httpx.Response(status)), Refused)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    found = fault(httpx.Response(status, headers={"Location": f"{URL}/a/thing"}))
    assert isinstance(found, Refused)
    assert "a redirect, perhaps to a login page" in str(found)


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("[Errno 111] Connection refused"),
        httpx.ConnectTimeout(""),
        httpx.ReadTimeout("timed out"),
        httpx.ReadError(""),
        httpx.RemoteProtocolError("Server disconnected without sending a response."),
    ],
)
def test_a_missing_response_is_transient_and_gives_the_cause(error: httpx.TransportError) -> None:
    found = fault(error)
    assert type(found) is Transient
    assert str(found) == f"Gerrit cannot be reached: {str(error) or type(error).__name__}"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>please wait</html>",
        b'{"a":1}',
        b")]}'\n",
        b')]}\'\n{"a":',
        b")]}'\n\xff\xfe",
        b")]}'\n" + b"[" * 1_000_000,
        b")]}'\n" + b"1" * 10_000,
    ],
)
def test_a_response_that_is_not_from_gerrit_is_transient(body: bytes) -> None:
    assert type(fault(httpx.Response(200, content=body))) is Transient


def test_a_badly_compressed_body_is_transient() -> None:
    response = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=Pieces([b"no gzip"] * 2))
    assert type(fault(response)) is Transient


class Pieces(httpx.SyncByteStream):
    """A body in pieces that counts how many were read."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.taken += 1
            yield piece


def test_an_overlong_response_is_not_read_to_the_end() -> None:
    body = Pieces([b")]}'\n[", *([b" " * (1 << 20)] * 100)])
    assert isinstance(fault(httpx.Response(200, stream=body)), Overlong)
    assert body.taken <= (MAX_BYTES >> 20) + 2


def test_the_limit_applies_to_the_uncompressed_body() -> None:
    body = Pieces([gzip.compress(b" " * (2 * MAX_BYTES))])
    response = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=body)
    assert isinstance(fault(response), Overlong)


def test_an_overlong_error_response_keeps_its_kind() -> None:
    body = Pieces([b"no such thing " * 1000] * 1000)
    assert type(fault(httpx.Response(404, headers=PLAIN, stream=body))) is NotFound
    assert body.taken == 1


def test_an_error_message_is_one_line_without_control_characters() -> None:
    hostile = "\x1b[2J\u202eevil\r\nsecond line\x00" + "x" * 5000
    text = str(fault(httpx.Response(409, headers=PLAIN, text=hostile)))
    assert text.startswith("Gerrit answers 409: [2Jevil second line")
    assert len(text) <= 230
    assert text.isprintable()


def test_an_html_page_is_not_quoted() -> None:
    assert str(fault(httpx.Response(502, html="<h1>sorry</h1>"))) == "Gerrit answers 502: Bad Gateway"


@pytest.mark.parametrize(("status", "seconds"), [(429, "7"), (503, "120"), (429, "0")])
def test_retry_after_in_seconds_is_kept(status: int, seconds: str) -> None:
    found = fault(httpx.Response(status, headers={"Retry-After": seconds}))
    assert isinstance(found, Transient)
    assert found.retry_after == float(seconds)


def test_retry_after_as_a_date_becomes_seconds() -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    found = fault(httpx.Response(429, headers={"Retry-After": until}))
    assert isinstance(found, Transient)
    assert found.retry_after is not None
    assert 50 < found.retry_after <= 60


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("soon", None),
        ("-1", None),
        ("1e9", None),
        ("", None),
        ("999999999", 3600.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600.0),
        ("Thu, 01 Jan 1970 00:00:00 -0000", 0.0),
        ("Mon, 99 Jan 99999 00:00:00 GMT", None),
    ],
)
def test_an_absurd_retry_after_is_bounded_or_ignored(value: str, expected: float | None) -> None:
    found = fault(httpx.Response(429, headers={"Retry-After": value}))
    assert isinstance(found, Transient)
    assert found.retry_after == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "gerrit.example.com",
        "ftp://gerrit.example.com",
        "https://",
        "https://user:secret@gerrit.example.com",
        "https://gerrit.example.com/?a=b",
        "https://gerrit.example.com/#x",
        "https://gerrit.example.com:port",
    ],
)
def test_an_invalid_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="Gerrit's address") as raised:
        Connection(url, Password("buildbot", SECRET))
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "credentials",
    [Password("", SECRET), Password("build:bot", SECRET), Bearer(""), Bearer(f"{SECRET}\n"), Bearer("ключ")],
)
def test_credentials_that_cannot_be_sent_are_refused_without_being_shown(
    credentials: Password | Bearer,
) -> None:
    with pytest.raises(ValueError, match=r"user name|token") as raised:
        Connection(URL, credentials)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("is_bearer", [False, True])
def test_either_kind_of_credentials_is_sent(*, is_bearer: bool) -> None:
    model = GerritModel(is_bearer=is_bearer)
    credentials = Bearer(f"{SECRET}-buildbot") if is_bearer else Password("buildbot", SECRET)
    assert GerritReview("gerrit", URL, credentials, transport=model.transport).account == "1000001"


def test_a_secret_beyond_ascii_is_sent_as_utf_8() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return httpx.Response(200, content=json_answer({}))

    Connection(URL, Password("buildbot", "пароль"), transport=httpx.MockTransport(answer)).get("thing")
    assert base64.b64decode(seen[0].removeprefix("Basic ")).decode() == "buildbot:пароль"


@pytest.mark.parametrize("credentials", [Password("buildbot", SECRET), Bearer(SECRET)])
@pytest.mark.parametrize("status", [200, 302, 401, 403, 404, 409, 500])
def test_no_message_shows_the_secret(credentials: Password | Bearer, status: int) -> None:
    connection = asking(httpx.Response(status), credentials)
    with structlog.testing.capture_logs() as logs, pytest.raises(BenchgateError) as raised:
        connection.get("thing")
    shown = f"{credentials!r} {connection!r} {raised.value!r} {raised.value} {logs}"
    assert SECRET not in shown
    assert base64.b64encode(f"buildbot:{SECRET}".encode()).decode() not in shown


@pytest.mark.parametrize("headers", [{}, {"Date": "today"}])
def test_a_response_without_a_date_is_transient(headers: dict[str, str]) -> None:
    response = httpx.Response(200, headers=headers, content=json_answer({}))
    connection = Connection(
        URL, Password("buildbot", SECRET), transport=httpx.MockTransport(lambda _: response)
    )
    with pytest.raises(Transient, match="no date"):
        connection.now()


def test_a_path_that_is_not_a_valid_url_is_permanent() -> None:
    connection = asking(httpx.Response(200))
    with pytest.raises(Permanent):
        connection.get("groups/" + "a" * 70_000)


def test_a_closed_connection_opens_again() -> None:
    connection = asking(httpx.Response(200, content=json_answer([])))
    connection.close()
    assert connection.get("thing") == []
    connection.close()
    connection.close()
