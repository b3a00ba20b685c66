from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import structlog
from prometheus_client import CollectorRegistry

from service.adapters.review.gerrit.events import parse_event
from service.domain.values.errors import Transient
from service.steps.review.receive_event import receive_events
from service.web.application import assemble
from service.web.review.webhooks import create_webhooks
from tests.support.access.callers import Callers
from tests.support.memory.store import MemoryStore
from tests.support.reading.fake_reading import FakeReading
from tests.support.web import SECRETS, build_app, build_webhooks, call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

EVENT = json.dumps({"type": "patchset-created", "change": {"number": 7, "project": "kv"}}).encode()


class Inbox:
    def __init__(self, error: Exception | None = None) -> None:
        self.bodies: list[bytes] = []
        self.error = error

    def receive(self, instance: str, bodies: Sequence[bytes]) -> list[int | None]:
        if self.error is not None:
            raise self.error
        numbers = receive_events(MemoryStore(), parse_event, instance, bodies)
        self.bodies += [body for body, number in zip(bodies, numbers, strict=True) if number is not None]
        return numbers


@pytest.mark.parametrize("secret", SECRETS)
def test_an_event_with_either_secret_is_stored_unchanged(secret: str) -> None:
    inbox = Inbox()
    app = build_webhooks(inbox.receive)
    answer = call(app, "POST", f"/webhooks/gerrit/{secret}", content=EVENT)
    assert (answer.status_code, answer.content, inbox.bodies) == (204, b"", [EVENT])


def test_the_secret_tells_which_review_server_sent_an_event() -> None:
    received: list[tuple[str, bytes]] = []

    def receive(instance: str, bodies: Sequence[bytes]) -> list[int | None]:
        received.extend((instance, body) for body in bodies)
        return [1] * len(bodies)

    secrets = {"core": ["secret-of-the-core-1", "secret-of-the-core-2"], "edge": ["secret-of-the-edge-1"]}
    routers = [create_webhooks(secrets, receive, CollectorRegistry())]
    app = assemble(routers, access=Callers().access(), version="0.1.0")
    for place, secret in enumerate((*secrets["core"], *secrets["edge"], "secret-of-nobody-1")):
        call(app, "POST", f"/webhooks/gerrit/{secret}", content=b"%d" % place)
    assert received == [("core", b"0"), ("core", b"1"), ("edge", b"2")]


@pytest.mark.parametrize(
    "secret", ["wrong-secret-of-the-hook", SECRETS[0][:-1], SECRETS[0] + "x", "%F0%9F%98%80"]
)
def test_a_wrong_secret_finds_nothing(secret: str) -> None:
    inbox = Inbox()
    app = build_webhooks(inbox.receive)
    answer = call(app, "POST", f"/webhooks/gerrit/{secret}", content=EVENT)
    assert (answer.status_code, inbox.bodies) == (404, [])
    assert secret not in answer.text


def test_without_a_configured_secret_the_route_is_closed() -> None:
    app = build_webhooks(Inbox().receive, secrets=())
    assert call(app, "POST", f"/webhooks/gerrit/{SECRETS[0]}", content=EVENT).status_code == 404


@pytest.mark.parametrize("body", [b"", b"not json", b"[1]", b"{}", b"[" * 100_000, b'{"type": 1}'])
def test_an_unreadable_event_is_accepted_counted_and_logged_without_the_secret(body: bytes) -> None:
    inbox = Inbox()
    app = build_webhooks(inbox.receive)
    with structlog.testing.capture_logs() as logs:
        answer = call(app, "POST", f"/webhooks/gerrit/{SECRETS[0]}", content=body)
    assert (answer.status_code, inbox.bodies) == (204, [])
    assert [entry["event"] for entry in logs] == ["webhook.unreadable"]
    assert SECRETS[0] not in str(logs)
    metrics = call(app, "GET", "/metrics").text
    assert 'benchgate_webhook_events_total{outcome="unreadable"} 1.0' in metrics


@pytest.mark.parametrize(("seconds", "header"), [(None, "5"), (14.2, "15")])
def test_an_event_that_cannot_be_stored_now_gets_the_errors_retry_time(
    seconds: float | None, header: str
) -> None:
    inbox = Inbox(Transient("the database restarts", seconds))
    answer = call(build_webhooks(inbox.receive), "POST", f"/webhooks/gerrit/{SECRETS[0]}", content=EVENT)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, header)


def test_an_event_that_cannot_be_stored_now_is_answered_503() -> None:
    app = build_webhooks(Inbox(Transient("away")).receive)
    answer = call(app, "POST", f"/webhooks/gerrit/{SECRETS[0]}", content=EVENT)
    assert answer.status_code == 503
    assert SECRETS[0] not in answer.text


def test_an_overlarge_body_is_refused_before_it_is_read_whole() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 64 << 20:
            sent += 1 << 16
            yield b"x" * (1 << 16)

    inbox = Inbox()
    app = build_webhooks(inbox.receive)
    answer = call(app, "POST", f"/webhooks/gerrit/{SECRETS[0]}", content=endless())
    assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json")
    assert sent <= 1 << 20
    assert inbox.bodies == []


def test_an_overlarge_announced_size_is_refused() -> None:
    app = build_app(FakeReading())
    answer = call(app, "POST", f"/webhooks/gerrit/{SECRETS[0]}", content=b"x" * ((256 << 10) + 1))
    assert answer.status_code == 413
    assert SECRETS[0] not in answer.text
