"""Callers at the door of the application: who they are, what they may do, and what is refused."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import pytest
from fastapi import APIRouter, Body, Request

from dashboards.pages import create_pages
from dashboards.rendering import Pages
from service.domain.access.caller import Role, TokenHolder
from service.domain.access.needs import Need
from service.domain.access.scopes import ScopeKind, TokenScope
from service.domain.values.errors import TooMany
from service.steps.runs.check_health import HealthCheck
from service.web.access.authenticate import known_caller
from service.web.access.route_rights import RIGHTS
from service.web.application import assemble
from service.web.problems import MEDIA_TYPE
from tests.support.access.callers import BASE_URL, Callers, who_router
from tests.support.reading.sample_project import sample_project
from tests.support.web import SECRETS, build_app, call, routes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI

    from service.domain.access.caller import AccountLink

PAGE: Final = {"Accept": "text/html"}
READ_TOKEN: Final = "bgt_read"
READER: Final = TokenHolder(token_id=7, name="reader", scopes=frozenset({TokenScope(ScopeKind.READ)}))
REPORT_TOKEN: Final = "bgt_report"
REPORTER: Final = TokenHolder(
    token_id=8, name="reporter", scopes=frozenset({TokenScope(ScopeKind.REPORT, project="kv", job="ci")})
)
_RIGHTS: Final = {
    **RIGHTS,
    ("GET", "/who"): Need.READ,
    ("POST", "/act"): Need.ACT,
    ("POST", "/operate"): Need.OPERATE,
    ("POST", "/report"): Need.REPORT,
}


class Site:
    """An application with two routes that act, and one that names the caller."""

    def __init__(self, *, is_public: bool = True) -> None:
        self.callers = Callers(tokens={READ_TOKEN: READER, REPORT_TOKEN: REPORTER})
        self.acted: list[str] = []
        router = who_router()

        @router.post("/act")
        def act(body: Annotated[object, Body()] = None) -> None:
            self.acted.append("act")

        @router.post("/operate")
        def operate(request: Request) -> None:
            self.acted.append("operate")

        @router.post("/report")
        def report() -> None:
            self.acted.append("report")

        @router.get("/forgotten")
        def forgotten() -> None:
            self.acted.append("forgotten")

        access = self.callers.access(is_public=is_public, rights=_RIGHTS)
        reading = sample_project()
        health = HealthCheck(reading)
        pages = create_pages(lambda _: reading, pages=Pages(health), stream_log=lambda _: iter(()))
        self.app: FastAPI = assemble([router, pages], access=access, version="0.1.0", problem_page=_page)

    def person(self, role: Role = Role.REVIEWER, subject: str = "al") -> Mapping[str, str]:
        return self.callers.as_person(role, subject)


def _page(
    status: int, detail: str, account: AccountLink | None, request_id: str, retry_after: int | None
) -> str:
    return f"<p>{status} {detail}</p>"


@pytest.fixture
def site() -> Site:
    return Site()


def bearer(token: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_caller_without_credentials_is_anonymous_and_costs_no_question(site: Site) -> None:
    answer = call(site.app, "GET", "/who", headers={"Cookie": "theme=dark"})
    assert answer.json() == "anonymous"
    assert "set-cookie" not in answer.headers
    assert site.callers.sessions.found == 0


def test_a_caller_without_credentials_costs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    callers = Callers()
    router = APIRouter()
    threads: list[int] = []

    @router.get("/who")
    async def who(request: Request) -> str:
        threads.append(threading.get_ident())
        return str(known_caller(request))

    app = assemble([router], access=callers.access(rights=_RIGHTS), version="0.1.0")
    monkeypatch.setattr("service.web.access.authenticate.run_in_threadpool", None)
    assert call(app, "GET", "/who").status_code == 200
    assert threads == [threading.get_ident()]


def test_a_cookie_is_the_person_of_its_session(site: Site) -> None:
    assert call(site.app, "GET", "/who", headers=site.person()).json() == "reviewer al"


def test_a_cookie_without_the_host_prefix_is_not_looked_at(site: Site) -> None:
    """Any host of the same domain could plant it."""
    secret = site.callers.sign_in(Role.OPERATOR)
    assert call(site.app, "GET", "/who", headers={"Cookie": f"benchgate={secret}"}).json() == "anonymous"


def test_a_bearer_token_is_its_holder(site: Site) -> None:
    assert call(site.app, "GET", "/who", headers=bearer(READ_TOKEN)).json() == "token reader"


@pytest.mark.parametrize("path", ["/who", "/", "/api/v1/openapi.json"])
@pytest.mark.parametrize("token", ["bgt_unknown", "", "x y"])
def test_a_bad_token_is_refused_also_if_reading_is_public(site: Site, path: str, token: str) -> None:
    answer = call(site.app, "GET", path, headers={**bearer(token), **PAGE})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="benchgate"'
    assert "the API token is not valid" in answer.text


def test_the_password_of_a_proxy_is_no_credential_here(site: Site) -> None:
    answer = call(site.app, "GET", "/who", headers={"Authorization": "Basic dXNlcjpwYXNz"})
    assert answer.json() == "anonymous"


def test_a_cookie_and_a_token_together_are_refused(site: Site) -> None:
    answer = call(site.app, "GET", "/who", headers={**site.person(), **bearer(READ_TOKEN)})
    assert answer.status_code == 400
    assert "send one of them" in answer.json()["detail"]


def test_an_ended_sessions_cookie_does_not_stop_a_token() -> None:
    site = Site()
    headers = {"Cookie": site.person()["Cookie"], **bearer(REPORT_TOKEN)}
    assert call(site.app, "POST", "/report", headers=headers).status_code == 400
    site.callers.sessions.now += timedelta(hours=13)
    answer = call(site.app, "POST", "/report", headers=headers)
    assert answer.status_code == 200
    assert "__Host-benchgate=;" in answer.headers["set-cookie"]
    assert site.acted == ["report"]


@pytest.mark.parametrize("wait", [timedelta(hours=2), timedelta(hours=13)])
def test_an_expired_session_is_anonymous_and_its_cookie_is_removed(site: Site, wait: timedelta) -> None:
    headers = site.person()
    site.callers.sessions.now += wait
    answer = call(site.app, "GET", "/who", headers=headers)
    assert answer.json() == "anonymous"
    assert answer.headers["set-cookie"] == (
        "__Host-benchgate=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure"
    )
    assert call(site.app, "POST", "/act", headers=headers).status_code == 401
    assert site.acted == []


def test_an_answer_for_a_person_is_not_for_shared_caches(site: Site) -> None:
    answer = call(site.app, "GET", "/", headers=site.person())
    assert answer.status_code == 200
    assert (answer.headers["cache-control"], answer.headers["vary"]) == (
        "private, no-cache",
        "Accept-Encoding, Cookie",
    )


def test_a_route_without_an_entry_is_closed_to_everybody(site: Site) -> None:
    for headers in ({}, site.person(Role.OPERATOR), bearer(READ_TOKEN)):
        answer = call(site.app, "GET", "/forgotten", headers=headers)
        assert answer.status_code == 403
        assert "table of rights" in answer.json()["detail"]
    assert site.acted == []


@pytest.mark.parametrize("path", ["/api/v1/openapi.json", "/who", "/changes/4712"])
def test_signed_in_reading_asks_for_a_sign_in(path: str) -> None:
    site = Site(is_public=False)
    answer = call(site.app, "GET", path)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert call(site.app, "GET", path, headers=site.person(Role.READER)).status_code == 200
    assert call(site.app, "GET", path, headers=bearer(READ_TOKEN)).status_code == 200


def test_a_browser_without_a_session_is_sent_to_sign_in_and_back() -> None:
    site = Site(is_public=False)
    answer = call(site.app, "GET", "/changes/4712?q=a%20b&show=slower", headers=PAGE)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?return=%2Fchanges%2F4712%3Fq%3Da%2520b%26show%3Dslower"
    assert answer.headers["cache-control"] == "no-store"


def test_a_browser_that_posts_without_a_session_gets_a_page(site: Site) -> None:
    answer = call(site.app, "POST", "/act", headers=PAGE)
    assert (answer.status_code, answer.text) == (401, "<p>401 this needs the role reviewer; sign in</p>")


def test_a_role_below_the_need_is_refused_with_both_names(site: Site) -> None:
    answer = call(site.app, "POST", "/operate", headers=site.person(Role.REVIEWER))
    assert answer.status_code == 403
    assert answer.json()["detail"] == "this needs the role operator; yours is reviewer"
    assert site.acted == []


def test_a_person_acts_from_a_page_of_benchgate(site: Site) -> None:
    assert call(site.app, "POST", "/act", headers=site.person()).status_code == 200
    assert site.acted == ["act"]


@pytest.mark.parametrize(
    "sender",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "https://bench.example.com.evil.example"},
        {"Origin": "http://bench.example.com"},
        {"Origin": "https://bench.example.com:8443"},
        {"Origin": "null"},
        {"Origin": ""},
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Referer": f"{BASE_URL}/"},
        {"Host": "bench.example.com"},
    ],
)
def test_a_post_of_another_site_is_refused(site: Site, sender: Mapping[str, str]) -> None:
    cookie = {"Cookie": site.person()["Cookie"]}
    answer = call(site.app, "POST", "/act", headers={**cookie, **sender})
    assert answer.status_code == 403
    assert f"only pages at {BASE_URL} may send this" in answer.json()["detail"]
    assert site.acted == []


def test_a_browser_that_names_no_origin_may_name_the_same_site(site: Site) -> None:
    cookie = {"Cookie": site.person()["Cookie"], "Sec-Fetch-Site": "same-origin"}
    assert call(site.app, "POST", "/act", headers=cookie).status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
def test_no_other_method_acts(site: Site, method: str) -> None:
    assert call(site.app, method, "/act", headers=site.person()).status_code == 405
    assert site.acted == []


def test_many_posts_of_one_person_are_refused_and_another_person_still_acts(site: Site) -> None:
    headers = site.person()
    statuses = [call(site.app, "POST", "/act", headers=headers).status_code for _ in range(61)]
    assert statuses == [200] * 60 + [429]
    answer = call(site.app, "POST", "/act", headers={**headers, **PAGE})
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert "more than 60 requests in a minute" in answer.text
    assert call(site.app, "POST", "/act", headers=site.person(subject="bo")).status_code == 200


def test_a_second_session_of_the_same_person_has_no_limit_of_its_own(site: Site) -> None:
    limits = site.app.state.access.limits
    person = site.callers.sessions.find(site.callers.sign_in(Role.READER))
    again = site.callers.sessions.find(site.callers.sign_in(Role.READER))
    assert person is not None
    assert again is not None
    for _ in range(60):
        limits.change(person)
    with pytest.raises(TooMany):
        limits.change(again)


@pytest.mark.parametrize("size", [(64 << 10) + 1, 10 << 20])
def test_a_large_body_is_refused_before_anybody_is_asked(site: Site, size: int) -> None:
    headers = {**site.person(), "Content-Type": "application/json"}

    async def chunks() -> object:
        for _ in range(size // 1000 + 1):
            yield b"x" * 1000

    for body in (b"x" * size, chunks()):
        answer = call(site.app, "POST", "/act", headers=headers, content=body)
        assert answer.status_code == 413
        assert answer.json()["detail"] == "the body of a request has at most 64 KiB"
    assert (site.acted, site.callers.sessions.found) == ([], 0)


def test_the_webhook_has_a_limit_of_its_own() -> None:
    app = build_app(sample_project())
    answer = call(app, "POST", f"/webhooks/gerrit/{SECRETS[0]}", content=b"x" * (100 << 10))
    assert answer.status_code == 204


def test_nothing_that_needs_no_right_asks_for_a_session(site: Site) -> None:
    stylesheet = next(name for name in call(site.app, "GET", "/").text.split('"') if name.endswith(".css"))
    found = site.callers.sessions.found
    assert call(site.app, "GET", stylesheet, headers=site.person()).status_code == 200
    assert site.callers.sessions.found == found


def test_every_route_has_a_right_and_every_right_a_route() -> None:
    found = list(routes_of(build_app(sample_project()).routes))
    assert len(found) == len(set(found))
    assert set(found) == set(RIGHTS)
