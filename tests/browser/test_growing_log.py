"""Follow a log on its page while it grows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import expect

from service.domain.building.logs.stored_log import StoredLog
from tests.browser.tab import stop_clock, turn, waits
from tests.support.reading.sample_project import sample_project
from tests.support.waiting import eventually
from tests.support.web import build_app, serving
from tests.unit.domain.building.logs.stored import StoredBytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

LOG: Final = "/job/kv-engine-cv-perf/5904/log"
PAUSE: Final = 2500  # milliseconds: longer than that between two looks of the page
LINES: Final = b"".join(b"line %d\n" % number for number in range(1, 201))


class RunningBuild:
    """A build; the tests write its log."""

    def __init__(self) -> None:
        self.reading, self.stored = sample_project(), StoredBytes()
        self._build = self.reading.build("kv-engine-cv-perf", 5904).build.id
        self.write()

    def write(self, *chunks: bytes, end: bytes = b"", is_growing: bool = True) -> None:
        """Replace the log."""
        self.reading.logs[self._build] = self.stored.log(*chunks, end=end, is_growing=is_growing)

    def begin_again(self, end: bytes) -> None:
        """Let another attempt begin, which has a log of its own."""
        self.reading.logs[self._build] = replace(self.stored.log(end=end, is_growing=True), name="2")

    def delete(self) -> None:
        """Delete the log."""
        self.reading.logs[self._build] = StoredLog("", ())


@pytest.fixture(scope="module")
def running() -> RunningBuild:
    return RunningBuild()


@pytest.fixture(scope="module")
def site(running: RunningBuild) -> Iterator[str]:
    with serving(build_app(running.reading, logs=running.stored.found)) as address:
        yield address


@pytest.fixture
def fallible(browser: Browser, site: str) -> Iterator[Page]:
    """A page with requests that may fail."""
    context = browser.new_context(base_url=site)
    yield context.new_page()
    context.close()


def opened(page: Page) -> list[str]:
    """Open the log, with a clock that the test sets; return the addresses that the page asks for."""
    asked: list[str] = []
    stop_clock(page)
    page.goto(LOG)
    page.on("request", lambda request: asked.extend(request.url.split(LOG)[1:]))
    return asked


def shows(page: Page, *lines: str) -> None:
    """Let time pass, and expect these lines as the newest ones."""
    page.clock.run_for(PAUSE)
    for place, line in enumerate(reversed(lines), 1):
        expect(page.locator(".whole-log .line").nth(-place)).to_have_text(line)


def reads_on(page: Page) -> None:
    """Let time pass, and expect an answer with some new lines, after which the page asks at once."""
    page.clock.run_for(PAUSE)
    assert eventually(lambda: waits(page)[-1] == 0)


def distance_to_end(page: Page) -> float:
    return float(page.evaluate("document.documentElement.scrollHeight - innerHeight - scrollY"))


def test_new_lines_are_added_and_an_unfinished_one_is_completed(page: Page, running: RunningBuild) -> None:
    running.write(b"one\n", end=b"two\nthr")
    asked = opened(page)
    expect(page.locator(".whole-log .line")).to_have_text(["1one", "2two", "3thr"])
    running.write(b"one\ntwo\n", end=b"three\n\x1b[31mfour\x1b[0m\n")
    shows(page, "3three", "4four")
    expect(page.locator(".whole-log .line")).to_have_count(4)
    expect(page.locator(".title .facts")).to_contain_text("so far")
    assert asked[0] == "?start=8"
    running.write(b"one\ntwo\n", end=b"three\n\x1b[31mfour\x1b[0m\nfive\n")
    shows(page, "4four", "5five")


def test_the_page_follows_the_end_while_the_reader_is_there(page: Page, running: RunningBuild) -> None:
    running.write(LINES)
    opened(page)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    running.write(LINES, LINES)
    shows(page, "400line 200")
    assert distance_to_end(page) < 2


def test_the_page_stays_with_a_reader_who_has_left_the_end(page: Page, running: RunningBuild) -> None:
    running.write(LINES)
    opened(page)
    page.evaluate("scrollTo(0, 300)")
    running.write(LINES, LINES)
    shows(page, "400line 200")
    assert page.evaluate("scrollY") == 300


def test_the_page_asks_no_more_once_the_build_has_ended(page: Page, running: RunningBuild) -> None:
    running.write(b"one\n")
    asked = opened(page)
    expect(page.get_by_role("link", name="Load newer lines")).to_be_visible()
    running.write(b"one\n", b"the end\n", is_growing=False)
    shows(page, "2the end")
    expect(page.get_by_role("link", name="Load newer lines")).to_have_count(0)
    expect(page.locator(".title .facts")).not_to_contain_text("so far")
    before = len(asked)
    page.clock.run_for(20 * PAUSE)
    page.evaluate("1")
    assert len(asked) == before


def test_a_hidden_page_asks_nothing_until_it_is_shown_again(page: Page, running: RunningBuild) -> None:
    running.write(b"one\n")
    asked = opened(page)
    turn(page, "hidden")
    running.write(b"one\n", b"two\n")
    page.clock.run_for(20 * PAUSE)
    page.evaluate("1")
    assert asked == []
    turn(page, "visible")
    expect(page.locator(".whole-log .line")).to_have_text(["1one", "2two"])
    running.write(b"one\n", b"two\nthree\n")
    shows(page, "3three")


def test_the_page_reports_a_vanished_log_and_stops(fallible: Page, running: RunningBuild) -> None:
    running.write(b"one\n")
    asked = opened(fallible)
    note = fallible.locator("#content").get_by_role("status")
    expect(note).to_be_empty()
    running.delete()
    fallible.clock.run_for(PAUSE)
    expect(note).to_have_text(
        "New lines no longer appear: Benchgate answered with status 404. Reload the page."
    )
    expect(fallible.locator(".title .facts")).not_to_contain_text("new lines appear")
    expect(fallible.locator(".whole-log .line")).to_have_text(["1one"])
    fallible.clock.run_for(20 * PAUSE)
    fallible.evaluate("1")
    assert len(asked) == 1


def test_the_page_says_that_the_service_is_away_until_it_is_back(
    fallible: Page, running: RunningBuild
) -> None:
    running.write(b"one\n")
    opened(fallible)
    fallible.context.set_offline(True)
    fallible.clock.run_for(PAUSE)
    note = fallible.locator("#content").get_by_role("status")
    expect(note).to_have_text("Benchgate does not answer. The page tries again, at least once a minute.")
    running.write(b"one\n", b"two\n")
    fallible.context.set_offline(False)
    shows(fallible, "2two")
    expect(note).to_be_empty()


def test_the_page_asks_less_and_less_often_while_the_service_is_away(
    fallible: Page, running: RunningBuild
) -> None:
    running.write(b"one\n")
    opened(fallible)
    # A request that begins just after `set_offline` may still be answered.
    fallible.route(f"**{LOG}?*", lambda request: request.abort())
    expected = [2.0]
    for wait in (2, 4, 8):
        fallible.clock.run_for(int(1000 * expected[-1]))
        expected.append(wait)
        assert eventually(lambda: waits(fallible) == expected), waits(fallible)


def test_the_log_of_another_attempt_replaces_the_page(page: Page, running: RunningBuild) -> None:
    running.write(b"one\ntwo\n")
    opened(page)
    expect(page.locator(".whole-log .line")).to_have_count(2)
    running.begin_again(b"again\n")
    shows(page, "1again")
    expect(page.locator(".whole-log .line")).to_have_count(1)


def test_the_page_reports_an_omitted_middle_once(page: Page, running: RunningBuild) -> None:
    running.write(b"one\n", end=b"tw")
    opened(page)
    expect(page.locator(".whole-log .line")).to_have_text(["1one", "2tw"])
    running.write(b"one\ntwo", b"gap:134000000", end=b"hree\nfour\n")
    reads_on(page)
    shows(page, "2two", "2hree", "3four")
    notes = page.locator(".whole-log [role=note]")
    expect(notes).to_have_text(["134 MB of the log are left out here: it is longer than a machine keeps"])
    expect(page.locator(".title .facts")).to_contain_text("134 MB in the middle are not stored")
    running.write(b"one\ntwo", b"gap:134000000", end=b"hree\nfour\nfive\n")
    shows(page, "2two", "2hree", "3four", "4five")
    expect(notes).to_have_count(1)


def test_an_endless_line_is_read_on_at_its_end(page: Page, running: RunningBuild) -> None:
    running.write(b"one\n")
    asked = opened(page)
    running.write(b"one\n", b"." * 300_000, b"." * 100_000)
    reads_on(page)
    shows(page, "2" + "." * 262_144, "2" + "." * (400_000 - 262_144))
    assert len(asked) < 6


def test_the_colours_of_a_terminal_are_those_of_the_page(page: Page, running: RunningBuild) -> None:
    running.write(b"plain\n\x1b[1;31merror:\x1b[0m <b>bold</b>\n")
    opened(page)
    mark = page.locator(".whole-log .colour-red")
    expect(mark).to_have_text("error:")
    expect(mark).to_have_class("bold colour-red")
    expect(mark).not_to_have_attribute("style", re.compile(".*"))
    colours = page.evaluate(
        "[...document.querySelectorAll('#L1, .colour-red')].map(each => getComputedStyle(each).color)"
    )
    assert colours[0] != colours[1]
    expect(page.locator("#L2")).to_have_text("2error: <b>bold</b>")


def test_a_match_of_the_search_leads_to_its_line(page: Page, running: RunningBuild) -> None:
    running.write(LINES, b"an \x1b[31mError\x1b[0m here\n", LINES)
    opened(page)
    page.keyboard.press("/")
    page.keyboard.type("error here")
    page.keyboard.press("Enter")
    match = page.locator(".matches li")
    expect(match).to_have_text(["201 an Error here"])
    match.get_by_role("link").click()
    line = page.locator("#L201")
    expect(line).to_be_in_viewport()
    assert page.url.endswith("#L201")
    assert line.evaluate("each => each.matches(':target')")
