"""Open every page of the service, wide and narrow, light and dark: axe finds nothing, and each page fits."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from service.domain.access.caller import Role
from tests.browser.task_site import LOOKS, PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.browser.task_site import TaskSite

pytestmark = [pytest.mark.browser, pytest.mark.integration, pytest.mark.timeout(180)]
# Dark differs from light in its colours alone. Unasked, axe leaves out the size of targets.
CHECKS = {
    "light": '{rules: {"target-size": {enabled: true}}}',
    "dark": '{runOnly: ["color-contrast", "link-in-text-block"]}',
}
AXE = "axe.run(%s).then((all) => all.violations.map((each) => [each.id, each.nodes[0].html]))"
OPEN_ALL = "document.querySelectorAll('details').forEach((each) => each.open = true)"


@pytest.fixture(scope="module")
def window(browser: Browser, tasks: TaskSite) -> Iterator[Page]:
    """The window of an operator, who sees all pages."""
    context = tasks.sign_in(browser, Role.OPERATOR)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_on_a_page_in_any_look(window: Page, tasks: TaskSite, path: str) -> None:
    answer = window.goto(tasks.address_of(path))
    assert answer is not None
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    if window.locator("#chart").count():
        expect(window.locator("#chart")).to_have_attribute("data-state", "drawn")
    window.evaluate(OPEN_ALL)
    window.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    for width, scheme in LOOKS:
        window.set_viewport_size({"width": width, "height": 844})
        window.emulate_media(color_scheme=scheme)
        assert (width, scheme, window.evaluate(AXE % CHECKS[scheme])) == (width, scheme, [])
        assert window.evaluate("document.documentElement.scrollWidth") == width
