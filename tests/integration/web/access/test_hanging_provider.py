"""An identity provider that hangs does not stop the web server."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from threading import Event, Semaphore, Thread
from typing import TYPE_CHECKING, Final

import httpx
import pytest
from prometheus_client import CollectorRegistry

from dashboards.rendering import sign_in_page
from service.adapters.access.oidc import OidcProvider
from service.adapters.system.circuit_breaker import AT_ONCE, MOST_WAITING, SILENT_SECONDS, CircuitBreaker
from service.domain.values.errors import Transient
from service.ports.access import SignInAttempt
from service.steps.access.sign_in import ProviderSignIn
from service.web.access.address import Address
from service.web.access.attempt_cookie import StoredAttempt, encode
from service.web.access.rate_limits import RateLimits
from service.web.access.route_rights import RIGHTS
from service.web.access.sign_in import CALLBACK, WaysIn, create_sign_in
from service.web.application import assemble
from service.web.health import create_health
from tests.support.access.callers import BASE_URL, Callers
from tests.support.memory.tokens import MemoryTokens
from tests.support.reading.fake_reading import FakeReading
from tests.support.web import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

CALLERS: Final = 50  # more than the web server has threads

pytestmark = pytest.mark.integration


def provider_at(issuer: str, seconds: float) -> OidcProvider:
    breaker = CircuitBreaker("the identity provider", Semaphore(MOST_WAITING), seconds)
    return OidcProvider(issuer, "id", "secret", breaker.run, seconds)


def app_with(provider: OidcProvider) -> FastAPI:
    callers = Callers()
    ways = WaysIn(
        sessions=callers.sessions,
        tokens=MemoryTokens(),
        address=Address(BASE_URL),
        limits=RateLimits(),
        provider=ProviderSignIn(
            provider=provider,
            sessions=callers.sessions,
            role_groups={},
            callback=f"{BASE_URL}{CALLBACK}",
            record_refusal=lambda *_: None,
        ),
    )
    routers = [create_sign_in(ways, sign_in_page), create_health(FakeReading(), CollectorRegistry())]
    return assemble(routers, access=ways.access(RIGHTS, is_public=True), version="0.1.0")


def forged_cookie(state: str) -> str:
    attempt = SignInAttempt(url="", state=state, nonce="n", verifier="v")
    return f"__Host-benchgate-sign-in={encode(StoredAttempt(attempt, '/'))}"


@pytest.mark.parametrize("path", ["/sign-in/begin", f"{CALLBACK}?state=x&code=y"])
def test_people_who_wait_for_the_provider_leave_the_web_server_its_threads(path: str) -> None:
    headers = {"Cookie": forged_cookie("x")}
    with socket.create_server(("127.0.0.1", 0), backlog=CALLERS) as silent:
        provider = provider_at(f"http://127.0.0.1:{silent.getsockname()[1]}", seconds=60)
        with (
            serving(app_with(provider)) as url,
            ThreadPoolExecutor(CALLERS) as pool,
            httpx.Client(base_url=url, timeout=60, limits=httpx.Limits(max_connections=None)) as client,
        ):
            asked = [pool.submit(client.get, path, headers=headers) for _ in range(CALLERS)]
            answers = (done.result() for done in as_completed(asked, 20))
            # First those too far back in the queue, and after five seconds those who waited for their turn.
            refused = [next(answers) for _ in range(CALLERS - AT_ONCE - MOST_WAITING)]
            begun = time.monotonic()
            assert client.get("/healthz").status_code == 200
            assert time.monotonic() - begun < 4.0
            silent.close()
            # The calls that still wait end with their connections, which nobody accepts any more.
            late = list(answers)
    assert {answer.status_code for answer in refused + late} == {503}
    assert {answer.json()["detail"] for answer in refused} == {
        "too many requests wait for the identity provider"
    }


@contextmanager
def trickling_server() -> Iterator[tuple[str, Event]]:
    """A server that sends a byte of its answer now and then; the event is set once it was asked."""
    stop, was_asked = Event(), Event()

    def answer() -> None:
        connection, _ = server.accept()
        was_asked.set()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not stop.wait(0.02):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=answer)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}", was_asked
        finally:
            stop.set()
            thread.join(20)


def test_a_provider_that_trickles_its_answer_does_not_keep_a_person_waiting() -> None:
    with trickling_server() as (issuer, was_asked):
        provider = provider_at(issuer, seconds=0.5)
        for _ in range(2):
            with pytest.raises(Transient, match=r"did not answer within 0\.5 seconds") as failed:
                provider.begin(f"{BASE_URL}{CALLBACK}")
            assert 0 < (failed.value.retry_after or 0) <= SILENT_SECONDS
        assert was_asked.is_set()
