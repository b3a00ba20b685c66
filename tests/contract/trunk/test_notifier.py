"""Contract of notifiers: a mail server and a chat's incoming webhook."""

from __future__ import annotations

import io
import logging
import socket
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from service.adapters.trunk import chat, mail
from service.adapters.trunk.chat import Chats
from service.adapters.trunk.mail import MailServer
from service.domain.trunk.notice import Channel, Recipient
from service.domain.trunk.regression import GateSaid
from service.domain.values.errors import NotFound, Permanent, Refused, Transient
from service.domain.wording.regressions import MergedSlowdown
from service.ports.trunk import DueNotice
from service.wiring.logs import log_as_json
from tests.support.notified import ChatRoom, Inbox, chat_server, mail_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.ports.trunk import Notifier

pytestmark = pytest.mark.integration
SENDER = "benchgate@example.com"
FOUND = MergedSlowdown(
    "kv_engine", "master", "0123456789ab", "Make it quick", "Ann\r\nBcc: all@example.com", "HTB/Find",
    "+8.1 %", "[7.2, 9.0]", 0, GateSaid.UNDECIDED, "https://bench.example.com/regressions/12",
)  # fmt: skip


@dataclass
class Place:
    """A notifier, and the servers at which its notices arrive."""

    notifier: Notifier
    inbox: Inbox
    room: ChatRoom

    @property
    def arrived(self) -> list[str]:
        return [*(str(mail.get_content()) for mail in self.inbox.mails), *self.room.texts]

    def answer(self, *, is_busy: bool) -> None:
        """Take no more notices, for now or for good."""
        self.inbox.answer, self.room.status = ("450 later", 429) if is_busy else ("554 no", 400)


def due(channel: Channel, project: str = "kv_engine", *, is_public: bool = False) -> DueNotice:
    return DueNotice(
        id=7,
        regression_id=12,
        run_id=3,
        recipient=Recipient(channel, "ann@example.com"),
        instance="review",
        project=project,
        attempts=0,
        is_private=False,
        is_public=is_public,
    )


@pytest.fixture(params=Channel)
def channel(request: pytest.FixtureRequest) -> Channel:
    if request.param is Channel.CHANGE:
        pytest.skip("a comment leaves by the outbox of reviews")
    return Channel(request.param)


@pytest.fixture
def place(channel: Channel) -> Iterator[Place]:
    inbox, room = Inbox(), ChatRoom()
    if channel is Channel.MAIL:
        with mail_server(inbox) as url:
            yield Place(MailServer(url, SENDER), inbox, room)
    else:
        with chat_server(room) as url:
            yield Place(Chats({"kv_engine": url}), inbox, room)


class TestNotifier:
    def test_the_recipient_reads_what_got_slower(self, place: Place, channel: Channel) -> None:
        assert place.notifier.send(due(channel), FOUND, lambda: True)
        [text] = place.arrived
        assert "HTB/Find" in text
        assert text.rstrip().endswith(FOUND.page)
        assert [mail["Bcc"] for mail in place.inbox.mails] == [None] * len(place.inbox.mails)

    def test_nothing_leaves_if_another_sender_has_begun(self, place: Place, channel: Channel) -> None:
        assert not place.notifier.send(due(channel), FOUND, lambda: False)
        assert place.arrived == []

    @pytest.mark.parametrize("is_busy", [True, False])
    def test_a_refusal_is_final_unless_the_server_is_busy(
        self, place: Place, channel: Channel, *, is_busy: bool
    ) -> None:
        place.answer(is_busy=is_busy)
        with pytest.raises(Transient if is_busy else Permanent) as error:
            place.notifier.send(due(channel), FOUND, lambda: True)
        assert "secret" not in str(error.value)

    def test_before_it_leaves_an_outage_may_be_tried_again(self, channel: Channel) -> None:
        url = "127.0.0.1:9/secret"
        away = {
            Channel.MAIL: MailServer(f"smtp://{url}", SENDER),
            Channel.CHAT: Chats({"*": f"http://{url}"}),
        }
        with pytest.raises(Transient, match="cannot be reached") as error:
            away[channel].send(due(channel, is_public=True), FOUND, lambda: True)
        assert "secret" not in str(error.value)


