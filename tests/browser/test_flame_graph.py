"""Flame graph and code of an explained benchmark: keys, zoom, a phone, and without scripts."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from service.domain.verdict.explanation.explanation import MOST_STACKS, Part, Stack, pack
from tests.browser.test_every_page import AXE, CHECKS, OPEN_ALL
from tests.support.reading.explained import DISASSEMBLED, EXPLAINED, random_stacks
from tests.support.reading.sample_project import sample_project
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
BUILD = "/job/kv-engine-cv-perf/5904/"
WHY = f"{BUILD}why/1"
CODE = f"{BUILD}why/3"
WALK = (
    *(("ArrowDown", each) for each in ("main", "benchmark::RunSpecifiedBenchmarks", "BM_Hash")),
    *(("ArrowDown", "kv::Store::get"), ("ArrowRight", "kv::Store::set"), ("ArrowLeft", "kv::Store::get")),
    *(("ArrowRight", "kv::Store::set"), ("Enter", "kv::Store::set"), ("ArrowDown", "malloc")),
    *(("ArrowUp", "kv::Store::set"), ("ArrowLeft", "kv::Store::set")),  # alone in its row
)
DEEP = tuple(f"kv::f{level}{'<int>' * 40 * (level % 9 == 0)}" for level in range(126))
BELOW = """() => {
  const [frame, line] = [document.activeElement, document.querySelector(".flame-line")];
  return frame.getBoundingClientRect().bottom - line.getBoundingClientRect().top;
}"""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    reading = sample_project()
    small, stacks = Part("f", 0.005, 0.004, 0.006), tuple(random_stacks(MOST_STACKS))
    many = replace(EXPLAINED, benchmark="BM_Many", parts=(small,), stacks=stacks)
    deep = replace(EXPLAINED, benchmark="BM_Deep", stacks=(Stack(DEEP, 1.0, 1.1),))
    code = replace(DISASSEMBLED, benchmark="BM_Code")
    packed = pack([EXPLAINED, many, code, deep])
    reading.explained[reading.build("kv-engine-cv-perf", 5904).build.id] = packed
    with serving(build_app(reading)) as address:
        yield address


def test_arrow_keys_move_between_frames_and_enter_and_escape_zoom(page: Page) -> None:
    page.goto(BUILD)
    page.get_by_role("link", name="Flame graph of BM_Hash").click()
    page.wait_for_url(f"**{WHY}")
    line, shown = page.locator("#frame"), page.locator(".flames rect:not(.out)")
    every = shown.count()
    page.get_by_role("treeitem", name="one iteration").focus()
    for key, name in WALK:
        page.keyboard.press(key)
        expect(line).to_have_text(re.compile(f"^{name}\u2002"))
        expect(page.locator("rect:focus")).to_have_attribute("aria-label", re.compile(f"^{name}, "))
    expect(line).to_have_text("kv::Store::set\u2002+2.0 points: 44 % → 46 %")
    assert shown.count() < every
    widths = [page.locator(each).bounding_box()["width"] for each in ("rect:focus", ".flames .flame")]  # type: ignore[index]
    assert widths[0] == pytest.approx(widths[1], abs=5)  # the outline
    expect(page.locator(".flame .label text").last).not_to_be_empty()
    page.keyboard.press("Escape")
    assert shown.count() == every
    expect(page.get_by_role("button", name="Whole graph")).to_be_hidden()


@pytest.mark.parametrize("width", [375, 1280])
def test_the_line_does_not_cover_the_frame_that_has_the_focus(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 667})
    page.goto(f"{BUILD}why/4")
    page.get_by_role("treeitem", name="one iteration").focus()
    covered = []
    for _ in range(60):
        page.keyboard.press("ArrowDown")
        covered.append(page.evaluate(BELOW) > 1)
    assert not any(covered)


def test_a_click_zooms_and_the_button_shows_the_whole_again(page: Page) -> None:
    page.goto(f"{BUILD}why/2")
    shown = page.locator(".flames rect:not(.out)")
    assert shown.count() == 2000
    page.locator(".flames rect[class*=less]").nth(1).click()
    assert shown.count() < 1000
    page.get_by_role("button", name="Whole graph").click()
    assert shown.count() == 2000
    page.locator(".flames rect").first.hover()
    expect(page.locator("#frame")).to_contain_text("one iteration")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", [BUILD, WHY, CODE])
def test_explanations_are_accessible_and_fit_a_phone(page: Page, path: str, scheme: str) -> None:
    page.set_viewport_size({"width": 375, "height": 812})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(path)
    page.evaluate(OPEN_ALL)
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    assert page.evaluate(AXE % CHECKS[scheme]) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    if path == WHY:
        assert page.locator(".flames").evaluate("each => each.scrollWidth > each.clientWidth")


def test_keys_unfold_code_and_follow_its_jumps(page: Page) -> None:
    page.goto(CODE)
    hidden, target = page.locator("#i30"), page.locator("#i58")
    page.get_by_text("21 unchanged instructions").focus()
    page.keyboard.press("Enter")
    expect(hidden).to_be_visible()
    expect(target).to_be_hidden()
    page.get_by_role("link", name="#58").first.focus()
    page.keyboard.press("Enter")
    expect(target).to_be_in_viewport()


def test_a_phone_shows_the_code_below_each_other_without_scrolling(page: Page) -> None:
    page.set_viewport_size({"width": 375, "height": 812})
    page.goto(CODE)
    assert page.locator(".codes").evaluate("each => each.scrollWidth == each.clientWidth")
    tops = [page.locator(f"#i77 td:nth-child({side})").bounding_box()["y"] for side in (3, 5)]  # type: ignore[index]
    assert tops[0] < tops[1], "both sides of what changed"
    sides = [page.locator("#i1 td").nth(side) for side in (2, 4)]
    assert [each.is_visible() for each in sides] == [False, True], "once what did not"


def test_without_scripts_the_graph_is_a_picture_with_the_words_of_each_frame(
    browser: Browser, site: str
) -> None:
    context = browser.new_context(base_url=site, java_script_enabled=False)
    page = context.new_page()
    page.goto(WHY)
    expect(page.get_by_role("img", name="Flame graph")).to_be_visible()
    title = page.locator("rect title", has_text="kv::crc32c")
    expect(title).to_have_text("kv::crc32c\n+6.2 points: 9 % → 15.2 %")
    expect(page.locator(".flame-line")).to_be_hidden()
    page.get_by_text("Frames that grew most").click()
    row = page.get_by_role("row", name="kv::crc32c called by kv::HashTable")
    expect(row.get_by_role("cell")).to_have_text(["9 %", "15.2 %", "+6.2"])
    context.close()
