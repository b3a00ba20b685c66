"""A connection to Gerrit over real sockets: slow responses, no response, and forked processes."""

from __future__ import annotations

import os
import time
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from service.adapters.review.gerrit.connection import GerritConnection
from service.adapters.system.json_client import Password, Timeouts
from service.domain.values.errors import Refused, Transient

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.integration

CREDENTIALS = Password("buildbot", "secret")


class Server(ThreadingHTTPServer):
    """A server with a fast, a very slow, a silent and a redirected path below ``/a``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.is_over = Event()
        self.callers: list[tuple[str, int]] = []  # path and port of the caller

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.callers.append((self.path, self.client_address[1]))
        if self.path == "/a/silent":
            self.server.is_over.wait(30)
            self.close_connection = True
            return
        self.send_response(302 if self.path == "/a/moved" else 200)
        self.send_header("Location", "/a/fast")
        body = b")]}'\n[1]\n"
        self.send_header("Content-Length", str(100_000 if self.path == "/a/slow" else len(body)))
        self.end_headers()
        self.wfile.write(body)
        while self.path == "/a/slow" and not self.server.is_over.wait(0.05):
            try:
                self.wfile.write(b" ")
            except OSError:
                break

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.is_over.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def connection(url: str, **seconds: float) -> closing[GerritConnection]:
    return closing(GerritConnection(url, CREDENTIALS, Timeouts(**seconds)))


def test_requests_share_one_socket(server: Server) -> None:
    with connection(server.url) as gerrit:
        assert [gerrit.get("fast"), gerrit.get("fast")] == [[1], [1]]
    assert len({port for _, port in server.callers}) == 1


def test_a_forked_process_has_its_own_socket(server: Server) -> None:
    with connection(server.url) as gerrit:
        gerrit.get("fast")
        child = os.fork()
        if child == 0:
            try:
                gerrit.get("fast?child")
                gerrit.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert gerrit.get("fast") == [1]
    ports = {path: port for path, port in server.callers if "child" in path}
    (parent,) = {port for path, port in server.callers if "child" not in path}
    assert list(ports) == ["/a/fast?child"]
    assert parent not in ports.values()


def test_a_silent_server_times_out(server: Server) -> None:
    with connection(server.url, silence=0.2) as gerrit, pytest.raises(Transient, match="timed out"):
        gerrit.get("silent")


def test_a_very_slow_server_times_out(server: Server) -> None:
    began = time.monotonic()
    with connection(server.url, whole=0.5) as gerrit, pytest.raises(Transient, match="in time"):
        gerrit.get("slow")
    assert time.monotonic() - began < 10


def test_a_redirect_is_not_followed(server: Server) -> None:
    with connection(server.url) as gerrit, pytest.raises(Refused):
        gerrit.get("moved")
    assert [path for path, _ in server.callers] == ["/a/moved"]


def test_a_closed_port_is_transient() -> None:
    with serving() as server:
        url = server.url
    with connection(url) as gerrit, pytest.raises(Transient, match="cannot be reached"):
        gerrit.get("fast")


def test_a_restarted_server_is_used_again() -> None:
    with serving() as server, connection(server.url) as gerrit:
        gerrit.get("fast")
        gerrit.close()
        assert gerrit.get("fast") == [1]
    assert len({port for _, port in server.callers}) == 2