def test_the_chat_of_all_others_learns_only_what_everybody_may_read() -> None:
    room = ChatRoom()
    with chat_server(room) as url:
        chats = Chats({"other": url, "*": url})
        with pytest.raises(NotFound, match="has no chat"):
            chats.send(due(Channel.CHAT), FOUND, lambda: True)
        assert chats.send(due(Channel.CHAT, is_public=True), FOUND, lambda: True)
        assert chats.send(due(Channel.CHAT, "other"), FOUND, lambda: True)
    assert len(room.texts) == 2


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, Refused), (410, Refused), (503, Transient), (500, Permanent), (504, Permanent), (302, Permanent)],
)
def test_a_chat_that_may_have_taken_it_gets_it_once(status: int, error: type[Exception]) -> None:
    room = ChatRoom(status=status)
    with chat_server(room) as url, pytest.raises(error) as raised:
        Chats({"kv_engine": url}).send(due(Channel.CHAT), FOUND, lambda: True)
    assert type(raised.value) is error


def test_the_address_of_a_chat_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    log_as_json(io.StringIO())
    with caplog.at_level(logging.INFO), chat_server(ChatRoom()) as url:
        Chats({"kv_engine": url}).send(due(Channel.CHAT), FOUND, lambda: True)
    assert "secret" not in caplog.text


def test_a_mail_server_that_refuses_the_sender_is_a_matter_of_settings() -> None:
    inbox = Inbox(on_sender="550 not you")
    with mail_server(inbox) as url, pytest.raises(Refused, match="check BENCHGATE_MAIL_FROM"):
        MailServer(url, SENDER).send(due(Channel.MAIL), FOUND, lambda: True)


def test_a_mail_that_was_taken_was_sent_whatever_the_server_says_then() -> None:
    inbox = Inbox(on_quit="421 closing")
    with mail_server(inbox) as url:
        assert MailServer(url, SENDER).send(due(Channel.MAIL), FOUND, lambda: True)
    assert len(inbox.mails) == 1


def test_a_mail_server_is_encrypted_and_has_the_name_of_its_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its certificate is of 127.0.0.1, which this test makes the only one that counts."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    options = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=mail"
    named = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", *options.split(), *named], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    inbox = Inbox()
    with mail_server(inbox, context) as url:
        server = MailServer(url.replace("smtp://", "smtps://"), SENDER)
        with pytest.raises(Transient, match="certificate verify failed"):
            server.send(due(Channel.MAIL), FOUND, lambda: True)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert server.send(due(Channel.MAIL), FOUND, lambda: True)
    assert len(inbox.mails) == 1


@contextmanager
def dripping(piece: bytes, first: bytes = b"") -> Iterator[int]:
    """A server that never ends its answer: a piece now and then, each before its client loses patience."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.sendall(first)
                while True:
                    connection.sendall(piece)
                    time.sleep(0.05)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(timeout=10)


def test_a_mail_server_that_drips_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "_WHOLE", 0.5)
    with dripping(b"220-wait\r\n") as port, pytest.raises(Transient):
        MailServer(f"smtp://127.0.0.1:{port}", SENDER).send(due(Channel.MAIL), FOUND, lambda: True)


def test_a_chat_that_drips_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "_WHOLE", 0.5)
    with (
        dripping(b"X-Wait: 1\r\n", b"HTTP/1.1 200 OK\r\n") as port,
        pytest.raises(Permanent, match="may have taken it"),
    ):
        Chats({"kv_engine": f"http://127.0.0.1:{port}"}).send(due(Channel.CHAT), FOUND, lambda: True)
