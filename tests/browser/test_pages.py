from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.reading.sample_project import (
    ALTERNATIVES,
    HOSTILE_CHANGE,
    HOSTILE_NAMES,
    OVERRIDDEN,
    REBASED,
    REGRESSION,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
# The size of targets is the one rule of WCAG 2.2 AA that axe leaves out unless it is asked for.
AXE = """axe.run({rules: {"target-size": {enabled: true}}}).then(
    (all) => all.violations.map((each) => [each.id, each.nodes[0].html])
)"""
NAMELESS = """all => all.filter(
    each => !each.role || !(each.ariaLabel || each.getAttribute("aria-labelledby"))
).map(each => each.outerHTML.slice(0, 80))"""
FOLDED = [name.replace("\u202e", "") for name in HOSTILE_NAMES]


def test_a_click_in_the_list_opens_the_reasons_of_a_vote(page: Page) -> None:
    page.goto("/")
    row = page.locator("tr", has_text="MB-61234")
    expect(row).to_contain_text("−1")
    row.get_by_role("link").first.click()
    expect(page.locator(".sentence")).to_contain_text(
        "2 of 21 results are slower; worst: PureFollyExecutorBench"
    )


def test_only_changed_and_undecided_rows_are_shown_until_one_click_shows_all(page: Page) -> None:
    page.goto(f"/changes/{REGRESSION}")
    expect(page.locator("tr.row")).to_have_count(6)
    expect(page.locator(".hidden-count")).to_contain_text("15 rows hidden")
    page.get_by_role("link", name="Show all").click()
    expect(page.locator("tr.row")).to_have_count(21)
    assert page.url.endswith(f"/changes/{REGRESSION}?show=all")
    page.reload()
    expect(page.locator("tr.row")).to_have_count(21)


def test_search_narrows_while_typing_and_stays_in_the_address(page: Page) -> None:
    page.goto(f"/changes/{REGRESSION}?show=all")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("oneshot -threads:4")
    expect(page.locator("tr.row")).to_have_count(3)
    assert "q=oneshot+-threads%3A4" in page.url
    page.reload()
    expect(page.locator("tr.row")).to_have_count(3)
    expect(page.locator("#search")).to_have_value("oneshot -threads:4")


def test_a_row_has_one_clause_and_opens_to_the_whole_reason(page: Page) -> None:
    page.goto(f"/changes/{REGRESSION}")
    row = page.locator('tr[data-series="4"]')
    expect(row.locator(".reason")).to_have_text("about 31 more pairs (2 min) would decide it 1")
    expect(page.get_by_text("single pairs vary by 5 %")).to_have_count(0)
    expect(page.locator("ol.footnotes li")).to_have_count(1)
    row.locator("button.expand").click()
    expect(page.locator("tr.samples .why")).to_contain_text("single pairs vary by 5 %, so the result is only")
    expect(page.locator("tr.samples svg.strip")).to_be_visible()


def test_the_causes_of_a_build_with_a_table_are_folded(page: Page) -> None:
    page.goto(f"/changes/{REGRESSION}")
    cause = page.locator(".causes").get_by_text("15 of 21 results are the same within 3 %")
    expect(cause).to_be_hidden()
    page.locator(".causes-of-table summary").click()
    expect(cause).to_be_visible()
    expect(page.locator("ul.footnotes")).to_contain_text("3 of 27 pairs were disturbed by other work")


def test_a_row_opens_to_its_samples_pair_by_pair(page: Page) -> None:
    page.goto(f"/changes/{REGRESSION}")
    page.locator('tr[data-series="1"] button.expand').click()
    strip = page.locator("svg.strip")
    expect(strip.locator("rect.patch")).to_have_count(24)
    expect(strip.locator("circle.base")).to_have_count(23)
    page.get_by_text("Exact numbers").click()
    expect(page.locator(".samples tbody tr")).to_have_count(24)
    expect(page.locator(".samples tbody tr").nth(4)).to_contain_text("discarded")
    assert page.url.endswith("?open=1")
    page.reload()
    expect(page.locator("svg.strip")).to_be_visible()


def test_unbuilt_jobs_are_listed_below_the_builds(page: Page) -> None:
    page.goto(f"/changes/{REGRESSION}")
    expect(page.locator("section.build h2")).to_have_text([re.compile("kv-engine-cv-perf/5904"), "Not built"])
    line = page.locator("section.build", has_text="Not built").locator("li")
    expect(line).to_have_text("kv_engine.docs/311: no path that concerns this job was touched")


def test_a_link_to_a_decision_opens_its_message(page: Page) -> None:
    page.goto("/runs/41#v1")
    expect(page.locator("#v1 pre")).to_be_visible()
    expect(page.locator("#v1 pre")).to_contain_text("Build Failed")


def test_overrides_are_shown_with_the_builds_and_in_a_table(page: Page) -> None:
    page.goto(f"/changes/{OVERRIDDEN}")
    expect(page.locator("section.build", has_text="kv_engine.linux/77").locator(".waived")).to_contain_text(
        "overridden by Bob Reviewer: ep_unit_tests time out"
    )
    rows = page.locator("section:has(#overrides) tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.locator("s")).to_have_count(1)
    expect(rows.nth(3)).to_contain_text("revoked")
    expect(rows.nth(3).locator("s")).to_have_css("text-decoration-line", "line-through")
    expect(rows.nth(0).get_by_role("link", name="MB-37948")).to_have_attribute("rel", "noopener noreferrer")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_alternatives_stand_side_by_side_and_lead_to_their_patch_sets(page: Page) -> None:
    page.goto(f"/changes/{ALTERNATIVES}")
    section = page.locator("#patch-sets")
    expect(section.locator("thead th")).to_have_text(
        ["Benchmark", "Parent", "Patch set 3", "Patch set 2", "Patch set 1"]
    )
    row = section.locator("tbody tr").first
    expect(row.locator("td .verdict")).to_have_text(["▼ slower", "▲ faster", "▲ faster"])
    expect(row.locator("td").nth(2)).to_have_attribute("title", re.compile("M/s → .* M/s, 24 pairs"))
    section.get_by_role("link", name="Patch set 1").click()
    page.wait_for_url(f"**/changes/{ALTERNATIVES}/1")
    expect(section.locator("a[aria-current]")).to_have_text("Patch set 1")


def test_patch_sets_with_different_parents_name_them(page: Page) -> None:
    page.goto(f"/changes/{REBASED}")
    section = page.locator("#patch-sets")
    expect(section).to_contain_text("The patch sets have different parents.")
    expect(section).to_contain_text("The newest 6 patch sets with results are shown, without 1 older one.")
    parents = [f"{nth}" * 10 for nth in (8, 7, 6, 5, 9, 9)]
    expect(section.locator("thead code")).to_have_text(parents)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_search_narrows_the_patch_sets_side_by_side_too(page: Page) -> None:
    page.goto(f"/changes/{ALTERNATIVES}")
    page.keyboard.press("/")
    page.keyboard.type("bytes")
    expect(page.locator("#patch-sets tbody tr")).to_have_count(1)
    page.locator("#search").fill("nowhere")
    expect(page.locator("#patch-sets .empty")).to_be_visible()


def test_a_change_with_one_measured_patch_set_has_nothing_beside_it(page: Page) -> None:
    page.goto(f"/changes/{HOSTILE_CHANGE}")
    expect(page.locator("#patch-sets")).to_have_count(0)


@pytest.mark.parametrize("index", range(len(FOLDED)))
def test_a_hostile_name_is_shown_as_it_is_written(page: Page, index: int) -> None:
    page.goto(f"/changes/{HOSTILE_CHANGE}")
    shown = page.locator(f'tr[data-series="{100 + index}"] bdi').text_content() or ""
    name = FOLDED[index]
    assert shown == name or (len(shown) < 100 and name.startswith(shown.split("…")[0]))


@pytest.mark.parametrize(
    "address",
    [
        "/",
        f"/changes/{HOSTILE_CHANGE}",
        f"/changes/{ALTERNATIVES}",
        "/runs/66",
        "/job/kv-engine-cv-perf/6660/",
    ],
)
def test_hostile_text_adds_no_element_and_no_redirect(page: Page, address: str) -> None:
    page.goto(address)
    leading = 'a[href*=evil]:not([href^="?"])'  # a card searches its own page for the name
    expect(page.locator(f"img[src=x], {leading}, main b, main i, main script")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text("49")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hostile_samples_are_shown_as_they_are_written(page: Page) -> None:
    page.goto(f"/changes/{HOSTILE_CHANGE}?open=100,190")
    expect(page.locator("svg.strip")).to_have_count(2)


@pytest.mark.parametrize("width", [1280, 320])
@pytest.mark.parametrize(
    "address",
    [
        *(
            "/",
            f"/changes/{REGRESSION}?open=1",
            f"/changes/{ALTERNATIVES}",
            f"/changes/{OVERRIDDEN}",
            "/runs/41",
        ),
        *("/job/kv-engine-cv-perf/5904/", "/job/kv-engine-cv-perf/5904/log", "/machines", "/docs"),
    ],
)
def test_a_page_is_accessible_and_as_wide_as_its_window(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    if "open" in address:
        page.locator("svg.strip").wait_for()
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    found = page.evaluate(AXE)
    assert found == []
    assert page.locator('main [tabindex="0"]').evaluate_all(NAMELESS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_phone_shows_project_owner_and_date_of_each_change(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/")
    row = page.locator("tr", has_text="MB-61234")
    for place, text in ((1, "kv_engine"), (2, "Dana Meyer"), (3, "2026-11-20 23:28")):
        cell = row.locator("td").nth(place)
        expect(cell).to_contain_text(text)
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390


def test_the_lines_of_what_now_are_selected_by_one_click(page: Page) -> None:
    page.goto(f"/changes/{REGRESSION}")
    page.get_by_text("What now?").click()
    line = page.locator(".next-steps code", has_text="benchgate gate")
    line.click()
    selected = page.evaluate("getSelection().toString()")
    assert selected == line.text_content() == "benchgate gate --job kv-engine-cv-perf --seed 5f0c2a7e"
