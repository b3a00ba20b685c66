"""Pages that reload their content while they wait for something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.tab import stop_clock, turn, waits
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page, Route

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

SECONDS = 5  # between two requests of the list while builds run
FRESH = """<main id="content"><section id="list" data-refresh="5">Fresh</section></main>"""


def fulfil(status: int, body: str = "") -> Callable[[Route], None]:
    """Make a service that answers every request like this."""
    return lambda route: route.fulfill(status=status, content_type="text/html", body=body)


def hang_up(route: Route) -> None:
    """Answer nothing."""
    route.abort()


class OpenList:
    """A list of changes in a tab with a stopped clock, and a service with answers that a test chooses."""

    def __init__(self, page: Page, site: str) -> None:
        self.page = page
        self.asked = 0
        self._answer: Callable[[Route], None] = fulfil(200, FRESH)
        stop_clock(page)
        page.goto("/")
        page.route(lambda url: url == f"{site}/?part=list", self._reply)

    def reply_by(self, answer: Callable[[Route], None]) -> None:
        """Choose the answer to the next requests."""
        self._answer = answer

    def let_pass(self, seconds: float) -> None:
        """Let time pass."""
        self.page.clock.run_for(round(1000 * seconds))

    def waited(self, *expected: float) -> bool:
        """Return whether the page soon has waited, or waits, for these seconds."""
        return eventually(lambda: waits(self.page) == list(expected))

    def _reply(self, route: Route) -> None:
        self.asked += 1
        self._answer(route)


@pytest.fixture
def opened(browser: Browser, site: str) -> Iterator[OpenList]:
    context = browser.new_context(base_url=site)
    yield OpenList(context.new_page(), site)
    context.close()


def test_the_list_is_replaced_again_and_again_and_nothing_else(opened: OpenList) -> None:
    for asked in range(3):
        assert opened.waited(*[SECONDS] * (asked + 1))
        assert opened.asked == asked
        opened.let_pass(SECONDS)
    expect(opened.page.locator("#list")).to_have_text("Fresh")
    expect(opened.page.locator("h1")).to_have_text("Changes")


@pytest.mark.parametrize("fault", [fulfil(500), fulfil(503), fulfil(429), hang_up])
def test_a_page_asks_less_and_less_often_until_there_is_an_answer(
    opened: OpenList, fault: Callable[[Route], None]
) -> None:
    opened.reply_by(fault)
    expected: list[float] = [SECONDS]
    for wait in (SECONDS, 10, 20, 40, 60, 60):
        opened.let_pass(expected[-1])
        expected.append(wait)
        assert opened.waited(*expected), waits(opened.page)
    assert opened.asked == len(expected) - 1
    opened.reply_by(fulfil(200, FRESH))
    opened.let_pass(60)
    assert opened.waited(*expected, SECONDS)
    expect(opened.page.locator("#list")).to_have_text("Fresh")
    opened.reply_by(fault)
    opened.let_pass(SECONDS)
    assert opened.waited(*expected, SECONDS, SECONDS)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_page_asks_after_a_refusal_only_when_somebody_returns_to_it(opened: OpenList, status: int) -> None:
    """The session may have begun again in another tab."""
    opened.reply_by(fulfil(status))
    with opened.page.expect_event("response"):
        opened.let_pass(SECONDS)
    opened.let_pass(600)
    turn(opened.page, "hidden")
    opened.let_pass(600)
    opened.page.evaluate("1")
    assert (opened.asked, waits(opened.page)) == (1, [SECONDS])
    opened.reply_by(fulfil(200, FRESH))
    turn(opened.page, "visible")
    expect(opened.page.locator("#list")).to_have_text("Fresh")
    assert opened.waited(SECONDS, SECONDS)


def test_a_hidden_page_asks_nothing_until_it_is_shown_again(opened: OpenList) -> None:
    turn(opened.page, "hidden")
    opened.let_pass(600)
    opened.page.evaluate("1")
    assert opened.asked == 0
    turn(opened.page, "visible")
    assert opened.waited(SECONDS, SECONDS)
    assert opened.asked == 1
    expect(opened.page.locator("#list")).to_have_text("Fresh")
    opened.let_pass(SECONDS)
    assert opened.waited(SECONDS, SECONDS, SECONDS)
    assert opened.asked == 2
