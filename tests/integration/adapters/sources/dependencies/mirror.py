"""A web server on this machine that has files, redirects and faults."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Mirror:
    """Answers by path: bytes, the target of a redirect, or a status; and the paths that were requested.

    The last byte of an answer is sent if ``goes_on`` is set within a second.
    """

    url: str
    goes_on: threading.Event = field(default_factory=threading.Event)
    answers: dict[str, bytes | str | int] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)


@contextmanager
def running_mirror() -> Iterator[Mirror]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            mirror.requests.append(self.path)
            answer = mirror.answers.get(self.path.partition("?")[0], 404)
            body = answer if isinstance(answer, bytes) else b""
            self.send_response(302 if isinstance(answer, str) else answer if isinstance(answer, int) else 200)
            if isinstance(answer, str):
                self.send_header("Location", answer)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:-1])
            if mirror.goes_on.wait(1):
                self.wfile.write(body[-1:])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base names it
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing about a client that reads no more."""

    with Server(("127.0.0.1", 0), Handler) as server:
        mirror = Mirror(f"http://127.0.0.1:{server.server_port}")
        mirror.goes_on.set()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield mirror
        finally:
            server.shutdown()
            thread.join()
