"""Links to the account, to the page for signing in, or none if nobody can sign in."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pytest

from service.domain.access.caller import Role
from tests.support.access.callers import Callers
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import sample_project
from tests.support.web import build_app, call

if TYPE_CHECKING:
    from fastapi import FastAPI

PAGE: Final = {"Accept": "text/html"}
MISSING: Final = ("/changes/99", "/changes/4712/9", "/runs/9", "/job/perf/99", "/nothing")
PAGES: Final = ("/", "/trends?q=a%20b", "/machines", "/docs", "/changes/4712", "/changes/99", "/nothing")

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def callers() -> Callers:
    return Callers()


@pytest.fixture(scope="module")
def app(callers: Callers) -> FastAPI:
    return build_app(sample_project(), access=callers.access())


@pytest.fixture(scope="module")
def closed(callers: Callers) -> FastAPI:
    """Build a site that nobody can sign in to."""
    return build_app(sample_project(), access=callers.access(has_way_in=False))


def links_of(text: str) -> list[str]:
    """The names of the header's links."""
    nav = text.partition('<nav aria-label="Main">')[2].partition("</nav>")[0]
    return re.findall(r"<a [^>]*>([^<]*)</a>", nav)


@pytest.mark.parametrize("path", PAGES)
def test_anonymous_readers_find_the_sign_in_page_and_return_from_it(app: FastAPI, path: str) -> None:
    page = call(app, "GET", path, headers=PAGE).text
    assert "Account" not in links_of(page)
    assert f'<a href="/sign-in?return={quote(path, safe="")}">Sign in</a>' in page


@pytest.mark.parametrize("path", PAGES)
def test_a_person_finds_their_account(app: FastAPI, callers: Callers, path: str) -> None:
    page = call(app, "GET", path, headers={**PAGE, **callers.as_person(Role.READER)}).text
    assert '<a href="/account">Account</a>' in page
    assert "Sign in" not in links_of(page)


def test_the_account_page_is_marked_in_the_header(app: FastAPI, callers: Callers) -> None:
    page = call(app, "GET", "/account", headers={**PAGE, **callers.as_person(Role.READER)}).text
    assert '<a href="/account" aria-current="page">Account</a>' in page


def test_an_ended_session_does_not_count(app: FastAPI, callers: Callers) -> None:
    headers = callers.as_person(Role.READER)
    callers.sessions.now += timedelta(hours=13)
    assert links_of(call(app, "GET", "/", headers={**PAGE, **headers}).text)[-1] == "Sign in"


@pytest.mark.parametrize("path", [*PAGES, "/sign-in"])
def test_a_site_without_a_way_in_offers_none(closed: FastAPI, path: str) -> None:
    assert links_of(call(closed, "GET", path, headers=PAGE).text) == [
        "Changes",
        "Trends",
        "Regressions",
        "Failures",
        "Benchmarks",
        "Machines",
    ]


@pytest.mark.parametrize("path", ["/" + "a" * 1500, "/a%0d%0ab"])
def test_a_path_without_a_way_back_still_leads_to_the_sign_in_page(app: FastAPI, path: str) -> None:
    page = call(app, "GET", path, headers=PAGE).text
    link = page.split('<a href="/sign-in')[1].split('"')[0]
    assert call(app, "GET", f"/sign-in{link}", headers=PAGE).status_code == 200


def test_a_page_that_answers_a_form_does_not_lead_back_to_it(app: FastAPI) -> None:
    page = call(app, "POST", "/sign-out", headers=PAGE)
    assert page.status_code == 401
    assert '<a href="/sign-in">Sign in</a>' in page.text
    assert '<p><a href="/sign-in">Sign in</a> to go on.</p>' in page.text


def test_without_a_way_in_the_page_says_what_an_operator_must_set(closed: FastAPI) -> None:
    page = call(closed, "GET", "/sign-in", headers=PAGE).text
    assert "an operator must set BENCHGATE_OIDC_ISSUER, BENCHGATE_OIDC_CLIENT_ID and" in page
    assert "benchgate up" not in page


@pytest.mark.parametrize("path", MISSING)
def test_a_missing_page_offers_to_sign_in(app: FastAPI, path: str) -> None:
    """A change that is not public is one of them."""
    page = call(app, "GET", path, headers=PAGE)
    assert page.status_code == 404
    link = f'<a href="/sign-in?return={quote(path, safe="")}">Sign in</a> to see what is not public.'
    assert link in page.text


@pytest.mark.parametrize("path", MISSING)
def test_a_missing_page_offers_it_to_nobody_else(
    app: FastAPI, closed: FastAPI, callers: Callers, path: str
) -> None:
    signed_in = {**PAGE, **callers.as_person(Role.READER)}
    for page in (call(closed, "GET", path, headers=PAGE), call(app, "GET", path, headers=signed_in)):
        assert page.status_code == 404
        assert "not public" not in page.text


def test_an_empty_list_says_that_no_change_is_public_and_offers_to_sign_in(callers: Callers) -> None:
    app = build_app(FakeReading(), access=callers.access())
    anonymous = call(app, "GET", "/", headers=PAGE).text
    assert "No change is public, or there is none yet." in anonymous
    assert '<a href="/sign-in?return=%2F">Sign in</a> to see the changes' in anonymous
    signed_in = call(app, "GET", "/", headers={**PAGE, **callers.as_person(Role.READER)}).text
    assert "The review server shows no change to you, or there is none yet." in signed_in


def test_an_empty_list_of_a_site_without_a_way_in_offers_none(callers: Callers) -> None:
    app = build_app(FakeReading(), access=callers.access(has_way_in=False))
    page = call(app, "GET", "/", headers=PAGE).text
    assert "No change is public, or there is none yet. The first" in page
    assert "Sign in" not in page
