"""The page of trends: its figure, the cards of its points, and its controls."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.test_pages import AXE, FOLDED, NAMELESS
from tests.support.reading.claimed import CLAIMS, SENTENCE
from tests.support.reading.sample_project import REGRESSION, sample_project
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
MERGED = 1  # behind the line of merged commits is the band of its interval
SLOWER = 24  # the commit that is slower


def drawn(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#chart")).to_have_attribute("data-state", "drawn")


def place_of(page: Page, trace: int, point: int) -> tuple[float, float]:
    found = page.locator(".scatterlayer .trace").nth(trace).locator(".point").nth(point)
    found.scroll_into_view_if_needed()
    box = found.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize(("more", "first"), [("", 1), ("&shown=values", 0)], ids=["change", "values"])
def test_the_trend_draws_every_point(page: Page, more: str, first: int) -> None:
    """Behind the changes is the band of their interval."""
    drawn(page, f"/trends?series=1{more}")
    expect(page.locator(".scatterlayer .trace").nth(first).locator(".point")).to_have_count(60)
    expect(page.locator(".scatterlayer .trace").nth(first + 1).locator(".point")).to_have_count(9)
    expect(page.locator("#chart")).to_contain_text("new environment")
    expect(page.locator("#chart-data tbody tr")).to_have_count(69)
    above = page.locator(".scatterlayer .trace").nth(first + 2).locator(".point")
    expect(above).to_have_count(2)


def test_hovering_over_a_point_shows_subject_author_and_value(page: Page) -> None:
    drawn(page, "/trends?series=1")
    page.mouse.move(*place_of(page, MERGED, SLOWER))
    card = page.locator("#card")
    for text in ("since 0000000000", "MB-60024", "Dana Meyer", "11.5 M items/s", "slower −8.8 %", "perf-01"):
        expect(card).to_contain_text(text)
    page.mouse.move(5, 5)
    expect(card).to_be_hidden()


def test_a_commit_of_the_table_becomes_the_one_that_all_are_compared_with(page: Page) -> None:
    drawn(page, "/trends?series=1")
    page.locator("#chart-data summary").click()
    row = page.locator("#chart-data tbody tr", has_text="MB-60030").first
    row.get_by_role("link", name="since this one").click()
    page.wait_for_url("**since=001ec0ffee001e**")
    expect(page.locator("#chart")).to_have_attribute("data-state", "drawn")
    expect(page.locator("#chart .ytitle")).to_contain_text("since 001ec0ffee")
    page.get_by_role("link", name="Measured values").click()
    page.wait_for_url("**shown=values&since=001ec0ffee001e**")


def test_a_click_holds_the_card_of_a_point_and_a_second_one_opens_its_change(page: Page) -> None:
    drawn(page, "/trends?series=1")
    x, y = place_of(page, MERGED, SLOWER)
    page.mouse.move(x - 2, y - 2)
    page.mouse.click(x, y)
    page.mouse.move(5, 5)
    card = page.locator("#card")
    expect(card).to_contain_text("MB-60024")
    expect(card.get_by_role("link", name="Open its page")).to_have_attribute("href", f"/changes/{REGRESSION}")
    page.mouse.move(x - 2, y - 2)
    page.mouse.click(x, y)
    page.wait_for_url(f"**/changes/{REGRESSION}")
    expect(page.locator(".sentence")).to_contain_text("2 of 21 results are slower")


def test_a_held_card_leads_to_the_claims_of_its_commit(browser: Browser) -> None:
    reading = sample_project()
    points = tuple(replace(each, run_id=41) for each in reading.trends[0].points)
    reading.trends[0], reading.claimed[41] = replace(reading.trends[0], points=points), CLAIMS
    with serving(build_app(reading)) as site:
        page = browser.new_page()
        drawn(page, f"{site}/trends?series=1")
        page.mouse.click(*place_of(page, MERGED, SLOWER))
        card = page.locator("#card")
        expect(card).to_contain_text(SENTENCE)
        expect(card.get_by_role("link", name="Claims")).to_have_attribute("href", "/runs/41#claims")
        page.close()


def test_escape_the_button_or_a_click_on_nothing_closes_a_card(page: Page) -> None:
    drawn(page, "/trends?series=1")
    x, y = place_of(page, MERGED, SLOWER)
    card = page.locator("#card.held")
    frame = page.locator(".nsewdrag").bounding_box()
    assert frame is not None
    nothing = frame["x"] + frame["width"] * 0.1, frame["y"] + frame["height"] * 0.05
    ways: tuple[Callable[[], None], ...] = (
        lambda: page.keyboard.press("Escape"),
        lambda: card.get_by_role("button", name="Close").click(),
        lambda: page.mouse.click(*nothing),
    )
    for close in ways:
        page.mouse.move(x - 2, y - 2)
        page.mouse.click(x, y)
        expect(card).to_be_visible()
        close()
        expect(card).to_be_hidden()


def test_the_arrow_keys_go_from_commit_to_commit(page: Page) -> None:
    drawn(page, "/trends?series=1")
    page.locator("#chart").focus()
    card = page.locator("#card")
    for key, subject in (
        ("ArrowLeft", "MB-60059"),
        ("ArrowLeft", "MB-60058"),
        ("Home", "MB-60000"),
        ("ArrowLeft", "MB-60000"),
        ("ArrowRight", "MB-60001"),
        ("End", "MB-60059"),
    ):
        page.keyboard.press(key)
        expect(card).to_contain_text(subject)
    for _ in range(59 - SLOWER):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/changes/{REGRESSION}")


def test_the_arrow_keys_lead_to_the_other_series_of_a_figure(page: Page) -> None:
    drawn(page, "/trends?series=1&series=2")
    page.locator("#chart").focus()
    card, announced = page.locator("#card"), page.locator("#announced")
    for key, series in (("Home", "Pure"), ("ArrowDown", "TaskStats"), ("ArrowUp", "Pure")):
        page.keyboard.press(key)
        expect(card.locator("small").first).to_contain_text(series)
        expect(card).to_contain_text("MB-60000")
        expect(announced).to_contain_text(series)


def test_a_series_that_the_legend_hides_has_no_keys(page: Page) -> None:
    drawn(page, "/trends?series=1&series=2")
    page.evaluate("Plotly.restyle(chart, {visible: 'legendonly'}, [0])")
    page.locator("#chart").focus()
    for key in ("End", "ArrowUp"):
        page.keyboard.press(key)
        expect(page.locator("#card small").first).to_contain_text("TaskStats")


def test_only_what_the_keys_reach_is_read_out_in_a_sentence(page: Page) -> None:
    drawn(page, "/trends?series=1")
    page.mouse.move(*place_of(page, MERGED, SLOWER))
    expect(page.locator("#card")).to_be_visible()
    announced = page.locator("#announced")
    expect(announced).to_have_text("")
    page.locator("#chart").focus()
    page.keyboard.press("Home")
    expect(announced).to_contain_text("MB-60000")
    expect(announced).to_contain_text("since 0000000000")
    page.locator("#card").get_by_role("button", name="Close").click()
    expect(page.locator("#chart")).to_be_focused()


def test_a_card_stays_in_a_small_frame(page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 330})
    drawn(page, "/trends/1/embed")
    page.locator("#chart").focus()
    page.keyboard.press("End")
    box, plot = page.locator("#card").bounding_box(), page.locator(".plot").bounding_box()
    assert box is not None
    assert plot is not None
    assert plot["y"] <= box["y"]


def test_a_commit_of_a_card_becomes_the_one_that_all_are_compared_with(page: Page) -> None:
    drawn(page, "/trends?series=1&range=1y")
    page.locator("#chart").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    page.get_by_role("link", name="Since this one").first.click()
    page.wait_for_url("**series=1&range=1y&since=003ac0ffee003a")
    expect(page.locator("#chart .ytitle")).to_contain_text("since 003ac0ffee")


def test_a_first_tap_shows_a_point_and_a_second_one_opens_its_change(browser: Browser, site: str) -> None:
    context = browser.new_context(
        base_url=site, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    drawn(page, "/trends?series=1")
    x, y = place_of(page, MERGED, SLOWER)
    page.touchscreen.tap(x, y)
    expect(page.locator("#card.held")).to_contain_text("MB-60024")
    page.touchscreen.tap(x, y)
    page.wait_for_url(f"**/changes/{REGRESSION}")
    context.close()


def test_a_series_is_added_and_removed_by_links(page: Page) -> None:
    drawn(page, "/trends?series=1&by=commit")
    page.locator("tr", has_text="TaskStatsBench").get_by_role("link", name="add").click()
    page.wait_for_url("**series=1&series=2&by=commit")
    expect(page.locator("#chart")).to_have_attribute("data-state", "drawn")
    expect(page.locator(".legend .traces")).to_have_count(2)
    page.locator(".together li", has_text="PureFolly").get_by_role("link", name="Remove").click()
    page.wait_for_url("**series=2&by=commit")
    expect(page.locator("h2#series")).to_have_text("TaskStatsBench/LogQTime")


def test_a_chip_changes_one_control_and_keeps_the_others(page: Page) -> None:
    drawn(page, "/trends?series=1&range=1y")
    page.get_by_role("link", name="Logarithmic").click()
    page.wait_for_url("**series=1&range=1y&axis=log")
    expect(page.locator("#chart")).to_have_attribute("data-state", "drawn")
    expect(page.locator("#chart .ytick").first).to_contain_text("×")
    page.get_by_role("link", name="By commit").click()
    page.wait_for_url("**range=1y&by=commit&axis=log")
    expect(page.locator("#chart .xtitle")).to_have_text("measured commits; 0 is the newest")


def test_a_figure_is_saved_with_the_name_of_its_benchmark(page: Page) -> None:
    drawn(page, "/trends?series=1")
    page.locator(".share summary").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as SVG").click()
    assert saved.value.suggested_filename.startswith("PureFollyExecutorBench-OneShot")
    content = saved.value.path().read_bytes()
    assert content.startswith(b"<svg")
    assert len(content) > 5000
    assert b"OneShotScheduleRun" in content


def test_without_scripts_the_links_the_table_and_what_to_share_are_there(browser: Browser, site: str) -> None:
    context = browser.new_context(base_url=site, java_script_enabled=False)
    page = context.new_page()
    page.goto("/trends?series=1&series=2")
    page.locator(".share summary").click()
    expect(page.locator(".share code").nth(1)).to_contain_text('<iframe src="/trends/1/embed?series=2"')
    expect(page.locator("#chart-data tbody tr")).to_have_count(120)
    page.get_by_role("link", name="Measured values").click()
    page.wait_for_url("**shown=values")
    context.close()


def test_another_site_shows_a_trend_in_a_frame(browser: Browser, site: str) -> None:
    async def host(scope: object, receive: object, send: object) -> None:
        frame = f'<!doctype html><iframe src="{site}/trends/1/embed" width="800" height="420"></iframe>'
        await send(  # type: ignore[operator]
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]}
        )
        await send({"type": "http.response.body", "body": frame.encode()})  # type: ignore[operator]

    with serving(host) as other:  # type: ignore[arg-type]
        page = browser.new_page()
        page.goto(other.replace("127.0.0.1", "localhost"))
        frame = page.frame_locator("iframe")
        expect(frame.locator("#chart")).to_have_attribute("data-state", "drawn")
        expect(frame.get_by_role("link").first).to_have_attribute("target", "_blank")
        page.close()


def test_a_framed_trend_is_drawn_as_for_everybody_also_for_who_is_signed_in(
    browser: Browser, site: str
) -> None:
    context = browser.new_context(base_url=site)
    context.add_cookies([{"name": "session", "value": "signed-in", "url": site}])
    page = context.new_page()
    sent: dict[str, dict[str, str]] = {}
    page.on("request", lambda request: sent.update({request.url.partition("?")[0]: request.all_headers()}))
    drawn(page, "/trends/1/embed")
    assert "cookie" in sent[f"{site}/trends/1/embed"]
    assert "cookie" not in sent[f"{site}/trends/1/figure.json"]
    context.close()


def test_a_commit_outside_of_the_range_is_named_under_the_chart(page: Page) -> None:
    drawn(page, f"/trends?series=1&since={'e' * 40}")
    expect(page.locator("#chart-notes")).to_contain_text("Commit eeeeeeeeee is not in this range")


def test_a_zoom_is_part_of_the_address_and_comes_back_with_it(page: Page) -> None:
    drawn(page, "/trends?series=1")
    box = page.locator(".nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 62, steps=5)
    page.mouse.up()
    page.wait_for_url("**from=2026-11-**")
    zoomed = page.evaluate("document.getElementById('chart').layout.xaxis.range.map(String)")
    page.reload()
    expect(page.locator("#chart")).to_have_attribute("data-state", "drawn")
    assert page.evaluate("document.getElementById('chart').layout.xaxis.range.map(String)") == zoomed


def test_a_hostile_series_is_drawn_with_its_text_as_it_is(page: Page) -> None:
    drawn(page, "/trends?series=4")
    expect(page.locator("h2#series")).to_have_text(FOLDED[1])
    page.mouse.move(*place_of(page, MERGED, 30))
    expect(page.locator("#card")).to_contain_text('<a href="https://evil.example">BM_x</a>')
    expect(page.locator("#card a, #chart a[href*=evil]")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 320])
@pytest.mark.parametrize(
    "address", ["/trends", "/trends?series=1", "/trends?series=1&series=2", "/trends/1/embed"]
)
def test_a_page_of_trends_is_accessible_and_as_wide_as_its_window(
    page: Page, address: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    page.goto(address)
    if "1" in address:
        expect(page.locator("#chart")).to_have_attribute("data-state", "drawn")
        page.locator("#chart").focus()
        page.keyboard.press("ArrowLeft")
    page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    assert page.evaluate(AXE) == []
    assert page.locator('main [tabindex="0"]').evaluate_all(NAMELESS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
