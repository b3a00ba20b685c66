"""The page of a patch set in a browser, from PostgreSQL: history, order, copying, keys, and a phone."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from tests.integration.postgres.site import PostgresSite
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

    from tests.support.postgres import Server

pytestmark = [pytest.mark.browser, pytest.mark.integration, pytest.mark.timeout(180)]
COMMITS = 12
HOSTILE = "BM_<img src=x>'\"/threads:4"
LONG = "CB3ExecutorBench/OneShotScheduleRun/real_time/threads:4"
# Verdict, ratio, base and patch of each row of the change.
ROWS = {
    LONG: (Verdict.SLOWER, 0.9, 20, 18),
    HOSTILE: (Verdict.SLOWER, 0.8, 10, 8),
    "BM_c": (Verdict.UNDECIDED, 0.98, 30, 29.4),
    "BM_d": (Verdict.FASTER, 1.3, 40, 52),
    "BM_e": (Verdict.SAME, 1.001, 50, 50.05),
    "BM_f": (Verdict.BROKEN, None, None, None),
}
REFUSE_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
OFFER_CLIPBOARD = """
window.copied = [];
const clipboard = {writeText: async (text) => { window.copied.push(text); }};
Object.defineProperty(navigator, "clipboard", {value: clipboard});
"""
NAMES = "tr.row th bdi"


@pytest.fixture(scope="module")
def site(server: Server) -> Iterator[str]:
    with server.database() as database:
        stored = PostgresSite(database)
        stored.add_change(6, patch_sets=COMMITS)
        for number in range(1, COMMITS + 1):
            run = stored.add_run(number, kind=RunKind.POST_SUBMIT, parent=f"6-{number - 1}", change=6)
            stored.add_build(run, benchmarks=list(ROWS))
            database.change(
                """UPDATE comparison SET ratio = :ratio, verdict = :verdict
                   WHERE build_id = (SELECT max(id) FROM build)""",
                ratio=1.004 if number % 3 else 0.96,
                verdict=Verdict.SAME if number % 3 else Verdict.SLOWER,
            )
        stored.add_change(7)
        run = stored.add_run(parent=f"6-{COMMITS}")
        stored.add_build(run, "2 of 6 results are slower", benchmarks=list(ROWS))
        for name, (verdict, ratio, base, patch) in ROWS.items():
            database.change(
                """UPDATE comparison SET verdict = :verdict, ratio = :ratio, low = :low,
                                         high = :high, base = :base, patch = :patch
                   WHERE build_id = (SELECT max(id) FROM build)
                     AND series_id = (SELECT id FROM series WHERE benchmark = :name)""",
                name=name,
                verdict=verdict,
                ratio=ratio,
                low=ratio and ratio - 0.02,
                high=ratio and ratio + 0.02,
                base=base,
                patch=patch,
            )
        database.change("UPDATE build SET outcome = 'slower', result = 'FAILURE' WHERE number = 13")
        stored.decide(run, -1)
        with serving(build_app(stored.reading)) as address:
            yield address


def test_a_row_shows_the_last_commits_of_its_benchmark_in_words_and_as_a_line(page: Page) -> None:
    page.goto("/changes/7/1")
    line = page.locator("tr.row", has_text="OneShot").get_by_role("img", name=re.compile("measured commits"))
    expect(line).to_have_accessible_name(
        "Of the last 12 measured commits, 4 were slower and 0 faster: at most by −4.0 %. This one: −10.0 %"
    )
    expect(line.locator("circle.mark")).to_be_visible()
    expect(page.get_by_role("rowheader", name=re.compile("^CB3ExecutorBench.*threads:4$"))).to_be_visible()
    page.goto("/changes/7/1?show=same")
    expect(page.locator("tr.row")).to_have_count(1)
    expect(page.locator("svg.sparkline")).to_have_count(0)


def test_columns_are_sorted_by_links_that_keep_search_and_focus(page: Page) -> None:
    page.goto("/changes/7/1?show=all&q=bm_")
    names = page.locator(NAMES)
    expect(names).to_have_text(["BM_f", HOSTILE, "BM_c", "BM_d", "BM_e"])
    page.get_by_role("link", name="Change", exact=True).click()
    change = page.get_by_role("columnheader", name="Change")
    expect(change).to_have_attribute("aria-sort", "ascending")
    expect(names).to_have_text([HOSTILE, "BM_c", "BM_e", "BM_d", "BM_f"])
    expect(change.get_by_role("link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(change).to_have_attribute("aria-sort", "descending")
    expect(names).to_have_text(["BM_d", "BM_e", "BM_c", HOSTILE, "BM_f"])
    assert page.url.endswith("?show=all&q=bm_&sort=-change")
    expect(page.get_by_role("link", name="CSV")).to_have_attribute(
        "href", "/job/perf/13/comparisons.csv?show=all&q=bm_&sort=-change"
    )
    page.reload()
    expect(names).to_have_text(["BM_d", "BM_e", "BM_c", HOSTILE, "BM_f"])
    page.get_by_role("link", name="Verdict", exact=True).click()
    expect(names).to_have_text(["BM_f", HOSTILE, "BM_c", "BM_d", "BM_e"])
    assert "sort" not in page.url


def test_the_link_on_a_row_opens_it_on_the_page_of_its_build(page: Page) -> None:
    page.add_init_script(OFFER_CLIPBOARD)
    page.goto("/changes/7/1")
    row = page.locator("tr.row", has_text="OneShot")
    row.hover()
    row.get_by_role("button", name="Copy the link").click()
    expect(page.locator("#announced[role=status]")).to_have_text("Copied")
    expect(page.locator("#announced")).to_be_empty()
    (address,) = page.evaluate("copied")
    assert re.search(r"/job/perf/13/\?show=all#row-\d+$", address)
    page.goto(address)
    opened = page.locator("tr.row:target")
    expect(opened).to_contain_text("OneShotScheduleRun")
    expect(page.locator("tr.row:target + tr.samples svg.strip")).to_be_visible()


def command_on(page: Page) -> Locator:
    page.goto("/changes/7/1")
    page.get_by_text("What now?").click()
    return page.locator(".next-steps dd", has_text="benchgate gate")


def test_a_button_copies_a_command_and_says_so(page: Page) -> None:
    page.add_init_script(OFFER_CLIPBOARD)
    line = command_on(page)
    button = line.get_by_role("button")
    expect(button).to_have_accessible_name(re.compile("Copy benchgate gate"))
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_text("Copied")
    assert page.evaluate("copied") == [line.locator("code").text_content()]


def test_over_plain_http_the_button_copies_from_a_field_that_goes_away(page: Page) -> None:
    page.add_init_script(REFUSE_CLIPBOARD)
    line = command_on(page)
    page.evaluate(
        "document.addEventListener('copy', () => { window.copied = document.activeElement.value; })"
    )
    line.get_by_role("button").click()
    expect(page.locator("#announced[role=status]")).to_have_text("Copied")
    assert page.evaluate("copied") == line.locator("code").text_content()
    expect(page.locator(".to-copy")).to_have_count(0)
    expect(line.get_by_role("button")).to_be_focused()


def test_where_copying_is_refused_the_address_is_selected_and_the_link_keeps_its_text(page: Page) -> None:
    page.add_init_script(f"{REFUSE_CLIPBOARD} document.execCommand = () => false;")
    page.goto("/changes/7/1")
    row = page.locator("tr.row", has_text="OneShot")
    row.hover()
    row.get_by_role("button", name="Copy the link").click()
    expect(page.locator("#announced[role=status]")).to_have_text("Selected: copy it now")
    field = row.get_by_role("textbox")
    expect(field).to_be_focused()
    expect(field).to_have_value(re.compile(r"/job/perf/13/\?show=all#row-\d+$"))
    page.keyboard.press("Tab")
    expect(field).to_have_count(0)
    expect(row.get_by_role("link", name="Link to")).to_have_text("link")


def test_without_scripts_rows_are_sorted_and_nothing_dead_is_shown(browser: Browser, site: str) -> None:
    context = browser.new_context(base_url=site, java_script_enabled=False)
    page = context.new_page()
    page.goto("/changes/7/1?show=all")
    page.get_by_role("link", name="Benchmark", exact=True).click()
    expect(page.locator(NAMES)).to_have_text([HOSTILE, "BM_c", "BM_d", "BM_e", "BM_f", LONG])
    expect(page.get_by_role("button", name=re.compile("Copy|Keys"))).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    context.close()


def test_keys_go_through_the_rows_and_open_them(page: Page) -> None:
    page.goto("/changes/7/1")
    buttons = page.locator("tr.row button.expand:not(:disabled)")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(buttons.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(buttons.nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("o")
    expect(buttons.nth(0)).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Enter")
    expect(buttons.nth(0)).to_have_attribute("aria-expanded", "false")


def test_one_key_opens_all_rows_and_closes_them_if_any_is_open(page: Page) -> None:
    page.goto("/changes/7/1")
    page.evaluate("""() => {
        window.written = 0;
        const write = history.replaceState;
        history.replaceState = (...all) => { window.written += 1; write.apply(history, all); };
    }""")
    page.keyboard.press("e")
    expect(page.locator("tr.samples svg.strip")).to_have_count(4)
    assert page.evaluate("written") == 1
    assert len(page.url.partition("open=")[2].split(",")) == 4
    page.locator("tr.row button.expand:not(:disabled)").first.click()
    page.keyboard.press("e")
    expect(page.locator("tr.samples")).to_have_count(0)
    assert "open=" not in page.url


def test_the_keys_stay_on_the_page_at_a_row_that_has_nothing_to_open(page: Page) -> None:
    page.goto("/changes/7/1?show=broken")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Link to BM_f")).to_be_focused()
    before = page.url
    page.keyboard.press("o")
    page.keyboard.press("e")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog").get_by_role("button", name="Close")).to_be_focused()
    assert page.url == before


def test_keys_do_nothing_while_somebody_types_and_can_be_switched_off(page: Page) -> None:
    page.goto("/changes/7/1")
    page.keyboard.press("/")
    page.keyboard.type("e?j")
    expect(page.locator("#search")).to_have_value("e?j")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator("#search").fill("")
    page.locator("h1").click()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("next row")
    keys.get_by_label("Use these keys").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    page.keyboard.press("?")
    expect(keys).to_be_hidden()
    page.get_by_role("button", name="Keys").click()
    keys.get_by_label("Use these keys").check()
    keys.get_by_role("button", name="Close").click()
    page.keyboard.press("j")
    expect(page.locator("tr.row").first.get_by_role("link", name="Link to")).to_be_focused()


def test_keys_open_a_change_in_the_list(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/changes/[67]$"))


def test_a_phone_shows_the_verdict_the_worst_rows_and_what_to_do_before_the_table(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/changes/7/1?show=faster")
    worst = page.get_by_role("region", name="Worst results")
    cards = worst.get_by_role("listitem")
    expect(cards).to_have_text(
        [
            re.compile(r"BM_f(?s:.*)perf · "),
            re.compile(r"BM_<img (?s:.*)−20.0 %(?s:.*)perf · "),
            re.compile(r"OneShot(?s:.*)−10.0 %"),
        ]
    )
    expect(worst).to_contain_text("and 1 more")
    places = [".sentence", ".worst", ".next-steps", ".search", "tr.row", "#decisions"]
    boxes = [page.locator(place).first.bounding_box() for place in places]
    tops = [box["y"] for box in boxes if box]
    assert len(tops) == len(places)
    assert tops == sorted(tops)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    cards.nth(1).get_by_role("link").click()
    expect(page.locator("tr.row:target + tr.samples svg.strip")).to_be_in_viewport()
    expect(page.locator(NAMES)).to_have_text([HOSTILE])
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".worst")).to_be_hidden()


def test_the_focus_goes_down_the_page_of_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/changes/7/1")
    found = page.locator("main").locator(".worst a, summary, #search, .chip[data-show], th a")
    tops = found.evaluate_all(
        """all => all.filter((each) => each.checkVisibility())
                     .map((each) => each.getBoundingClientRect().top)"""
    )
    assert len(tops) > 10
    assert tops == sorted(tops)


def test_the_table_comes_before_every_explanation(page: Page) -> None:
    page.goto("/changes/7/1")
    row = page.locator("tr.row").first.bounding_box()
    assert row is not None
    assert row["y"] < 600
    expect(page.locator(".next-steps dd").first).to_be_hidden()
    below = page.locator(".causes-of-table, .footnotes, .comparison .hint")
    tops = below.evaluate_all("all => all.map(each => each.getBoundingClientRect().top)")
    assert min(tops) > row["y"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_and_the_list_of_keys_have_no_fault_of_access(page: Page, width: int, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 844})
    page.goto("/changes/7/1?sort=-change")
    page.locator("button.expand:not(:disabled)").first.click()
    expect(page.locator("svg.strip")).to_be_visible()
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    check = 'axe.run({rules: {"target-size": {enabled: true}}})'
    faults = f"{check}.then((all) => all.violations.map((each) => [each.id, each.nodes[0].html]))"
    assert page.evaluate(faults) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    wide = (
        "[...document.querySelectorAll('.comparison .scroll')].every((e) => e.scrollWidth <= e.clientWidth)"
    )
    assert page.evaluate(wide)
    page.keyboard.press("?")
    assert page.evaluate(faults) == []


def test_on_a_touch_screen_the_button_of_each_row_is_visible(browser: Browser, site: str) -> None:
    context = browser.new_context(
        base_url=site, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844}
    )
    page = context.new_page()
    page.goto("/changes/7/1")
    expect(page.get_by_role("button", name="Copy the link to BM_c")).to_be_visible()
    context.close()
