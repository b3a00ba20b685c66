"""The page that compares two patch sets, from PostgreSQL."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from service.adapters.access.recent_answers import RecentAnswers
from service.adapters.postgres.store import PostgresStore
from service.adapters.postgres.trunk.shown_commits import PostgresCommitReading
from service.steps.access.override_rights import OverrideRights
from service.web.trunk.commits import PageCommits
from tests.browser.test_pages import AXE
from tests.contract.reading.site import measure
from tests.integration.postgres.site import PostgresSite
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.support.postgres import Server

pytestmark = [pytest.mark.browser, pytest.mark.integration, pytest.mark.timeout(120)]
ADDRESS = "/compare?base=gerrit~7%2F1&patch=gerrit~7"


@pytest.fixture(scope="module")
def site(server: Server) -> Iterator[str]:
    with server.database() as database:
        stored = PostgresSite(database)
        stored.add_change(patch_sets=2)
        for number in (1, 2):
            measure(stored, number, "BM_Find", "BM_Hash/real_time/threads:4")
        database.change("UPDATE comparison SET error = 0.01")
        commits = PostgresCommitReading(database.owner).seen_by(None)
        page = PageCommits(
            PostgresStore(database.owner), OverrideRights(RecentAnswers({})), lambda _: commits
        )
        with serving(build_app(stored.reading, commits=page)) as address:
            yield address


def test_a_search_narrows_the_rows_while_one_types(page: Page) -> None:
    page.goto(ADDRESS)
    rows, search = page.locator("#patch-sets tbody tr"), page.get_by_role("searchbox")
    expect(rows).to_have_count(2)
    search.press_sequentially("Find")
    expect(rows).to_have_count(1)
    expect(search).to_be_focused()
    page.keyboard.type("ing")
    expect(page.get_by_text("No benchmark matches the search.")).to_be_visible()
    expect(search).to_have_value("Finding")


@pytest.mark.parametrize("width", [1280, 390])
def test_two_patch_sets_are_accessible_and_as_wide_as_the_window(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(ADDRESS)
    expect(page.get_by_role("heading", level=2, name="7/1 → 7/2")).to_be_visible()
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    assert page.evaluate(AXE) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
