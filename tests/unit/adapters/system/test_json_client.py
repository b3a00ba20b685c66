"""Responses of servers and proxies, and the errors that they become, whichever server it is."""

from __future__ import annotations

import base64
import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from socket import create_server
from threading import Event
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import structlog
from typing_extensions import override

from service.adapters.system.json_client import (
    ERROR_BYTES,
    Bearer,
    JsonClient,
    Overlong,
    Password,
    Timeouts,
    fault,
)
from service.domain.values.errors import BenchgateError, Forbidden, NotFound, Permanent, Refused, Transient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket

URL = "https://server.example.com/r"
SECRET = "s3cret-of-the-bot"


class Client(JsonClient):
    """A server; every response is its own."""

    server = "the server"
    max_bytes = 1 << 20

    @override
    def _document(self, data: bytes) -> Any:
        return json.loads(data)

    @override
    def _fault(self, response: httpx.Response, data: bytes) -> BenchgateError:
        return fault(response, self.server, data.decode()[:20], is_own=True)


class Pieces(httpx.SyncByteStream):
    """A body in pieces that counts how many were read."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.taken += 1
            yield piece


def asking(response: httpx.Response | Exception, credentials: Password | Bearer | None = None) -> Client:
    def answer(request: httpx.Request) -> httpx.Response:
        if isinstance(response, Exception):
            raise response
        assert request.url.path == "/r/thing"
        return response

    return Client(URL, credentials, Timeouts(), httpx.MockTransport(answer))


def error_of(response: httpx.Response | Exception) -> BenchgateError:
    with pytest.raises(BenchgateError) as raised:
        asking(response).get("thing")
    return raised.value


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Permanent),
        (401, Refused),
        (403, Forbidden),
        (404, NotFound),
        (405, Permanent),
        (408, Transient),
        (409, Permanent),
        (413, Permanent),
        (422, Permanent),
        (429, Transient),
        (500, Transient),
        (502, Transient),
        (503, Transient),
    ],
)
def test_the_status_decides_the_kind_of_error(status: int, kind: type[BenchgateError]) -> None:
    found = error_of(httpx.Response(status, text="because"))
    assert type(found) is kind
    assert str(found) == f"the server answers {status}: because"


def test_a_404_of_a_proxy_is_transient() -> None:
    found = fault(httpx.Response(404), "the server", "", is_own=False)
    assert type(found) is Transient
    assert str(found) == "the server answers 404: Not Found (from a proxy, not from the server)"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    found = error_of(httpx.Response(status, headers={"Location": f"{URL}/thing"}))
    assert type(found) is Refused
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
    found = error_of(error)
    assert type(found) is Transient
    assert str(found) == f"the server cannot be reached: {str(error) or type(error).__name__}"


def test_a_badly_compressed_body_is_transient() -> None:
    response = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=Pieces([b"no gzip"] * 2))
    assert type(error_of(response)) is Transient


def test_an_overlong_response_is_not_read_to_the_end() -> None:
    body = Pieces([b" " * (1 << 20)] * 100)
    assert isinstance(error_of(httpx.Response(200, stream=body)), Overlong)
    assert body.taken == 2


def test_the_limit_applies_to_the_uncompressed_body() -> None:
    body = Pieces([gzip.compress(b" " * (2 << 20))])
    response = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=body)
    assert isinstance(error_of(response), Overlong)


def test_an_overlong_error_response_keeps_its_kind() -> None:
    body = Pieces([b"x" * ERROR_BYTES] * 1000)
    assert type(error_of(httpx.Response(404, stream=body))) is NotFound
    assert body.taken == 1


def test_retry_after_as_a_date_becomes_seconds() -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    found = error_of(httpx.Response(429, headers={"Retry-After": until}))
    assert isinstance(found, Transient)
    assert found.retry_after is not None
    assert 50 < found.retry_after <= 60


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", 7.0),
        ("0", 0.0),
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
def test_an_absurd_retry_after_is_bounded_or_ignored(status: int, value: str, expected: float | None) -> None:
    found = error_of(httpx.Response(status, headers={"Retry-After": value}))
    assert isinstance(found, Transient)
    assert found.retry_after == expected


def test_a_response_that_does_not_end_is_transient() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=iter([b" "] * 100)))
    with pytest.raises(Transient, match="did not end in time"):
        Client(URL, None, Timeouts(whole=0.0), transport).get("thing")


@pytest.mark.parametrize("beginning", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_a_response_of_a_byte_now_and_then_ends_in_time(beginning: bytes) -> None:
    """Each byte comes within the limit on silence."""
    gone = Event()

    def trickle(server: socket) -> None:
        client, _ = server.accept()
        with client, suppress(OSError):
            client.sendall(beginning)
            for _ in range(500):
                gone.wait(0.01)
                client.sendall(b" ")
            client.sendall(b"}" if beginning.endswith(b"{") else b"\r\n\r\n{}")

    with create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        served = pool.submit(trickle, server)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(Transient, match="did not end in time"):
            Client(url, None, Timeouts(silence=5.0, whole=0.3)).get("x")
        gone.set()
        served.result()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "server.example.com",
        "ftp://server.example.com",
        "https://",
        "https://user:secret@server.example.com",
        "https://server.example.com/?a=b",
        "https://server.example.com/#x",
        "https://server.example.com:port",
    ],
)
def test_an_invalid_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="the server's address") as raised:
        Client(url, None, Timeouts())
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "credentials",
    [Password("", SECRET), Password("build:bot", SECRET), Bearer(""), Bearer(f"{SECRET}\n"), Bearer("ключ")],
)
def test_credentials_that_cannot_be_sent_are_refused_without_being_shown(
    credentials: Password | Bearer,
) -> None:
    with pytest.raises(ValueError, match=r"the server's (user name|token)") as raised:
        Client(URL, credentials, Timeouts())
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("credentials", "sent"),
    [
        (Password("buildbot", "пароль"), "Basic " + base64.b64encode("buildbot:пароль".encode()).decode()),
        (Bearer(SECRET), f"Bearer {SECRET}"),
        (None, None),
    ],
)
def test_credentials_are_sent_as_utf_8(credentials: Password | Bearer | None, sent: str | None) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={})

    Client(URL, credentials, Timeouts(), httpx.MockTransport(answer)).get("thing")
    assert seen[0].headers.get("Authorization") == sent


@pytest.mark.parametrize("credentials", [Password("buildbot", SECRET), Bearer(SECRET)])
@pytest.mark.parametrize("status", [302, 401, 403, 404, 409, 500])
def test_no_message_shows_the_secret(credentials: Password | Bearer, status: int) -> None:
    client = asking(httpx.Response(status), credentials)
    with structlog.testing.capture_logs() as logs, pytest.raises(BenchgateError) as raised:
        client.get("thing")
    shown = f"{credentials!r} {client!r} {raised.value!r} {raised.value} {logs}"
    assert SECRET not in shown
    assert base64.b64encode(f"buildbot:{SECRET}".encode()).decode() not in shown


def test_an_invalid_path_is_permanent() -> None:
    with pytest.raises(Permanent):
        asking(httpx.Response(200)).get("groups/" + "a" * 70_000)


def test_a_closed_client_opens_again() -> None:
    client = asking(httpx.Response(200, json=[]))
    client.close()
    assert client.get("thing") == []
    client.close()
    client.close()
