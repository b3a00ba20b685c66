"""Contract of notifiers: a mail server and a chat's incoming webhook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from service.adapters.trunk.chat import Chats
from service.adapters.trunk.mail import MailServer
from service.domain.trunk.notice import Channel, Recipient
from service.domain.trunk.regression import GateSaid
from service.domain.values.errors import NotFound, Permanent, Transient
from service.domain.wording.regressions import MergedSlowdown
from service.ports.trunk import DueNotice
from tests.support.notified import ChatRoom, Inbox, chat_server, mail_server

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def due(channel: Channel, project: str = "kv_engine") -> DueNotice:
    return DueNotice(
        id=7,
        regression_id=12,
        run_id=3,
        recipient=Recipient(channel, "ann@example.com"),
        project=project,
        attempts=0,
        is_private=False,
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
        place.notifier.send(due(channel), FOUND, lambda: True)
        [text] = place.arrived
        assert "HTB/Find" in text
        assert text.rstrip().endswith(FOUND.page)
        assert [mail["Bcc"] for mail in place.inbox.mails] == [None] * len(place.inbox.mails)

    def test_nothing_leaves_if_another_sender_has_begun(self, place: Place, channel: Channel) -> None:
        place.notifier.send(due(channel), FOUND, lambda: False)
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
            away[channel].send(due(channel), FOUND, lambda: True)
        assert "secret" not in str(error.value)


def test_a_project_without_a_chat_has_no_place() -> None:
    with pytest.raises(NotFound, match="has no chat"):
        Chats({"other": "https://hooks.example.com"}).send(due(Channel.CHAT), FOUND, lambda: True)
