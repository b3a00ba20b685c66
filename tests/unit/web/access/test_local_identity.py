"""Sign this machine's user in by a secret link."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest

from dashboards.rendering import sign_in_page
from service.adapters.access.sign_in_secret import read_secret, renew_secret
from service.domain.access.needs import Need
from service.domain.access.scopes import ScopeKind, TokenScope
from service.ports.access import NewToken
from service.steps.access.sign_in import LOCAL_SUBJECT
from service.web.access.address import Address
from service.web.access.local_identity import LocalIdentity
from service.web.access.rate_limits import RateLimits
from service.web.access.route_rights import RIGHTS
from service.web.access.sign_in import WaysIn, create_sign_in
from service.web.application import assemble
from tests.support.access.browser import Browser
from tests.support.access.callers import Callers, who_router
from tests.support.memory.tokens import MemoryTokens

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fastapi import FastAPI

ORIGIN: Final = "http://127.0.0.1:8080"
HOST: Final = {"Host": "127.0.0.1:8080"}


@pytest.fixture
def secret(tmp_path: Path) -> str:
    return renew_secret(tmp_path)


@pytest.fixture
def browser(tmp_path: Path, secret: str) -> Browser:
    return Browser(app_of(LocalIdentity(lambda: read_secret(tmp_path))), ORIGIN)


def app_of(
    local: LocalIdentity | None,
    origin: str = ORIGIN,
    callers: Callers | None = None,
    tokens: MemoryTokens | None = None,
) -> FastAPI:
    callers, tokens = callers or Callers(), tokens or MemoryTokens()
    ways = WaysIn(
        sessions=callers.sessions, tokens=tokens, address=Address(origin), limits=RateLimits(), local=local
    )
    access = ways.access({**RIGHTS, ("GET", "/who"): Need.READ}, is_public=True)
    return assemble([create_sign_in(ways, sign_in_page), who_router()], access=access, version="0.1.0")


def post(browser: Browser, secret: str, headers: Mapping[str, str]) -> int:
    form = {"secret": secret, "return": "/who"}
    return browser.post("/sign-in/local", form, headers).status_code


def test_only_the_user_can_read_the_file_and_each_start_has_another_secret(tmp_path: Path) -> None:
    first = renew_secret(tmp_path)
    (tmp_path / "sign-in").chmod(0o644)
    second = renew_secret(tmp_path)
    assert first != second
    assert len(second) == 43
    assert read_secret(tmp_path) == second
    assert (tmp_path / "sign-in").stat().st_mode & 0o777 == 0o600


def test_the_link_shows_a_button_and_only_the_button_signs_in(browser: Browser, secret: str) -> None:
    page = browser.get(f"/sign-in?secret={secret}", HOST)
    assert "Continue as the user of this machine" in page.text
    assert browser.cookies == {}
    assert page.headers["cache-control"] == "no-store"
    answer = browser.post("/sign-in/local", {"secret": secret, "return": "/who"}, HOST)
    assert (answer.status_code, answer.headers["location"]) == (303, "/who")
    assert set(browser.cookies) == {"benchgate-8080"}
    assert browser.get("/who", HOST).json() == "operator local"


def test_two_sites_of_one_machine_do_not_end_each_others_sessions(secret: str, tmp_path: Path) -> None:
    """Their browser sends the cookies of both to each."""
    first, second = (
        Browser(app_of(LocalIdentity(lambda: read_secret(tmp_path)), origin), origin)
        for origin in (ORIGIN, "http://127.0.0.1:9090")
    )
    second.cookies = first.cookies
    for browser in (first, second):
        assert post(browser, secret, HOST) == 303
    for browser in (first, second):
        assert browser.get("/who", HOST).json() == "operator local"


@pytest.mark.parametrize("wrong", ["", "x", "A" * 43, "é"])
def test_another_secret_is_refused(browser: Browser, wrong: str) -> None:
    assert post(browser, wrong, HOST) == 403
    assert browser.cookies == {}


def test_the_secret_of_an_earlier_start_is_refused(browser: Browser, secret: str, tmp_path: Path) -> None:
    renew_secret(tmp_path)
    assert post(browser, secret, HOST) == 403
    page = browser.get(f"/sign-in?secret={secret}", HOST)
    assert page.status_code == 403
    assert "this link has expired; open the one that `benchgate up`" in page.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "bench.example.com"},
        {"Host": "127.0.0.1.evil.example"},
        {**HOST, "X-Forwarded-For": "127.0.0.1"},
        {**HOST, "X-Forwarded-Proto": "https"},
        {**HOST, "X-Real-IP": "192.0.2.7"},
        {**HOST, "Forwarded": "for=192.0.2.7"},
        {**HOST, "Via": "1.1 proxy"},
    ],
)
def test_a_request_by_a_proxy_or_to_another_host_is_refused_with_the_right_secret(
    browser: Browser, secret: str, headers: Mapping[str, str]
) -> None:
    assert post(browser, secret, headers) == 403
    assert browser.get(f"/sign-in?secret={secret}", headers).status_code == 403
    assert browser.cookies == {}


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:8080"])
def test_a_form_of_another_site_is_refused_with_the_right_secret(
    browser: Browser, secret: str, origin: str
) -> None:
    assert post(browser, secret, {**HOST, "Origin": origin}) == 403


def test_without_a_secret_file_nobody_signs_in_and_the_page_says_how(tmp_path: Path) -> None:
    browser = Browser(app_of(LocalIdentity(lambda: read_secret(tmp_path / "none"))), ORIGIN)
    assert post(browser, "", HOST) == 403
    page = browser.get("/sign-in", HOST).text
    assert "open the link that `benchgate up` or the demo printed when it started" in page
    assert "BENCHGATE_OIDC_ISSUER" not in page


def test_a_gerrit_or_a_provider_closes_this_way_in(secret: str) -> None:
    browser = Browser(app_of(None), ORIGIN)
    assert secret not in browser.get(f"/sign-in?secret={secret}", HOST).text
    assert post(browser, secret, HOST) == 404


def test_a_gerrit_or_a_provider_ends_the_session_of_this_machine(secret: str, tmp_path: Path) -> None:
    """Otherwise the user of this machine would stay operator for twelve hours after the provider came."""
    callers = Callers()
    before = Browser(app_of(LocalIdentity(lambda: read_secret(tmp_path)), callers=callers), ORIGIN)
    assert post(before, secret, HOST) == 303
    after = Browser(app_of(None, callers=callers), ORIGIN)
    after.cookies = dict(before.cookies)
    assert after.get("/who", HOST).json() == "anonymous"
    assert after.cookies == {}


@pytest.mark.parametrize(
    ("subject", "status_with_provider"), [(LOCAL_SUBJECT, 401), ("s-1", 200), ("", 200)], ids=repr
)
def test_a_gerrit_or_a_provider_invalidates_the_tokens_of_this_machines_user(
    tmp_path: Path, subject: str, status_with_provider: int
) -> None:
    """An empty subject is that of a command."""
    tokens = MemoryTokens()
    reading = NewToken(
        name="ci",
        scopes=frozenset({TokenScope(ScopeKind.READ)}),
        lifetime=timedelta(days=90),
        created_by="somebody",
        subject=subject,
    )
    _, text = tokens.add(reading)
    headers = {**HOST, "Authorization": f"Bearer {text}"}
    local = LocalIdentity(lambda: read_secret(tmp_path))
    assert Browser(app_of(local, tokens=tokens), ORIGIN).get("/who", headers).json() == "token ci"
    assert (
        Browser(app_of(None, tokens=tokens), ORIGIN).get("/who", headers).status_code == status_with_provider
    )
