"""A mail server and a chat's incoming webhook, both on loopback."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from aiosmtpd.controller import Controller

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from email.message import EmailMessage

    from aiosmtpd.smtp import SMTP, Envelope, Session


@dataclass
class Inbox:
    """A mail server; ``before`` and ``after`` are called around the taking of a message."""

    mails: list[EmailMessage] = field(default_factory=list)
    answer: str = "250 OK"
    on_sender: str = "250 OK"
    on_quit: str = "221 Bye"
    on_recipient: Callable[[], None] = lambda: None
    after: Callable[[], None] = lambda: None

    async def handle_MAIL(  # noqa: N802 - the server's own name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.mail_from = address
        return self.on_sender

    async def handle_QUIT(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        return self.on_quit

    async def handle_RCPT(  # noqa: N802 - the server's own name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.on_recipient()
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.answer.startswith("250"):
            data = envelope.content
            assert isinstance(data, bytes)
            self.mails.append(message_from_bytes(data, policy=policy.default))
        self.after()
        return self.answer


@dataclass
class ChatRoom:
    """An incoming webhook."""

    texts: list[str] = field(default_factory=list)
    status: int = 200


@contextmanager
def mail_server(inbox: Inbox, context: ssl.SSLContext | None = None) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    server = Controller(inbox, hostname="127.0.0.1", port=port, ssl_context=context)
    server.start()
    yield f"smtp://127.0.0.1:{port}"
    server.stop()


@contextmanager
def chat_server(room: ChatRoom) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if room.status == 200:
                room.texts.append(body["text"])
            self.send_response(room.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/hooks/secret"
    server.shutdown()
    thread.join()
    server.server_close()
