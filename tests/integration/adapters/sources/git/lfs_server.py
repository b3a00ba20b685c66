"""An LFS server on a loopback port: its batch API, and the objects themselves."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from typing_extensions import override

if TYPE_CHECKING:
    from types import TracebackType

_HREF = "/objects/"


class LfsServer(ThreadingHTTPServer):
    """A server; ``objects`` are sent by their IDs, and ``host`` is the host that it says they are at.

    ``asked`` has method, path and user of each request. ``status`` is the answer to a batch. With ``pause``
    seconds, an object is sent byte by byte; ``sent`` counts these. ``redirects`` is the beginning of the
    address to which a request for an object is redirected; empty: it is not.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.host = "127.0.0.1"
        self.status = 200
        self.pause = 0.0
        self.sent = 0
        self.redirects = ""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @override
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()

    def add(self, content: bytes) -> bytes:
        """Store an object, and return its pointer file."""
        oid = hashlib.sha256(content).hexdigest()
        self.objects[oid] = content
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n".encode()

    def answer(self, oid: str) -> dict[str, Any]:
        """Make the answer of the batch API about an object."""
        if oid not in self.objects:
            return {"oid": oid, "error": {"code": 404, "message": "Object does not exist"}}
        href = f"http://{self.host}:{self.server_port}{_HREF}{oid}"
        return {"oid": oid, "actions": {"download": {"href": href}}}


class _Handler(BaseHTTPRequestHandler):
    server: LfsServer

    def do_POST(self) -> None:
        self._note()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        objects = [self.server.answer(each["oid"]) for each in body["objects"]]
        self._send(self.server.status, json.dumps({"transfer": "basic", "objects": objects}).encode())

    def do_GET(self) -> None:
        self._note()
        if self.server.redirects and self.path.startswith(_HREF):
            self.send_response(302)
            self.send_header("Location", self.server.redirects + self.path.removeprefix(_HREF))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = self.server.objects[self.path.rpartition("/")[2]]
        if not self.server.pause:
            self._send(200, content)
            return
        self._send(200, b"", len(content))
        with suppress(OSError):  # the client has left
            for byte in content:
                self.wfile.write(bytes([byte]))
                self.server.sent += 1
                time.sleep(self.server.pause)

    @override
    def log_message(self, *_: object) -> None:
        pass

    def _note(self) -> None:
        given = self.headers.get("Authorization", "").removeprefix("Basic ")
        user = base64.b64decode(given).decode().partition(":")[0]
        self.server.asked.append((self.command, self.path, user))

    def _send(self, status: int, body: bytes, size: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.end_headers()
        self.wfile.write(body)
