"""Answer Gerrit's Checks tab by the session that the browser has on Benchgate."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.access.caller import Role
from service.web.problems import MEDIA_TYPE
from tests.support.access.callers import BASE_URL, Callers
from tests.support.access.checks_tab import PATH, PRIVATE, PUBLIC, UNKNOWN, checks_app
from tests.support.web import GERRIT, call

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx


class Tab:
    """The Checks tab in a browser, perhaps of a person who signed in to Benchgate."""

    def __init__(self, *, is_public: bool) -> None:
        self.callers = Callers()
        self.app = checks_app(self.callers.access(is_public=is_public), GERRIT)
        self.cookie: Mapping[str, str] = {}

    def sign_in(self) -> None:
        self.cookie = {"Cookie": self.callers.as_person(Role.READER)["Cookie"]}

    def ask(self, change: int, origin: str = GERRIT) -> httpx.Response:
        headers = {"Origin": origin, "Sec-Fetch-Site": "same-site", **self.cookie}
        return call(self.app, "GET", f"{PATH}?change={change}&patchset=1", headers=headers)

    def statuses(self) -> list[int]:
        return [self.ask(change).status_code for change in (PUBLIC, PRIVATE, UNKNOWN)]


@pytest.mark.parametrize(("is_public", "anonymous"), [(True, [200, 404, 404]), (False, [401, 401, 401])])
def test_who_signed_in_sees_all_that_they_may_see(*, is_public: bool, anonymous: list[int]) -> None:
    tab = Tab(is_public=is_public)
    assert tab.statuses() == anonymous
    tab.sign_in()
    assert tab.statuses() == [200, 200, 404]


def test_a_refusal_can_be_read_by_gerrits_page() -> None:
    """Otherwise the browser reports a network error instead of an answer that asks to sign in."""
    tab = Tab(is_public=False)
    answer = tab.ask(PUBLIC)
    assert (answer.status_code, answer.headers["content-type"]) == (401, MEDIA_TYPE)
    assert answer.headers["access-control-allow-origin"] == GERRIT
    assert answer.headers["access-control-allow-credentials"] == "true"


def test_a_private_change_is_to_anonymous_readers_as_one_that_does_not_exist() -> None:
    tab = Tab(is_public=True)
    private, unknown = tab.ask(PRIVATE), tab.ask(UNKNOWN)
    names = [{name for name in answer.headers if name != "x-request-id"} for answer in (private, unknown)]
    assert names[0] == names[1]
    assert private.json()["detail"].replace(str(PRIVATE), str(UNKNOWN)) == unknown.json()["detail"]


@pytest.mark.parametrize("origin", ["https://evil.example", f"{GERRIT}:8443", BASE_URL, "null"])
def test_another_page_cannot_read_with_the_session_of_its_reader(origin: str) -> None:
    tab = Tab(is_public=False)
    tab.sign_in()
    answer = tab.ask(PRIVATE, origin)
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_no_cache_keeps_the_answer_to_one_person_for_another() -> None:
    tab = Tab(is_public=True)
    tab.sign_in()
    answer = tab.ask(PRIVATE)
    assert answer.headers["cache-control"] == "private, no-cache"
    assert {"Origin", "Cookie"} <= set(answer.headers["vary"].split(", "))


def test_an_ended_session_asks_to_sign_in_again() -> None:
    tab = Tab(is_public=False)
    tab.sign_in()
    tab.callers.sessions.now += timedelta(hours=13)
    assert tab.statuses() == [401, 401, 401]
