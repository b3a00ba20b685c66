"""A review server that accepts connections and never answers holds up a few requests, and no other page."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
from prometheus_client import CollectorRegistry

from service.adapters.access.recent_answers import RecentAnswers
from service.adapters.access.viewers import Viewers
from service.adapters.review.gerrit.review import GerritReview
from service.adapters.system.circuit_breaker import AT_ONCE, MOST_WAITING
from service.adapters.system.json_client import Password
from service.domain.access.caller import Role
from service.domain.values.identity import ChangeKey
from service.domain.wording.refusals import SIGHT_UNKNOWN
from service.web.access.authenticate import known_caller
from service.web.api import create_api
from service.web.application import assemble
from service.web.health import create_health
from tests.support.access.callers import Callers
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import change_view
from tests.support.waiting import eventually
from tests.support.web import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI, Request

    from service.ports.reading import Reading

PEOPLE = 40  # as many as the web server has threads
QUICKLY = 4.0  # seconds; a thread that asks the review server or waits for a place waits five


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=2 * PEOPLE) as hung:
        yield hung


def app_over(review_server: str, callers: Callers) -> FastAPI:
    """Change 7 is not public, so that the review server is asked about it for each person."""
    store = FakeReading()
    add_patch_set(store, change_view(7, "Hidden"), [])
    store.hidden.add(ChangeKey("gerrit", 7))
    server = GerritReview("gerrit", review_server, Password("buildbot", "secret"))
    viewers = Viewers(RecentAnswers({"gerrit": server.for_pages()}))

    def reading_of(request: Request) -> Reading:
        return store.seen_by(viewers.of(known_caller(request)))

    routers = [create_api(reading_of), create_health(store, CollectorRegistry())]
    return assemble(routers, access=callers.access(), version="0.1.0")


@contextmanager
def browsers(address: str) -> Iterator[httpx.Client]:
    limits = httpx.Limits(max_connections=2 * PEOPLE)
    with httpx.Client(base_url=address, limits=limits, timeout=30, trust_env=False) as client:
        yield client


def test_forty_people_wait_for_a_hung_review_server_with_few_threads(listener: socket.socket) -> None:
    callers = Callers()
    cookies = [callers.as_person(Role.REVIEWER, f"p{number}") for number in range(PEOPLE)]
    app = app_over(f"http://127.0.0.1:{listener.getsockname()[1]}", callers)
    with serving(app) as address, browsers(address) as client, ThreadPoolExecutor(PEOPLE) as threads:

        def seconds_of_health() -> float:
            begun = time.monotonic()
            assert client.get("/healthz").json() == {"status": "ok"}
            return time.monotonic() - begun

        assert seconds_of_health() < QUICKLY
        pages = [threads.submit(client.get, "/api/v1/changes/7", headers=cookie) for cookie in cookies]
        assert seconds_of_health() < QUICKLY
        assert eventually(lambda: sum(page.done() for page in pages) == PEOPLE - AT_ONCE - MOST_WAITING, 4.0)
        assert seconds_of_health() < QUICKLY
        listener.close()
        # Nobody knows whether they may see the change, so that nobody reads that there is none.
        assert [page.result(30).status_code for page in pages] == [503] * PEOPLE
        page = client.get("/api/v1/changes/4711", headers=cookies[0])
        assert (page.status_code, page.json()["detail"]) == (503, SIGHT_UNKNOWN)
        assert client.get("/api/v1/changes/7").status_code == 404
