"""Half-sent requests end at a deadline, ambiguous ones at once, and cost one line of the log."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest
from structlog.testing import capture_logs

from service.web.request_deadline import DeadlineProtocol
from tests.support.web import SECRETS, build_webhooks, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

APP = build_webhooks(lambda _, bodies: [1] * len(bodies))
HEAD = f"POST /webhooks/gerrit/{SECRETS[0]} HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n".encode()


class Quick(DeadlineProtocol):
    seconds = 0.3


@contextmanager
def connected(address: str) -> Iterator[socket.socket]:
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        yield connection


@pytest.mark.parametrize("sent", [b"", b"POST / HT", HEAD, HEAD + b"\r\n", HEAD + b'\r\n{"ty'])
def test_a_request_that_stays_incomplete_ends_at_the_deadline(sent: bytes) -> None:
    with serving(APP, Quick) as address, connected(address) as connection:
        begun = time.monotonic()
        connection.sendall(sent)
        assert connection.recv(1000) == b""
        assert 0.2 < time.monotonic() - begun < 5


def test_a_connection_is_not_ended_after_complete_requests() -> None:
    with serving(APP, Quick) as address, httpx.Client(base_url=address) as client:
        begun = time.monotonic()
        while time.monotonic() - begun < 2 * Quick.seconds:
            answer = client.post(f"/webhooks/gerrit/{SECRETS[0]}", content=b"{}")
            assert answer.status_code == 204


def test_an_aborted_webhook_logs_one_line_without_its_secret() -> None:
    with capture_logs() as lines, serving(APP, Quick) as address, connected(address) as connection:
        connection.sendall(HEAD + b"\r\n{")
        assert connection.recv(1000) == b""
    assert [line["event"] for line in lines] == ["request.aborted"]
    assert "exception" not in lines[0]
    assert SECRETS[0] not in str(lines)


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
PING = b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        CHUNKED,
        HEAD.replace(b"Content-Length", b"Transfer-Encoding: chunked\r\ncontent-length") + b"\r\n0\r\n\r\n",
        HEAD.replace(b"Host: test\r\n", b"Host: test\n") + b"\r\n{}       ",
        HEAD[:-2] + b"\n\n{}       ",
    ],
)
def test_a_head_that_a_proxy_may_read_otherwise_is_refused_and_ends_the_connection(sent: bytes) -> None:
    with serving(APP, DeadlineProtocol) as address, connected(address) as connection:
        connection.sendall(sent + PING)
        received = b"".join(iter(lambda: connection.recv(1000), b""))
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.count(b"HTTP/1.1") == 1


def test_a_second_request_is_checked_like_the_first() -> None:
    good = HEAD.replace(b"Length: 9", b"Length: 2")
    with serving(APP, DeadlineProtocol) as address, connected(address) as connection:
        for part in (good[:20], good[20:] + b"\r\n", b"{}", CHUNKED):
            connection.sendall(part)
        received = b"".join(iter(lambda: connection.recv(1000), b""))
    assert [line.split()[1] for line in received.splitlines() if line.startswith(b"HTTP")] == [b"204", b"400"]
