"""Regressions in a browser, on pages from PostgreSQL: lists, search, judging, and a narrow screen."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from service.domain.access.caller import Role
from tests.integration.postgres.trunk.regression_site import SAME, UNDECIDED, Site
from tests.support.trunk import SLOWER, WITHHELD, key
from tests.support.web import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.support.postgres import Server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
LONG = "CB3ExecutorBench/OneShotScheduleRun/real_time/threads:4"


@pytest.fixture
def site(server: Server) -> Iterator[Site]:
    with server.database() as database:
        site = Site(database)
        site.merge({key(LONG): SLOWER, key("BM_<img src=x>"): SLOWER}, {key(LONG): UNDECIDED})
        site.merge({key("BM_b"): SLOWER}, {key("BM_b"): SAME})
        site.merge({key("BM_w"): WITHHELD})
        yield site


@pytest.fixture
def person(browser: Browser, site: Site) -> Iterator[Page]:
    """The browser of a reviewer, which runs no scripts."""
    with serving(site.app) as address:
        site.app.state.access = site.callers.access(base_url=address)
        context = browser.new_context(base_url=address, java_script_enabled=False)
        name = site.app.state.access.address.session_cookie
        secret = site.callers.sign_in(Role.REVIEWER)
        context.add_cookies([{"name": name, "value": secret, "url": address, "sameSite": "Lax"}])
        yield context.new_page()
        context.close()


def test_many_are_judged_at_once_by_the_keyboard(person: Page, site: Site) -> None:
    person.goto("/regressions")
    for number in (1, 2):
        person.get_by_role("checkbox", name=f"Choose regression {number}").focus()
        person.keyboard.press("Space")
    person.get_by_label("State").select_option("confirmed")
    person.get_by_label("Bug, like").fill("MB-7")
    person.keyboard.press("Enter")
    person.wait_for_url(re.compile("/regressions.list=new$"))
    expect(person.get_by_role("link", name="Open 2")).to_be_visible()
    assert site.states() == {1: "confirmed", 2: "confirmed", 3: "untriaged"}


def test_the_way_from_the_list_to_a_judged_regression_is_two_clicks(person: Page, site: Site) -> None:
    person.goto("/regressions")
    person.get_by_role("link", name="BM_b").click()
    expect(person.get_by_text("The gate had said: the same.")).to_be_visible()
    person.get_by_label("State").select_option("accepted")
    person.get_by_label("Note").fill("worth it")
    person.get_by_role("button", name="Save").click()
    expect(person.get_by_text("accepted, by Al Ray")).to_be_visible()
    assert site.states()[2] == "accepted"


def test_a_search_stays_in_its_list(person: Page) -> None:
    person.goto("/regressions?list=new")
    person.get_by_label("Find by benchmark").fill("bm_<img")
    person.keyboard.press("Enter")
    expect(person.get_by_role("checkbox")).to_have_count(1)
    assert person.url.endswith("q=bm_%3Cimg&list=new")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", ["/regressions", "/regressions/1"])
def test_a_page_has_no_fault_of_access_and_fits(browser: Browser, site: Site, path: str, width: int) -> None:
    with serving(site.app) as address:
        site.app.state.access = site.callers.access(base_url=address)
        context = browser.new_context(base_url=address, viewport={"width": width, "height": 844})
        name = site.app.state.access.address.session_cookie
        secret = site.callers.sign_in(Role.REVIEWER)
        context.add_cookies([{"name": name, "value": secret, "url": address, "sameSite": "Lax"}])
        page = context.new_page()
        page.goto(path)
        page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
        found = page.evaluate("axe.run().then((all) => all.violations.map((v) => [v.id, v.nodes[0].html]))")
        assert found == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
        hidden = (
            "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth).length"
        )
        assert page.evaluate(hidden) == 0
        context.close()
